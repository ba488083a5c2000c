import { SimpleGrid, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { healthLabels } from '../../../service/src/contract/webhook-in-words.ts';
import { checks, installation } from '../api/operations.ts';
import type { OperatorCheck, OperatorOverview } from '../api/types.ts';
import { capitalise } from '../ui/capitalise.ts';
import { Page } from '../layout/page.tsx';
import { DescriptionList, type Term } from '../ui/description-list.tsx';
import { formatDuration } from '../ui/format-duration.ts';
import { Loaded } from '../ui/loaded.tsx';
import { PageLink } from '../ui/page-link.tsx';
import { Section } from '../ui/section.tsx';
import { EntryTable } from './table-page.tsx';
import { TableHead } from '../ui/table-head.tsx';

/** The polling interval while the page is visible. */
const refreshMs = 10_000;

export function OverviewPage() {
  const query = useQuery({ ...installation(), refetchInterval: refreshMs });
  return (
    <Page title="Overview" lead="How the installation does, for all apps together.">
      <Loaded query={query}>{(state) => <Overview state={state} />}</Loaded>
      <Checks />
    </Page>
  );
}

function Overview({ state }: { state: OperatorOverview }) {
  const { today, yesterday, responses, deliveries, queue, webhooks, receivers } = state;
  return (
    <>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <Section
          title="Requests with keys"
          lead="Responses: all of the process that answers, since its start."
        >
          <DescriptionList
            entries={[
              ['Today (UTC)', requestsOf(today)],
              ['Yesterday', requestsOf(yesterday)],
              ['Median response', within(responses.p50Ms)],
              ['99th percentile', within(responses.p99Ms)],
            ]}
          />
        </Section>
        <Section title="Deliveries of 24 hours">
          <DescriptionList
            entries={[
              ['Succeeded', share(deliveries.successShare)],
              ['Median delay', delay(deliveries.delayP50Ms)],
              ['95th percentile', delay(deliveries.delayP95Ms)],
            ]}
          />
        </Section>
        <Section title="What waits">
          <DescriptionList
            entries={[
              ['Deliveries that are due', queue.due.toLocaleString()],
              ['Oldest delivery', `${Math.round(queue.oldestDueSeconds)} s`],
              ['Events to distribute', queue.eventsWaiting.toLocaleString()],
              ['Oldest event', `${Math.round(queue.oldestEventSeconds)} s`],
              ['Set aside', <Count key="aside" of={queue.setAside} to="/refused" />],
            ]}
          />
        </Section>
        <Section title="Webhooks">
          {Object.keys(webhooks).length === 0 ? (
            <Text role="status">There are no webhooks yet.</Text>
          ) : (
            <DescriptionList entries={Object.entries(healthLabels).flatMap(countsOf(webhooks))} />
          )}
        </Section>
      </SimpleGrid>
      <Section title="Receivers that do not work">
        {receivers.length === 0 ? (
          <Text role="status">All webhooks that have been called work.</Text>
        ) : (
          <Receivers receivers={receivers} />
        )}
      </Section>
    </>
  );
}

function Receivers({ receivers }: Pick<OperatorOverview, 'receivers'>) {
  return (
    <Table>
      <TableHead columns={['Host', 'Webhooks', 'Apps'].map((title) => ({ title }))} />
      <Table.Tbody>
        {receivers.map(({ host, webhooks, apps }) => (
          <Table.Tr key={host}>
            <Table.Th scope="row" fw={500}>
              {host}
            </Table.Th>
            <Table.Td>{webhooks.toLocaleString()}</Table.Td>
            <Table.Td>{apps.toLocaleString()}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

function requestsOf({ requests, errors }: OperatorOverview['today']): string {
  return `${requests.toLocaleString()}, ${errors.toLocaleString()} failed`;
}

/** Rounds down, so that 100 % means all. */
function share(value: number | null): string {
  return value === null ? 'None ended' : `${(Math.floor(value * 10_000) / 100).toLocaleString()} %`;
}

/** The bound of a bucket. */
function within(ms: number | null): string {
  return ms === null ? '–' : `Within ${formatDuration(ms)}`;
}

function delay(ms: number | null): string {
  return ms === null ? '–' : formatDuration(ms);
}

const checkLabels: Record<string, string> = {
  ok: 'Works',
  warning: 'Look at it',
  failed: 'Failed',
  skipped: 'Not used',
};

/** The polling interval of checks, which open connections. */
const checkMs = 30_000;

/** What `orgdir doctor` says about what runs: database, replicas, workers and their jobs, mail. */
function Checks() {
  const query = useQuery({ ...checks(), refetchInterval: checkMs });
  return (
    <Section
      title="Checks"
      lead="What orgdir doctor finds about database, replicas, workers and jobs."
    >
      <Loaded query={query}>
        {({ entries }) => (
          <EntryTable
            title="All checks"
            entries={entries.toSorted((a, b) => rank(a) - rank(b))}
            columns={['Check', 'State', 'Found', 'What to do']}
            row={({ check, status, message, advice }) => ({
              key: `${check} ${message}`,
              cells: [
                capitalise(check.replaceAll('_', ' ')),
                <Text
                  key="state"
                  span
                  size="sm"
                  {...(rank({ status }) < 2 && { fw: 650, c: 'red' })}
                >
                  {checkLabels[status] ?? status}
                </Text>,
                message,
                advice,
              ],
            })}
          />
        )}
      </Loaded>
    </Section>
  );
}

/** What needs somebody comes first. */
function rank({ status }: Pick<OperatorCheck, 'status'>): number {
  return ['failed', 'warning', 'ok', 'skipped'].indexOf(status);
}

/** A number that leads to its list. */
function Count({ of, to }: { of: number; to: string }) {
  const count = of.toLocaleString();
  return of === 0 ? count : <PageLink to={to}>{count}</PageLink>;
}

function countsOf(counts: Record<string, number>) {
  return ([health, label]: [string, string]): Term[] => {
    const count = counts[health] ?? 0;
    if (count === 0) return [];
    return [[label, <Count key={health} of={count} to={`/webhooks?health=${health}`} />]];
  };
}
