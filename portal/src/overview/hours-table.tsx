import { Table } from '@mantine/core';
import type { DeliveryHour } from '../api/types.ts';
import { formatHour } from './chart-frame.tsx';
import classes from './chart.module.css';

/** All values of the charts as a table. */
export function HoursTable({ hours }: { hours: DeliveryHour[] }) {
  return (
    <details>
      <summary className={classes['summary']}>Show the values as a table</summary>
      <Table.ScrollContainer
        minWidth={420}
        type="native"
        tabIndex={0}
        role="region"
        aria-label="Values by hour"
      >
        <Table>
          <Table.Thead>
            <Table.Tr>
              {['Hour', 'Succeeded', 'Failed', 'Pending', 'p50 latency', 'p95 latency'].map(
                (title) => (
                  <Table.Th key={title} scope="col">
                    {title}
                  </Table.Th>
                ),
              )}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {hours.map((hour) => (
              <Table.Tr key={hour.start}>
                <Table.Th scope="row">{formatHour(hour.start)}</Table.Th>
                <Table.Td>{hour.succeeded.toLocaleString()}</Table.Td>
                <Table.Td>{hour.failed.toLocaleString()}</Table.Td>
                <Table.Td>{hour.pending.toLocaleString()}</Table.Td>
                <Table.Td>{formatMs(hour.latencyP50Ms)}</Table.Td>
                <Table.Td>{formatMs(hour.latencyP95Ms)}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </details>
  );
}

function formatMs(ms: number | null): string {
  return ms === null ? '–' : `${ms.toLocaleString()} ms`;
}
