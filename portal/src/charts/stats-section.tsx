import { Group, SegmentedControl, SimpleGrid, Text } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useSearchParams } from 'react-router';
import { deliveryStats, type DeliveryScope } from '../api/operations.ts';
import type { DeliveryStats } from '../api/types.ts';
import { statusLabels } from '../deliveries/delivery-status.tsx';
import { keepRange, writeFilters, type Filters, type Span } from '../deliveries/filters.ts';
import { formatDuration } from '../ui/format-duration.ts';
import { Loaded } from '../ui/loaded.tsx';
import { Note } from '../ui/note.tsx';
import { PageLink } from '../ui/page-link.tsx';
import { Section } from '../ui/section.tsx';
import { endOf } from '../ui/times.tsx';
import { CountsChart } from './counts-chart.tsx';
import { countForRate, countOutcomes, formatRate } from './count-outcomes.ts';
import { LatencyChart } from './latency-chart.tsx';
import { PeriodsTable } from './periods-table.tsx';

/** The polling interval while the page is visible. */
const refreshMs = 30_000;

/** Success and latency of the last 24 hours or 7 days. Every number and bar links to the deliveries behind it. */
export function StatsSection({ appId, webhookId }: DeliveryScope) {
  const [address] = useSearchParams();
  const [range, setRange] = useRange();
  const query = useQuery({
    ...deliveryStats(appId, { range, ...(webhookId !== null && { webhookId }) }),
    placeholderData: keepPreviousData,
    refetchInterval: refreshMs,
  });
  const list =
    webhookId === null
      ? `/apps/${appId}/deliveries`
      : `/apps/${appId}/webhooks/${webhookId}/deliveries`;
  const linkTo = (filters: Partial<Filters>) =>
    `${list}?${keepRange(address, writeFilters(filters))}`;
  return (
    <Section
      title={range === 'day' ? 'Last 24 hours' : 'Last 7 days'}
      actions={
        <SegmentedControl
          size="xs"
          aria-label="Time range of the charts"
          value={range}
          onChange={setRange}
          data={[
            { value: 'day', label: '24 hours' },
            { value: 'week', label: '7 days' },
          ]}
        />
      }
    >
      <Loaded query={query}>
        {(stats) => <Stats stats={stats} span={range} linkTo={linkTo} />}
      </Loaded>
    </Section>
  );
}

type Range = 'day' | 'week';

/** The address holds the range. */
function useRange(): [range: Range, setRange: (range: Range) => void] {
  const [query, setQuery] = useSearchParams();
  const setRange = (range: Range) =>
    setQuery((before) => {
      const after = new URLSearchParams(before);
      if (range === 'day') after.delete('range');
      else after.set('range', range);
      return after;
    });
  return [query.get('range') === 'week' ? 'week' : 'day', setRange];
}

type StatsProps = {
  stats: DeliveryStats;
  span: Span;
  linkTo: (filters: Partial<Filters>) => string;
};

function Stats({ stats, span, linkTo }: StatsProps) {
  const { periodHours, total } = stats;
  const { latencyP50Ms: p50, latencyP95Ms: p95 } = total;
  const listOf = (start: string) =>
    linkTo({ span: 'own', since: start, until: endOf(start, periodHours) });
  return (
    <>
      <Group style={{ gap: 'var(--mantine-spacing-xs) var(--mantine-spacing-xl)' }}>
        {(['succeeded', 'failed', 'cancelled', 'pending'] as const).map(
          (status) =>
            // Rare ones have a figure only if there are some.
            (status !== 'cancelled' || total.cancelled > 0) && (
              <Figure
                key={status}
                label={statusLabels[status]}
                value={total[status].toLocaleString()}
                to={linkTo({ status, span })}
              />
            ),
        )}
        <Figure label="Success rate" value={formatRate(total)} to={linkTo({ span })} />
        {p50 !== null && p95 !== null && (
          <>
            <Figure
              label="p50 latency"
              value={formatDuration(p50)}
              to={linkTo({ status: 'succeeded', span })}
            />
            <Figure
              label="p95 latency"
              value={formatDuration(p95)}
              to={linkTo({ status: 'succeeded', span })}
            />
          </>
        )}
      </Group>
      <Note>{describeRate(total)}</Note>
      <SimpleGrid cols={{ base: 1, md: p50 === null ? 1 : 2 }} spacing="xl">
        <CountsChart stats={stats} listOf={listOf} />
        {p50 !== null && <LatencyChart stats={stats} listOf={listOf} />}
      </SimpleGrid>
      <PeriodsTable stats={stats} listOf={listOf} />
    </>
  );
}

function Figure({ label, value, to }: { label: string; value: string; to: string }) {
  return (
    <div>
      <Note>{label}</Note>
      <Text component="div" fw={650} size="xl">
        <PageLink to={to} underline="hover" c="inherit" aria-label={`${label}: ${value}`}>
          {value}
        </PageLink>
      </Text>
    </div>
  );
}

function describeRate(total: DeliveryStats['total']): string {
  const { succeeded, cancelled, cancelledByFailure } = countOutcomes(total);
  const counted = countForRate(total);
  const share = `The success rate is ${succeeded.toLocaleString()} of ${counted.toLocaleString()}.`;
  const causes = `${cancelledByFailure.toLocaleString()} because their webhook failed`;
  const others = `${cancelled.toLocaleString()} by an owner, the operator or a lost permission`;
  return [
    ...(counted > 0 ? [share] : []),
    'Counts how each delivery first ended. Redeliveries do not change it.',
    ...(total.cancelled > 0
      ? [`Cancelled: ${causes}, which counts as a failure, and ${others}, which is not counted.`]
      : []),
  ].join(' ');
}
