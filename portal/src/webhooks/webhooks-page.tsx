import { Anchor, Button, Group, Paper, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from 'react-router';
import { webhooks as webhooksOperation } from '../api/operations.ts';
import type { Webhook } from '../api/types.ts';
import { AppFrame } from '../apps/app-frame.tsx';
import { Empty } from '../ui/empty.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { Time } from '../ui/time.tsx';
import { LastTimes } from './last-times.tsx';
import { WebhookBadge } from './webhook-badge.tsx';
import { describeEvents, describeState } from './webhook-words.ts';

/** The limit of the service per app, so one page shows all of them. */
const webhooksPerAppMax = 20;

export function WebhooksPage() {
  const { appId = '' } = useParams();
  const query = useQuery(webhooksOperation(appId, { limit: webhooksPerAppMax }));
  const isFull = (query.data?.pagination.total ?? 0) >= webhooksPerAppMax;
  return (
    <AppFrame
      title="Webhooks"
      lead="Signed events, sent to your server as they happen."
      actions={!isFull && <NewButton />}
    >
      {() => (
        <Loaded query={query}>
          {({ entries }) =>
            entries.length === 0 ? (
              <Nothing />
            ) : (
              <Stack>
                {isFull && (
                  <Text size="sm">
                    This app has {webhooksPerAppMax} webhooks, the most that an app may have. Delete
                    one to make room for another.
                  </Text>
                )}
                <Stack component="ul" m={0} p={0} style={{ listStyle: 'none' }}>
                  {entries.map((webhook) => (
                    <Entry key={webhook.id} webhook={webhook} />
                  ))}
                </Stack>
              </Stack>
            )
          }
        </Loaded>
      )}
    </AppFrame>
  );
}

function NewButton() {
  const { appId = '' } = useParams();
  return (
    <Button component={Link} to={`/apps/${appId}/webhooks/new`}>
      New webhook
    </Button>
  );
}

function Nothing() {
  return (
    <Empty title="No webhooks yet" action={<NewButton />}>
      A webhook sends events to your server, such as a new organisation or an application to yours.
      Enter the URL, choose the events, and send a test to see that it works.
    </Empty>
  );
}

function Entry({ webhook }: { webhook: Webhook }) {
  const { appId = '' } = useParams();
  const state = describeState(webhook);
  return (
    <Paper component="li" withBorder p="md">
      <Stack gap={6}>
        <Group justify="space-between" align="flex-start" gap="xs">
          <Anchor
            component={Link}
            to={`/apps/${appId}/webhooks/${webhook.id}`}
            fw={600}
            lineClamp={2}
          >
            {webhook.url}
          </Anchor>
          <WebhookBadge webhook={webhook} />
        </Group>
        {state && (
          <Text size="sm">
            {state}
            {webhook.deactivatedAt && (
              <>
                , <Time at={webhook.deactivatedAt} />
              </>
            )}
          </Text>
        )}
        {webhook.description && <Text size="sm">{webhook.description}</Text>}
        <Text size="sm" c="dimmed" lineClamp={3}>
          Events: {describeEvents(webhook.events)}
        </Text>
        <LastTimes webhook={webhook} />
      </Stack>
    </Paper>
  );
}
