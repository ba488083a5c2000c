import { Button, Group, Stack, Text } from '@mantine/core';
import { Pause, Play } from 'lucide-react';
import { useState, type RefObject } from 'react';
import type { WebhookId } from '../api/operations.ts';
import type { Page } from '../api/read.ts';
import type { Delivery } from '../api/types.ts';
import { Empty } from '../ui/empty.tsx';
import { Pager } from '../ui/pager.tsx';
import { DeliveryTable } from './delivery-table.tsx';
import { isFiltered, noFilters, writeFilters, type Filters } from './filters.ts';
import { NewDeliveries } from './new-deliveries.tsx';
import { NoDeliveries } from './no-deliveries.tsx';
import { useSteadyRows } from './use-steady-rows.ts';

type Live = { isPaused: boolean; setPaused: (isPaused: boolean) => void };

export function DeliveryList({
  id,
  page: { entries, pagination },
  readAt,
  isStale,
  filters,
  changeAndSee,
  element,
  focus,
  ...live
}: {
  id: WebhookId;
  page: Page<Delivery>;
  readAt: number;
  /** True while the entries still belong to the previous filters. */
  isStale: boolean;
  filters: Filters;
  changeAndSee: (filters: Filters) => void;
  element: RefObject<HTMLElement | null>;
  /** Focuses the list. */
  focus: () => void;
} & Live) {
  const search = writeFilters(filters).toString();
  // The filters that the entries belong to. A relative time range changes its query every minute without a change of
  // filters.
  const [scope, setScope] = useState(search);
  if (!isStale && scope !== search) setScope(search);
  const { rows, waiting, show } = useSteadyRows({
    fresh: entries,
    readAt,
    scope,
    mayMove: () => element.current === null || !isInTheMiddle(element.current),
  });
  return (
    <Stack gap="sm" aria-busy={isStale}>
      <Group justify="space-between" gap="xs" wrap="nowrap" mih={30}>
        <Group gap="xs" wrap="nowrap">
          <Text size="sm" c="dimmed">
            {toCount(pagination.total)}
          </Text>
          {waiting > 0 && (
            <Button
              size="compact-xs"
              variant="default"
              onClick={() => {
                show();
                focus();
              }}
            >
              Show {waiting.toLocaleString()} new
            </Button>
          )}
        </Group>
        <LiveButton page={filters.page} {...live} />
      </Group>
      <NewDeliveries fresh={entries} readAt={readAt} scope={scope} />
      <section ref={element} tabIndex={-1} aria-label={`Deliveries, page ${filters.page}`}>
        {rows.length > 0 ? (
          <DeliveryTable id={id} rows={rows} search={search} />
        ) : (
          <Nothing
            id={id}
            total={pagination.total}
            filters={filters}
            changeAndSee={changeAndSee}
            focus={focus}
          />
        )}
      </section>
      <Pager pagination={pagination} go={(page) => changeAndSee({ ...filters, page })} />
    </Stack>
  );
}

/** True if the focus, the pointer or a selection is in the list, or if it is scrolled. */
function isInTheMiddle(list: HTMLElement): boolean {
  const { activeElement } = document;
  const hasFocus = activeElement !== list && list.contains(activeElement);
  const selection = document.getSelection();
  const isSelected =
    selection !== null && !selection.isCollapsed && list.contains(selection.anchorNode);
  return hasFocus || isSelected || list.matches(':hover') || list.getBoundingClientRect().top < 0;
}

function LiveButton({ page, isPaused, setPaused }: { page: number } & Live) {
  if (page > 1)
    return (
      <Text size="sm" c="dimmed">
        Only the first page updates live
      </Text>
    );
  const Icon = isPaused ? Play : Pause;
  return (
    <Button
      size="xs"
      variant="default"
      style={{ flexShrink: 0 }}
      leftSection={<Icon size={14} aria-hidden />}
      onClick={() => setPaused(!isPaused)}
    >
      {isPaused ? 'Resume updates' : 'Pause updates'}
    </Button>
  );
}

function Nothing({
  id,
  total,
  filters,
  changeAndSee,
  focus,
}: {
  id: WebhookId;
  total: number;
  filters: Filters;
  changeAndSee: (filters: Filters) => void;
  focus: () => void;
}) {
  if (total > 0)
    return (
      <Empty
        title="This page is past the last one"
        action={
          <Button onClick={() => changeAndSee({ ...filters, page: 1 })}>
            Go to the first page
          </Button>
        }
      >
        The list has fewer pages.
      </Empty>
    );
  if (isFiltered(filters))
    return (
      <Empty
        title="Nothing matches these filters"
        action={<Button onClick={() => changeAndSee(noFilters)}>Clear filters</Button>}
      >
        No deliveries have this status, event and time.
      </Empty>
    );
  return <NoDeliveries id={id} sent={focus} />;
}

function toCount(total: number): string {
  return total === 1 ? '1 delivery' : `${total.toLocaleString()} deliveries`;
}
