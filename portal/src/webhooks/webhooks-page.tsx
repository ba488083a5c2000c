import { Button, Group, Paper, Stack, Text, TextInput } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useParams } from 'react-router';
import { describeHealth } from '../../../service/src/contract/webhook-in-words.ts';
import { webhooks as webhooksOperation, webhookStats } from '../api/operations.ts';
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
import { NoRoom, webhooksMax } from './no-room.tsx';
import { WebhookRoleNote } from './webhook-role-note.tsx';
import { LastTimes, WebhookBadge } from './webhook-state.tsx';
import { WebhookTable } from './webhook-table.tsx';
import { describeEvents, nameOf, sortByHealth } from './describe-webhook.ts';

/** The polling interval while the page is visible. */
const refreshMs = 30_000;

export function WebhooksPage() {
  const { appId = '' } = useParams();
  const query = useQuery({ ...webhooksOperation(appId), refetchInterval: refreshMs });
  const app = useApp();
  const mayChange = can(app, 'changeWebhooks');
  const total = query.data?.pagination.total ?? 0;
  const isFull = mayChange && total >= webhooksMax(app);
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
              {isFull && <NoRoom total={total} max={webhooksMax(app)} />}
              {entries.length > 0 && <List webhooks={sortByHealth(entries)} />}
            </>
          )}
        </Loaded>
      )}
    </AppFrame>
  );
}

/** Fewer are found without a search. */
const searchedMin = 6;

function List({ webhooks }: { webhooks: Webhook[] }) {
  const { appId = '' } = useParams();
  const isNarrow = useMediaQuery('(width < 62em)', false, { getInitialValueInEffect: false });
  const [text, setText] = useState('');
  const stats = useQuery({
    ...webhookStats(appId),
    refetchInterval: refreshMs,
    enabled: !isNarrow,
  });
  const wanted = text.trim().toLowerCase();
  const found = webhooks.filter(({ url, description }) =>
    `${description ?? ''} ${url}`.toLowerCase().includes(wanted),
  );
  return (
    <>
      {webhooks.length >= searchedMin && (
        <TextInput
          type="search"
          aria-label="Search webhooks"
          placeholder="Description or URL"
          maw={360}
          value={text}
          onChange={({ currentTarget }) => setText(currentTarget.value)}
        />
      )}
      {found.length === 0 && <Text role="status">No webhook matches.</Text>}
      {isNarrow ? (
        <ul className="plain-list">
          {found.map((webhook) => (
            <Entry key={webhook.id} webhook={webhook} />
          ))}
        </ul>
      ) : (
        found.length > 0 && <WebhookTable webhooks={found} stats={stats.data?.entries ?? []} />
      )}
    </>
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
