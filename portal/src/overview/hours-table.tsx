import { Table } from '@mantine/core';
import type { DeliveryPeriod } from '../api/types.ts';
import { SmallFold } from '../ui/fold.tsx';
import { TableHead } from '../ui/table-head.tsx';
import { formatHour } from './chart-frame.tsx';

const columns = ['Hour', 'Succeeded', 'Failed', 'Pending', 'p50 latency', 'p95 latency'].map(
  (title) => ({ title }),
);

export function HoursTable({ hours }: { hours: DeliveryPeriod[] }) {
  return (
    <SmallFold title="Show the values as a table">
      <Table.ScrollContainer
        minWidth={420}
        type="native"
        tabIndex={0}
        role="region"
        aria-label="Values by hour"
      >
        <Table>
          <TableHead columns={columns} />
          <Table.Tbody>
            {hours.map((hour) => (
              <Row key={hour.start} hour={hour} />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </SmallFold>
  );
}

function Row({ hour }: { hour: DeliveryPeriod }) {
  return (
    <Table.Tr>
      <Table.Th scope="row">{formatHour(hour.start)}</Table.Th>
      <Table.Td>{hour.succeeded.toLocaleString()}</Table.Td>
      <Table.Td>{hour.failed.toLocaleString()}</Table.Td>
      <Table.Td>{hour.pending.toLocaleString()}</Table.Td>
      <Table.Td>{formatMs(hour.latencyP50Ms)}</Table.Td>
      <Table.Td>{formatMs(hour.latencyP95Ms)}</Table.Td>
    </Table.Tr>
  );
}

function formatMs(ms: number | null): string {
  return ms === null ? '–' : `${ms.toLocaleString()} ms`;
}
