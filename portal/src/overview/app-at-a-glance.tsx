import { Group, NativeSelect, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useSearchParams } from 'react-router';
import { webhooks } from '../api/operations.ts';
import type { PortalApp } from '../api/types.ts';
import { StatsSection } from '../charts/stats-section.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { PageLink } from '../ui/page-link.tsx';
import { Section } from '../ui/section.tsx';
import { nameInList, sortByHealth } from '../webhooks/describe-webhook.ts';
import { LastTimes, WebhookBadge } from '../webhooks/webhook-state.tsx';

/** The polling interval while the page is visible. */
export const refreshMs = 30_000;

/** The deliveries and webhooks of one app. The address holds which; the first one with webhooks is the default. */
export function AppAtAGlance({ apps }: { apps: PortalApp[] }) {
  const [query, setQuery] = useSearchParams();
  const withWebhooks = apps.filter(({ webhookCount }) => webhookCount > 0);
  const app = withWebhooks.find(({ id }) => id === query.get('app')) ?? withWebhooks[0];
  if (!app) return null;
  const choose = (id: string) =>
    setQuery((before) => {
      const after = new URLSearchParams(before);
      after.set('app', id);
      return after;
    });
  return (
    <>
      {withWebhooks.length > 1 && (
        <NativeSelect
          label="App"
          maw="24rem"
          value={app.id}
          onChange={({ currentTarget }) => choose(currentTarget.value)}
          data={withWebhooks.map(({ id, name }) => ({ value: id, label: name }))}
        />
      )}
      <StatsSection key={`stats ${app.id}`} appId={app.id} webhookId={null} />
      <Webhooks key={`webhooks ${app.id}`} app={app} />
    </>
  );
}

function Webhooks({ app: { id, name } }: { app: PortalApp }) {
  const query = useQuery({ ...webhooks(id), refetchInterval: refreshMs });
  return (
    <Section
      title={
        <>
          Webhooks of <PageLink to={`/apps/${id}`}>{name}</PageLink>
        </>
      }
      actions={<PageLink to={`/apps/${id}/deliveries`}>All deliveries</PageLink>}
    >
      <Loaded query={query}>
        {({ entries }) => (
          <ul className="plain-list">
            {sortByHealth(entries).map((webhook) => (
              <Group key={webhook.id} component="li" gap="sm" justify="space-between">
                <Group gap="sm">
                  <WebhookBadge webhook={webhook} />
                  <Text span>
                    <PageLink to={`/apps/${id}/webhooks/${webhook.id}/deliveries`}>
                      {nameInList(webhook)}
                    </PageLink>
                  </Text>
                </Group>
                <LastTimes webhook={webhook} />
              </Group>
            ))}
          </ul>
        )}
      </Loaded>
    </Section>
  );
}
