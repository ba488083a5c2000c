import { useQuery } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { deliveries, type WebhookId } from '../api/operations.ts';
import { Loaded } from '../ui/loaded.tsx';
import { moveFocus } from '../ui/move-focus.ts';
import { useWebhookId } from '../webhooks/use-webhook-id.ts';
import { WebhookFrame } from '../webhooks/webhook-frame.tsx';
import { DeliveryFilters } from './delivery-filters.tsx';
import { DeliveryList } from './delivery-list.tsx';
import { toQuery, useFilters, type Filters } from './filters.ts';

const perPage = 50;
const liveEveryMs = 2_000;
/** After an error, polls less often. */
const afterErrorEveryMs = 10_000;

/** Lists the deliveries of a webhook, newest first, and updates live. */
export function DeliveriesPage() {
  const id = useWebhookId();
  const [filters, change] = useFilters();
  const [pausedAt, setPausedAt] = useState<number | null>(null);
  const [query, nowMs] = useDeliveries(id, filters, pausedAt);
  const list = useRef<HTMLElement>(null);
  const focus = () => moveFocus(list.current);
  const changeAndFocus = (some: Partial<Filters>) => {
    change(some);
    focus();
  };
  return (
    <WebhookFrame tab="Deliveries">
      {() => (
        <>
          <DeliveryFilters filters={filters} change={change} changeAndFocus={changeAndFocus} />
          <Loaded query={query}>
            {(page) => (
              <DeliveryList
                id={id}
                page={page}
                readAt={query.dataUpdatedAt}
                isStale={query.isPlaceholderData}
                filters={filters}
                changeAndFocus={changeAndFocus}
                element={list}
                focus={focus}
                isPaused={pausedAt !== null}
                setPaused={(isPaused) => setPausedAt(isPaused ? nowMs : null)}
              />
            )}
          </Loaded>
        </>
      )}
    </WebhookFrame>
  );
}

/** Polls while the tab is visible. While paused, it keeps the time range of the moment of pausing and does not poll. */
function useDeliveries(id: WebhookId, filters: Filters, pausedAt: number | null) {
  const isPaused = pausedAt !== null;
  const nowMs = pausedAt ?? Date.now();
  const query = useQuery({
    ...deliveries(id, { ...toQuery(filters, nowMs), limit: perPage }),
    refetchOnWindowFocus: !isPaused,
    refetchInterval: ({ state }) => {
      if (isPaused || filters.page > 1) return false;
      return state.status === 'error' ? afterErrorEveryMs : liveEveryMs;
    },
  });
  return [query, nowMs] as const;
}
