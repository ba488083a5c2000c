import { Table } from '@mantine/core';
import type { DeliveryPeriod, DeliveryStats } from '../api/types.ts';
import { SmallFold } from '../ui/fold.tsx';
import { formatDuration } from '../ui/format-duration.ts';
import { PageLink } from '../ui/page-link.tsx';
import { useTimes } from '../ui/times.tsx';
import { TableHead } from '../ui/table-head.tsx';
import { countOutcomes, outcomeLabels } from './count-outcomes.ts';

const columns = ['Time', ...Object.values(outcomeLabels), 'p50', 'p95'].map((title) => ({ title }));

type Props = { stats: DeliveryStats; listOf: (start: string) => string };

export function PeriodsTable({ stats: { periods, periodHours }, listOf }: Props) {
  const times = useTimes();
  return (
    <SmallFold title="Show the values as a table">
      <Table.ScrollContainer
        minWidth={520}
        type="native"
        tabIndex={0}
        role="region"
        aria-label="Values over time"
      >
        <Table>
          <TableHead columns={columns} />
          <Table.Tbody>
            {periods.map((period) => (
              <Table.Tr key={period.start}>
                <Table.Th scope="row">
                  <PageLink to={listOf(period.start)} size="sm">
                    {times.period(period.start, periodHours)}
                  </PageLink>
                </Table.Th>
                <Values period={period} />
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </SmallFold>
  );
}

function Values({ period }: { period: DeliveryPeriod }) {
  const { latencyP50Ms, latencyP95Ms } = period;
  return (
    <>
      {Object.entries(countOutcomes(period)).map(([kind, count]) => (
        <Table.Td key={kind}>{count.toLocaleString()}</Table.Td>
      ))}
      <Table.Td>{latencyP50Ms === null ? '–' : formatDuration(latencyP50Ms)}</Table.Td>
      <Table.Td>{latencyP95Ms === null ? '–' : formatDuration(latencyP95Ms)}</Table.Td>
    </>
  );
}
