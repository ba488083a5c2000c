import { SegmentedControl, Table, Text } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { useParams } from 'react-router';
import { usageDays } from '../../../service/src/contract/periods.ts';
import { quotaNearPercent } from '../../../service/src/contract/quotas.ts';
import { appUsage } from '../api/operations.ts';
import type { AppUsage, PortalApp, UsedDay, UsedKey } from '../api/types.ts';
import { AppFrame } from '../apps/app-frame.tsx';
import classes from '../charts/chart.module.css';
import { StackedChart } from '../charts/stacked-chart.tsx';
import { nameOfKey } from '../keys/key-state.ts';
import { DescriptionList, type Term } from '../ui/description-list.tsx';
import { formatBytes } from '../ui/format-bytes.ts';
import { Loaded } from '../ui/loaded.tsx';
import { Note } from '../ui/note.tsx';
import { Section } from '../ui/section.tsx';
import { TableHead } from '../ui/table-head.tsx';
import { TimesInUtc } from '../ui/times.tsx';

const ranges = [7, 30, usageDays];

/** What the app has used: requests of its keys, events that it has read, deliveries to its webhooks. */
export function UsagePage() {
  const { appId = '' } = useParams();
  const [days, setDays] = useState(30);
  const query = useQuery({ ...appUsage(appId, { days }), placeholderData: keepPreviousData });
  return (
    <AppFrame
      title="Usage"
      lead="Requests, events and deliveries by day. A day ends at midnight UTC."
    >
      {(app) => (
        <>
          <Section
            title={`Last ${days} days`}
            actions={
              <SegmentedControl
                size="xs"
                aria-label="Days"
                value={String(days)}
                onChange={(value) => setDays(Number(value))}
                data={ranges.map((each) => ({ value: String(each), label: `${each} days` }))}
              />
            }
          >
            <Loaded query={query}>{(usage) => <Usage usage={usage} />}</Loaded>
          </Section>
          <Limits app={app} />
        </>
      )}
    </AppFrame>
  );
}

const kinds = [
  { key: 'succeeded' as const, name: 'Succeeded', className: classes['succeeded'] },
  { key: 'failed' as const, name: 'Failed', className: classes['failed'] },
];

function Usage({ usage: { days, keys } }: { usage: AppUsage }) {
  const newestFirst = days.filter(isUsed).toReversed();
  return (
    <>
      <TimesInUtc>
        <StackedChart
          title="Requests"
          kinds={kinds}
          periods={days.map(({ day, requests, errors }) => ({
            start: `${day}T00:00:00.000Z`,
            counts: { succeeded: requests - errors, failed: errors },
          }))}
          periodHours={24}
          none="no requests"
        />
      </TimesInUtc>
      {newestFirst.length === 0 ? (
        <Text c="dimmed">Nothing was used on these days.</Text>
      ) : (
        <>
          <Note>
            A request failed if its status is 4xx or 5xx, or if it broke off. Events are those that
            programs read with GET /events, deliveries are those queued on that day that have ended.
          </Note>
          <Values label="Usage by day" first="Day" last="Deliveries">
            {newestFirst.map((used) => (
              <Row key={used.day} name={used.day} used={used} last={used.deliveries} />
            ))}
          </Values>
          {keys.length > 0 && (
            <Values label="Usage by key" first="Key">
              {keys.map((used) => (
                <Row key={used.keyId} name={nameOf(used)} used={used} />
              ))}
            </Values>
          )}
        </>
      )}
    </>
  );
}

function Limits({ app: { webhookCount, keyCount, quotas } }: { app: PortalApp }) {
  if (!quotas) return null;
  const { webhooks, keys, members, requestsPerMinute: rate } = quotas;
  const perMinute: Term[] =
    rate === null ? [] : [['Requests per minute', `${rate.toLocaleString()}, all keys together`]];
  return (
    <Section title="Limits">
      <DescriptionList
        entries={[
          ['Webhooks', `${webhookCount} of ${webhooks}`],
          ['Valid API keys', `${keyCount} of ${keys}`],
          ['Members', `Up to ${members}`],
          ...perMinute,
        ]}
      />
      <Note>
        Owners get a mail when {quotaNearPercent} % of a limit are used. Responses to requests with
        a key say how many are left in the minute.
      </Note>
    </Section>
  );
}

const columns = ['Requests', 'Failed', 'Size of responses', 'Events'];

type ValuesProps = { label: string; first: string; last?: string; children: ReactNode };

function Values({ label, first, last, children }: ValuesProps) {
  const titles = [first, ...columns, ...(last === undefined ? [] : [last])];
  return (
    <Table.ScrollContainer
      minWidth={520}
      type="native"
      tabIndex={0}
      role="region"
      aria-label={label}
    >
      <Table>
        <TableHead columns={titles.map((title) => ({ title }))} />
        <Table.Tbody>{children}</Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

type Used = Omit<UsedKey, 'keyId' | 'name' | 'last4'>;

function Row({ name, used, last }: { name: string; used: Used; last?: number }) {
  const { requests, errors, bytes, events } = used;
  return (
    <Table.Tr>
      <Table.Th scope="row" style={{ whiteSpace: 'nowrap' }}>
        <bdi>{name}</bdi>
      </Table.Th>
      <Table.Td>{requests.toLocaleString()}</Table.Td>
      <Table.Td>{errors.toLocaleString()}</Table.Td>
      <Table.Td>{formatBytes(bytes)}</Table.Td>
      <Table.Td>{events.toLocaleString()}</Table.Td>
      {last !== undefined && <Table.Td>{last.toLocaleString()}</Table.Td>}
    </Table.Tr>
  );
}

function isUsed({ requests, events, deliveries }: UsedDay): boolean {
  return requests + events + deliveries > 0;
}

function nameOf({ name, last4 }: UsedKey): string {
  return name === null || last4 === null ? 'A deleted key' : nameOfKey({ name, last4 });
}
