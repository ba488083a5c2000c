import { Group, Paper, Stack, Text, Title } from '@mantine/core';
import type { Overview } from '../api/types.ts';
import { CountsChart } from './counts-chart.tsx';
import { HoursTable } from './hours-table.tsx';
import { LatencyChart } from './latency-chart.tsx';
import { totalsOf } from './totals-of.ts';

export function DeliveriesOfTheDay({ deliveries }: { deliveries: Overview['deliveries'] }) {
  const { hours, complete } = deliveries;
  const totals = totalsOf(hours);
  return (
    <Paper withBorder p="md" component="section" aria-label="Deliveries in the last 24 hours">
      <Stack gap="md">
        <Title order={2} size="h4">
          Deliveries in the last 24 hours
        </Title>
        <Group gap="xl">
          <Figure label="Succeeded" value={totals.succeeded.toLocaleString()} />
          <Figure label="Failed" value={totals.failed.toLocaleString()} />
          <Figure label="Pending" value={totals.pending.toLocaleString()} />
          <Figure label="Success rate" value={totals.successRate} />
        </Group>
        {!complete && (
          <Text size="sm" c="dimmed">
            There are too many to count: these numbers cover only the newest.
          </Text>
        )}
        <CountsChart hours={hours} />
        <LatencyChart hours={hours} />
        <HoursTable hours={hours} />
      </Stack>
    </Paper>
  );
}

function Figure({ label, value }: { label: string; value: string }) {
  return (
    <div>
      <Text size="sm" c="dimmed">
        {label}
      </Text>
      <Text fw={650} size="xl">
        {value}
      </Text>
    </div>
  );
}
