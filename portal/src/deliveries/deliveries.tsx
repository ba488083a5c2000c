import { Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useRef, useState, type ReactNode } from 'react';
import { deliveries, type DeliveryScope } from '../api/operations.ts';
import { StatsStrip } from '../charts/stats-section.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { moveFocus } from '../ui/move-focus.ts';
import { useTimes } from '../ui/times.tsx';
import { DeliveryFilters } from './delivery-filters.tsx';
import { DeliveryList } from './delivery-list.tsx';
import { noFilters, toQuery, useFilters, type Filters } from './filters.ts';

const perPage = 50;
const liveEveryMs = 2_000;
/** A search reads up to 10,000 deliveries. */
const searchEveryMs = 10_000;
/** After an error, polls less often. */
const afterErrorEveryMs = 10_000;

type Props = DeliveryScope & { actions?: ReactNode };

/** Figures, filters and the list of deliveries, newest first, which updates live. */
export function Deliveries({ actions, ...scope }: Props) {
  const [chosen, change] = useFilters();
  // The list of a webhook does not show a choice of one.
  const filters = scope.webhookId === null ? chosen : { ...chosen, webhook: null };
  const [pausedAt, setPausedAt] = useState<number | null>(null);
  const [query, nowMs] = useDeliveries(scope, filters, pausedAt);
  const list = useRef<HTMLElement>(null);
  const focus = () => moveFocus(list.current);
  const changeAndFocus = (some: Partial<Filters>) => {
    change(some);
    focus();
  };
  return (
    <Stack gap={6}>
      <StatsStrip {...scope} />
      <DeliveryFilters
        filters={filters}
        change={change}
        changeAndFocus={changeAndFocus}
        ofApp={scope.webhookId === null}
      />
      <Loaded
        query={query}
        reset={{ label: 'Clear filters', run: () => changeAndFocus(noFilters) }}
      >
        {(page) => (
          <DeliveryList
            scope={scope}
            page={page}
            readAt={query.dataUpdatedAt}
            isStale={query.isPlaceholderData}
            filters={filters}
            changeAndFocus={changeAndFocus}
            element={list}
            focus={focus}
            isPaused={pausedAt !== null}
            setPaused={(isPaused) => setPausedAt(isPaused ? nowMs : null)}
            actions={actions}
          />
        )}
      </Loaded>
    </Stack>
  );
}

/** Polls while the tab is visible. While paused, it keeps the time range of the moment of pausing and does not poll. */
function useDeliveries(
  { appId, webhookId }: DeliveryScope,
  filters: Filters,
  pausedAt: number | null,
) {
  const isPaused = pausedAt !== null;
  const times = useTimes();
  const nowMs = pausedAt ?? Date.now();
  const query = useQuery({
    ...deliveries(appId, {
      ...toQuery(filters, nowMs, times),
      ...(webhookId !== null && { webhookId }),
      limit: perPage,
    }),
    refetchOnWindowFocus: !isPaused,
    refetchInterval: ({ state }) => {
      if (isPaused || filters.page > 1) return false;
      if (state.status === 'error') return afterErrorEveryMs;
      return state.data?.searched ? searchEveryMs : liveEveryMs;
    },
  });
  return [query, nowMs] as const;
}
