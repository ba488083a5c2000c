import { Group, Text } from '@mantine/core';
import type { Overview } from '../api/types.ts';
import { Note } from '../ui/note.tsx';
import { Section } from '../ui/section.tsx';
import { CountsChart } from './counts-chart.tsx';
import { HoursTable } from './hours-table.tsx';
import { LatencyChart } from './latency-chart.tsx';
import { addUp } from './add-up.ts';

export function DeliveriesOfTheDay({ deliveries }: { deliveries: Overview['deliveries'] }) {
  const { hours } = deliveries;
  const { succeeded, failed, pending, successRate } = addUp(hours);
  return (
    <Section title="Deliveries in the last 24 hours">
      <Group gap="xl">
        <Figure label="Succeeded" value={succeeded.toLocaleString()} />
        <Figure label="Failed" value={failed.toLocaleString()} />
        <Figure label="Pending" value={pending.toLocaleString()} />
        <Figure label="Success rate" value={successRate} />
      </Group>
      <CountsChart hours={hours} />
      <LatencyChart hours={hours} />
      <HoursTable hours={hours} />
    </Section>
  );
}

function Figure({ label, value }: { label: string; value: string }) {
  return (
    <div>
      <Note>{label}</Note>
      <Text fw={650} size="xl">
        {value}
      </Text>
    </div>
  );
}
