import { Button, Group, List, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useNavigate } from 'react-router';
import { deleteApp } from '../api/operations.ts';
import type { PortalApp } from '../api/types.ts';
import { useWrite } from '../api/use-write.ts';
import { Confirm } from '../ui/confirm.tsx';
import { toastSuccess } from '../ui/toast.ts';
import { Section } from '../ui/section.tsx';
import { count } from './app-words.ts';

export function DeleteApp({ app }: { app: PortalApp }) {
  const [opened, { open, close }] = useDisclosure(false);
  const navigate = useNavigate();
  const write = useWrite(() => deleteApp(app.id), ['/apps', '/overview', '/audit'], {
    gone: `/apps/${app.id}`,
    done: () => {
      toastSuccess(`The app ${app.name} is deleted.`);
      void navigate('/apps', { replace: true });
    },
  });
  return (
    <Section
      title="Delete this app"
      lead="This also deletes its keys, webhooks and deliveries. The audit log keeps its entries."
    >
      <Group>
        <Button variant="outline" color="red" onClick={open}>
          Delete app
        </Button>
      </Group>
      <Confirm
        opened={opened}
        title={`Delete ${app.name}`}
        action="Delete app"
        typed={app.name}
        busy={write.isPending}
        error={write.error}
        confirm={() => write.mutate(undefined)}
        close={() => {
          close();
          write.reset();
        }}
      >
        <Text size="sm">This can't be undone. You will lose:</Text>
        <List size="sm">
          {lossesOf(app).map((loss) => (
            <List.Item key={loss}>{loss}</List.Item>
          ))}
        </List>
      </Confirm>
    </Section>
  );
}

function lossesOf({ keyCount, webhookCount, binding }: PortalApp): string[] {
  const losses = ['Expired and revoked keys.'];
  if (binding) losses.unshift(`The binding to ${binding.name}.`);
  if (webhookCount > 0)
    losses.unshift(`${count(webhookCount, 'webhook')}, with all past and pending deliveries.`);
  if (keyCount > 0)
    losses.unshift(
      `${count(keyCount, 'valid key')}: programs that use one are refused within a second.`,
    );
  return losses;
}
