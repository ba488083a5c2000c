import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { useSearchParams } from 'react-router';
import { app as appOperation, deliveries, webhook, type WebhookId } from '../api/operations.ts';
import { crumbsOf } from '../apps/app-frame.tsx';
import { Page } from '../layout/page.tsx';
import { moveFocus } from '../ui/move-focus.ts';
import { Loaded } from '../ui/loaded.tsx';
import { useWebhookId } from '../webhooks/use-webhook-id.ts';
import { hostOf } from '../webhooks/webhook-words.ts';
import { DeliveryFilters } from './delivery-filters.tsx';
import { DeliveryList } from './delivery-list.tsx';
import { readFilters, toQuery, writeFilters, type Filters } from './filters.ts';
import { Recover } from './recover.tsx';

const perPage = 50;
const liveEveryMs = 2_000;
/** After an error, polls less often. */
const troubledEveryMs = 10_000;

/** Lists the deliveries of a webhook, newest first, and updates live. */
export function DeliveriesPage() {
  const { appId, webhookId, list: webhooksPath, page: webhookPath } = useWebhookId();
  const id = { appId, webhookId };
  const [query, setQuery] = useSearchParams();
  const filters = readFilters(query);
  const [pausedAt, setPausedAt] = useState<number | null>(null);
  const app = useQuery(appOperation(appId)).data;
  const receiver = useQuery(webhook(id)).data;
  const [list, nowMs] = useDeliveries(id, filters, pausedAt);
  const listElement = useRef<HTMLElement>(null);
  const focusList = () => moveFocus(listElement.current ?? undefined);
  const change = (to: Filters) => setQuery(writeFilters(to));
  const changeAndSee = (to: Filters) => {
    change(to);
    focusList();
  };
  return (
    <Page
      title="Deliveries"
      lead={receiver && <Text span inherit>{`To ${receiver.url}`}</Text>}
      crumbs={[
        ...crumbsOf(app, appId),
        { title: 'Webhooks', to: webhooksPath },
        { title: receiver ? hostOf(receiver) : 'Webhook', to: webhookPath },
      ]}
      actions={<Recover id={id} active={receiver?.active ?? true} />}
    >
      <DeliveryFilters filters={filters} change={change} changeAndSee={changeAndSee} />
      <Loaded query={list}>
        {(page) => (
          <DeliveryList
            id={id}
            page={page}
            readAt={list.dataUpdatedAt}
            isStale={list.isPlaceholderData}
            filters={filters}
            changeAndSee={changeAndSee}
            element={listElement}
            focus={focusList}
            isPaused={pausedAt !== null}
            setPaused={(isPaused) => setPausedAt(isPaused ? nowMs : null)}
          />
        )}
      </Loaded>
    </Page>
  );
}

/** Polls while the tab is visible. While paused, it keeps the time range of the moment of pausing and does not poll. */
function useDeliveries(id: WebhookId, filters: Filters, pausedAt: number | null) {
  const isPaused = pausedAt !== null;
  const nowMs = pausedAt ?? Date.now();
  const list = useQuery({
    ...deliveries(id, { ...toQuery(filters, nowMs), limit: perPage }),
    refetchOnWindowFocus: !isPaused,
    refetchInterval: ({ state }) => {
      if (isPaused || filters.page > 1) return false;
      return state.status === 'error' ? troubledEveryMs : liveEveryMs;
    },
  });
  return [list, nowMs] as const;
}
