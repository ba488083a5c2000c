import { Group, List, Text } from '@mantine/core';
import { useNavigate } from 'react-router';
import { deleteApp } from '../api/operations.ts';
import type { PortalApp } from '../api/types.ts';
import { appChanges, useWrite } from '../api/use-write.ts';
import { Confirm } from '../ui/confirm.tsx';
import { formatCount } from '../ui/format-count.ts';
import { Section } from '../ui/section.tsx';
import { toastSuccess } from '../ui/toast.ts';

export function DeleteApp({ app }: { app: PortalApp }) {
  const navigate = useNavigate();
  const write = useWrite(() => deleteApp(app.id), appChanges, {
    gone: `/apps/${app.id}`,
    done: () => {
      toastSuccess(`App ${app.name} deleted.`);
      void navigate('/apps', { replace: true });
    },
  });
  return (
    <Section
      title="Delete this app"
      lead="This also deletes its keys, webhooks and deliveries, for all members. The audit log keeps its entries."
    >
      <Group>
        <Confirm
          button={{ children: 'Delete app', variant: 'outline', color: 'red' }}
          title={`Delete ${app.name}`}
          action="Delete app"
          typed={app.name}
          write={write}
        >
          <Text size="sm">This can't be undone. You will lose:</Text>
          <List size="sm">
            {lossesOf(app).map((loss) => (
              <List.Item key={loss}>{loss}</List.Item>
            ))}
          </List>
        </Confirm>
      </Group>
    </Section>
  );
}

function lossesOf({ keyCount, webhookCount, binding }: PortalApp): string[] {
  const losses = ['Expired and revoked keys.'];
  if (binding)
    losses.unshift(`The binding to ${binding.name}: its internal events are no longer sent.`);
  if (webhookCount > 0)
    losses.unshift(
      `${formatCount(webhookCount, 'webhook')}, with all past and pending deliveries.`,
    );
  if (keyCount > 0)
    losses.unshift(
      `${formatCount(keyCount, 'valid key')}: programs that use one are refused within a second.`,
    );
  return losses;
}
