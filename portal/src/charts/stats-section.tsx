import { Box, Group, SegmentedControl, SimpleGrid, Stack, Text } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useSearchParams } from 'react-router';
import { deliveryStats, type DeliveryScope } from '../api/operations.ts';
import type { DeliveryStats } from '../api/types.ts';
import { statusLabels } from '../deliveries/delivery-status.tsx';
import { keepRange, spanLabels, writeFilters, type Filters } from '../deliveries/filters.ts';
import { SmallFold } from '../ui/fold.tsx';
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

/** Success and latency of the last hour, 24 hours or 7 days. Every number and bar links to the deliveries behind it. */
export function StatsSection(scope: DeliveryScope) {
  const { query, ...shown } = useStats(scope);
  return (
    <Section title={spanLabels[shown.range]} actions={<RangeChoice {...shown} />}>
      <Loaded query={query}>
        {(stats) => (
          <>
            <Figures stats={stats} {...shown} size="xl" />
            <Charts stats={stats} {...shown} />
          </>
        )}
      </Loaded>
    </Section>
  );
}

/** The same in one row, above a list. */
export function StatsStrip(scope: DeliveryScope) {
  const { query, ...shown } = useStats(scope);
  return (
    <Loaded query={query}>
      {(stats) => (
        <Group component="section" aria-label="Statistics" style={{ gap: gapOf('md') }}>
          <Figures stats={stats} {...shown} size="md" />
          <Box flex="1 1 16rem">
            <CountsChart stats={stats} listOf={listIn(stats, shown)} isStrip />
          </Box>
          <RangeChoice {...shown} />
          <SmallFold title="Details">
            <Stack mt="sm">
              <Charts stats={stats} {...shown} />
            </Stack>
          </SmallFold>
        </Group>
      )}
    </Loaded>
  );
}

function useStats({ appId, webhookId }: DeliveryScope) {
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
  return { query, range, setRange, linkTo };
}

type Shown = Omit<ReturnType<typeof useStats>, 'query'>;

function RangeChoice({ range, setRange }: Pick<Shown, 'range' | 'setRange'>) {
  return (
    <SegmentedControl
      size="xs"
      aria-label="Time range of the charts"
      value={range}
      onChange={setRange}
      data={[
        { value: 'hour', label: 'Hour' },
        { value: 'day', label: '24 hours' },
        { value: 'week', label: '7 days' },
      ]}
    />
  );
}

type Range = 'hour' | 'day' | 'week';

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
  const range = query.get('range');
  return [range === 'hour' || range === 'week' ? range : 'day', setRange];
}

function listIn({ periodHours }: DeliveryStats, { linkTo }: Pick<Shown, 'linkTo'>) {
  return (start: string) => linkTo({ span: 'own', since: start, until: endOf(start, periodHours) });
}

type StatsProps = { stats: DeliveryStats } & Pick<Shown, 'range' | 'linkTo'>;

function Figures({ stats: { total }, range: span, linkTo, size }: StatsProps & { size: Size }) {
  const { latencyP50Ms: p50, latencyP95Ms: p95 } = total;
  const figures = [
    ...(['succeeded', 'failed', 'cancelled', 'pending'] as const).map((status) => ({
      label: statusLabels[status],
      value: total[status].toLocaleString(),
      filters: { status },
    })),
    { label: 'Success rate', value: formatRate(total), filters: {} },
    {
      label: 'p50 latency',
      value: p50 === null ? null : formatDuration(p50),
      filters: ofSucceeded,
    },
    {
      label: 'p95 latency',
      value: p95 === null ? null : formatDuration(p95),
      filters: ofSucceeded,
    },
  ];
  return (
    <Group style={{ gap: gapOf(size) }}>
      {figures.map(
        ({ label, value, filters }) =>
          value !== null &&
          // Rare ones have a figure only if there are some.
          (label !== statusLabels.cancelled || total.cancelled > 0) && (
            <Figure
              key={label}
              label={label}
              value={value}
              size={size}
              to={linkTo({ ...filters, span })}
            />
          ),
      )}
    </Group>
  );
}

type Size = 'md' | 'xl';
/** Between rows, and between columns. */
function gapOf(size: Size): string {
  return `var(--mantine-spacing-xs) var(--mantine-spacing-${size})`;
}

const ofSucceeded = { status: 'succeeded' } as const;

function Charts({ stats, range, linkTo }: StatsProps) {
  const hasLatency = stats.total.latencyP50Ms !== null;
  const listOf = listIn(stats, { linkTo });
  return (
    <>
      <Note>{describeRate(stats.total, range)}</Note>
      <SimpleGrid cols={{ base: 1, md: hasLatency ? 2 : 1 }} spacing="xl">
        <CountsChart stats={stats} listOf={listOf} />
        {hasLatency && <LatencyChart stats={stats} listOf={listOf} />}
      </SimpleGrid>
      <PeriodsTable stats={stats} listOf={listOf} />
    </>
  );
}

type FigureProps = { label: string; value: string; to: string; size: Size };

function Figure({ label, value, to, size }: FigureProps) {
  return (
    <div>
      <Note {...(size === 'md' && { size: 'xs' })}>{label}</Note>
      <Text component="div" fw={650} size={size}>
        <PageLink to={to} underline="hover" c="inherit" aria-label={`${label}: ${value}`}>
          {value}
        </PageLink>
      </Text>
    </div>
  );
}

function describeRate(total: DeliveryStats['total'], range: Range): string {
  const { succeeded, cancelled, cancelledByFailure } = countOutcomes(total);
  const counted = countForRate(total);
  const share = `The success rate is ${succeeded.toLocaleString()} of ${counted.toLocaleString()}.`;
  const causes = `${cancelledByFailure.toLocaleString()} because their webhook failed`;
  const others = `${cancelled.toLocaleString()} by an owner, the operator or a lost permission`;
  return [
    ...(counted > 0 ? [share] : []),
    range === 'hour'
      ? 'Counts how each delivery ended last.'
      : 'Counts how each delivery first ended. Redeliveries do not change it.',
    ...(total.cancelled > 0
      ? [`Cancelled: ${causes}, which counts as a failure, and ${others}, which is not counted.`]
      : []),
  ].join(' ');
}
