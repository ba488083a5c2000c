import { Button, Group, Paper, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from 'react-router';
import { webhooks as webhooksOperation, webhooksPerAppMax } from '../api/operations.ts';
import type { Webhook } from '../api/types.ts';
import { AppFrame } from '../apps/app-frame.tsx';
import { can } from '../apps/can.ts';
import { useApp } from '../apps/use-app.ts';
import { capitalise } from '../ui/capitalise.ts';
import { Empty } from '../ui/empty.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { Note } from '../ui/note.tsx';
import { PageLink } from '../ui/page-link.tsx';
import { Time } from '../ui/time.tsx';
import { WebhookRoleNote } from './webhook-role-note.tsx';
import { LastTimes, WebhookBadge } from './webhook-state.tsx';
import { describeEvents, describeHealth, nameOf, sortByHealth } from './describe-webhook.ts';

export function WebhooksPage() {
  const { appId = '' } = useParams();
  const query = useQuery(webhooksOperation(appId));
  const mayChange = can(useApp(), 'changeWebhooks');
  const isFull = mayChange && (query.data?.pagination.total ?? 0) >= webhooksPerAppMax;
  return (
    <AppFrame
      title="Webhooks"
      lead="Signed events, sent to your server as they happen."
      actions={mayChange && !isFull && <NewButton />}
    >
      {() => (
        <Loaded query={query}>
          {({ entries }) => (
            <>
              <WebhookRoleNote />
              {entries.length === 0 && <NoWebhooks mayChange={mayChange} />}
              {isFull && (
                <Text size="sm">
                  This app has {webhooksPerAppMax} webhooks, the most that an app may have. Delete
                  one to make room for another.
                </Text>
              )}
              <ul className="plain-list">
                {sortByHealth(entries).map((webhook) => (
                  <Entry key={webhook.id} webhook={webhook} />
                ))}
              </ul>
            </>
          )}
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

function NoWebhooks({ mayChange }: { mayChange: boolean }) {
  return (
    <Empty title="No webhooks yet" action={mayChange && <NewButton />}>
      A webhook sends events to your server, such as a new organisation or an application to yours.{' '}
      {mayChange && 'Enter the URL, choose the events, and send a test to see that it works.'}
    </Empty>
  );
}

function Entry({ webhook }: { webhook: Webhook }) {
  const { id, url, events } = webhook;
  return (
    <Paper component="li" withBorder p="md">
      <Stack gap={6}>
        <Group justify="space-between" align="flex-start" gap="xs">
          <PageLink to={`${id}/deliveries`} fw={600} lineClamp={2}>
            {nameOf(webhook)}
          </PageLink>
          <WebhookBadge webhook={webhook} />
        </Group>
        <Text size="sm" ff="monospace" lineClamp={2}>
          {url}
        </Text>
        <HealthReason webhook={webhook} />
        <Note lineClamp={3}>Events: {describeEvents(events)}</Note>
        <LastTimes webhook={webhook} />
      </Stack>
    </Paper>
  );
}

function HealthReason({ webhook }: { webhook: Webhook }) {
  const reason = describeHealth({ ...webhook, reason: webhook.deactivatedReason });
  if (reason === null) return null;
  return (
    <Text size="sm">
      {capitalise(reason)}
      {webhook.deactivatedAt && ', '}
      {webhook.deactivatedAt && <Time at={webhook.deactivatedAt} />}
    </Text>
  );
}
