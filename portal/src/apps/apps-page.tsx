import { Badge, Button, Group, Paper, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Plus } from '../ui/icons.tsx';
import { apps } from '../api/operations.ts';
import type { PortalApp } from '../api/types.ts';
import { Page } from '../layout/page.tsx';
import { OwnInvitations } from '../members/own-invitations.tsx';
import { capitalise } from '../ui/capitalise.ts';
import { Empty } from '../ui/empty.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { Note } from '../ui/note.tsx';
import { PageLink } from '../ui/page-link.tsx';
import { formatCount } from '../ui/format-count.ts';
import { Time } from '../ui/time.tsx';
import { kindLabels } from './kind-labels.ts';
import { CreateApp } from './create-app.tsx';

export function AppsPage() {
  const query = useQuery(apps());
  const [opened, { open, close }] = useDisclosure(false);
  const hasSome = (query.data?.entries.length ?? 0) > 0;
  const newApp = (
    <Button leftSection={<Plus size={16} aria-hidden />} onClick={open}>
      {hasSome ? 'New app' : 'Create your first app'}
    </Button>
  );
  return (
    <Page
      title="Apps"
      lead="An app is a program that uses this service. It has its own keys, webhooks, binding and members."
      actions={hasSome && newApp}
    >
      <OwnInvitations />
      <Loaded query={query}>
        {({ entries }) =>
          entries.length > 0 ? (
            <SimpleGrid component="ul" cols={{ base: 1, sm: 2 }} className="plain-list">
              {entries.map((app) => (
                <AppEntry key={app.id} app={app} />
              ))}
            </SimpleGrid>
          ) : (
            <Empty title="You have no apps yet" action={newApp}>
              Create an app, then add a key to read the directory or a webhook to get its events.
            </Empty>
          )
        }
      </Loaded>
      <CreateApp opened={opened} close={close} />
    </Page>
  );
}

function AppEntry({ app }: { app: PortalApp }) {
  const { id, name, role, binding, keyCount, webhookCount, createdAt } = app;
  return (
    <Paper component="li" withBorder p="md">
      <Stack gap="xs" justify="space-between" h="100%">
        <div>
          <Group justify="space-between" align="flex-start" gap="xs">
            <Title order={2} size="h4">
              <PageLink to={`/apps/${id}`}>{name}</PageLink>
            </Title>
            <Badge variant="default">{capitalise(role)}</Badge>
          </Group>
          <Text size="sm">
            {binding ? `Bound to ${binding.name} (${kindLabels[binding.kind]})` : 'Not bound'}
          </Text>
        </div>
        <Note>
          {formatCount(keyCount, 'key')} · {formatCount(webhookCount, 'webhook')} · created{' '}
          <Time at={createdAt} />
        </Note>
      </Stack>
    </Paper>
  );
}
