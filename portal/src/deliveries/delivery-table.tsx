import { Checkbox, Group, Table, Text } from '@mantine/core';
import type { ComponentProps } from 'react';
import { useSearchParams } from 'react-router';
import type { PortalDelivery } from '../api/types.ts';
import { errorLabels } from '../ui/describe-attempt.ts';
import { formatCount } from '../ui/format-count.ts';
import { formatDuration } from '../ui/format-duration.ts';
import { Note } from '../ui/note.tsx';
import { PageLink } from '../ui/page-link.tsx';
import { TableHead } from '../ui/table-head.tsx';
import { Time } from '../ui/time.tsx';
import { useTimes } from '../ui/times.tsx';
import { nameOf } from '../webhooks/describe-webhook.ts';
import { DeliveryStatus } from './delivery-status.tsx';
import { keepRange, writeFilters, type Filters } from './filters.ts';
import type { Selection } from './use-selection.ts';

/** Navigation state for the page of a delivery: the list to go back to, and the neighbours in it. */
export type FromList = { list: string; paths: string[] };

type Props = {
  appId: string;
  rows: PortalDelivery[];
  /** The address of the list, with its filters. */
  list: string;
  filters: Filters;
  ofApp: boolean;
  /** Undefined for those who may not redeliver. */
  selection: Selection | undefined;
};

/** On a narrow screen, each row shows the same in three lines. */
export function DeliveryTable({ appId, rows, list, filters, ofApp, selection }: Props) {
  const from: FromList = { list, paths: rows.map((delivery) => pathOf(appId, delivery)) };
  return (
    <Table highlightOnHover verticalSpacing={8} style={{ tableLayout: 'auto' }}>
      <TableHead
        columns={columnsOf(ofApp)}
        {...(selection && { before: <SelectAll selection={selection} /> })}
      />
      <Table.Tbody>
        {rows.map((delivery) => (
          <Row
            key={delivery.id}
            appId={appId}
            delivery={delivery}
            from={from}
            filters={filters}
            ofApp={ofApp}
            selection={selection}
          />
        ))}
      </Table.Tbody>
    </Table>
  );
}

function columnsOf(ofApp: boolean): ComponentProps<typeof TableHead>['columns'] {
  return [
    { title: 'Status' },
    { title: 'Event' },
    ...(ofApp ? [{ title: 'Webhook', visibleFrom: 'sm' as const }] : []),
    { title: 'Duration', visibleFrom: 'sm', ta: 'end' },
    { title: 'Attempts', visibleFrom: 'sm', ta: 'end' },
    { title: 'Queued', visibleFrom: 'sm' },
  ];
}

function pathOf(appId: string, { id, webhookId }: PortalDelivery): string {
  return `/apps/${appId}/webhooks/${webhookId}/deliveries/${id}`;
}

function SelectAll({ selection }: { selection: Selection }) {
  return (
    <Checkbox
      aria-label="Select all on this page"
      checked={selection.hasAll}
      indeterminate={selection.ids.length > 0 && !selection.hasAll}
      disabled={!selection.isPossible}
      onChange={selection.toggleAll}
    />
  );
}

type RowProps = { delivery: PortalDelivery; from: FromList } & Pick<
  Props,
  'appId' | 'filters' | 'ofApp' | 'selection'
>;

function Row({ appId, delivery, from, filters, ofApp, selection }: RowProps) {
  const { id, event, subject, createdAt, attemptCount, lastAttempt, webhook } = delivery;
  const { exact } = useTimes();
  const duration = lastAttempt && formatDuration(lastAttempt.durationMs);
  const attempts = formatCount(attemptCount, 'attempt');
  return (
    <Table.Tr {...(selection?.ids.includes(id) && { bg: 'var(--mantine-color-default-hover)' })}>
      {selection && <SelectCell delivery={delivery} selection={selection} />}
      <Table.Td>
        <Outcome delivery={delivery} filters={filters} />
      </Table.Td>
      <Table.Td>
        <PageLink to={pathOf(appId, delivery)} state={from} size="sm">
          {event}
        </PageLink>
        {subject && (
          <Note size="xs" title={subject.slug}>
            {subject.name}
          </Note>
        )}
        <Note size="xs" hiddenFrom="sm">
          {ofApp && <>{nameOf(webhook)}, </>}
          <Time at={createdAt} />, {attempts}
          {duration && `, ${duration}`}
        </Note>
      </Table.Td>
      {ofApp && (
        <Table.Td visibleFrom="sm">
          <PageLink
            to={`/apps/${appId}/webhooks/${delivery.webhookId}/deliveries`}
            size="sm"
            c="dimmed"
          >
            {nameOf(webhook)}
          </PageLink>
        </Table.Td>
      )}
      <Table.Td visibleFrom="sm" ta="end" style={{ whiteSpace: 'nowrap' }}>
        {duration ?? '–'}
      </Table.Td>
      <Table.Td visibleFrom="sm" ta="end">
        {attemptCount}
      </Table.Td>
      <Table.Td visibleFrom="sm">
        <Text size="sm">
          <Time at={createdAt} />
        </Text>
        <Note size="xs">{exact(createdAt)}</Note>
      </Table.Td>
    </Table.Tr>
  );
}

function SelectCell({ delivery, selection }: { delivery: PortalDelivery; selection: Selection }) {
  const { id, event, createdAt } = delivery;
  const { exact } = useTimes();
  return (
    <Table.Td w={36}>
      {selection.mayBe(delivery) && (
        <Checkbox
          aria-label={`Select ${event} of ${exact(createdAt)}`}
          checked={selection.ids.includes(id)}
          onChange={({ nativeEvent }) =>
            selection.toggle(id, nativeEvent instanceof MouseEvent && nativeEvent.shiftKey)
          }
        />
      )}
    </Table.Td>
  );
}

/** The status, with the response or the error of the last attempt. */
function Outcome({ delivery, filters }: Pick<RowProps, 'delivery' | 'filters'>) {
  const { status, lastAttempt, nextAttemptAt } = delivery;
  const [query] = useSearchParams();
  const showResponse = (response: string) =>
    `?${keepRange(query, writeFilters({ ...filters, page: 1, response }))}`;
  return (
    <>
      <Group gap={8} wrap="nowrap">
        <DeliveryStatus status={status} />
        {lastAttempt?.statusCode != null && (
          <PageLink
            to={showResponse(String(lastAttempt.statusCode))}
            size="sm"
            ff="monospace"
            style={{ whiteSpace: 'nowrap' }}
            title="Show only this response"
          >
            {lastAttempt.statusCode}
          </PageLink>
        )}
      </Group>
      {lastAttempt?.error && <Note size="xs">{errorLabels[lastAttempt.error]}</Note>}
      {status === 'pending' && (
        <Note size="xs">
          {nextAttemptAt === null ? (
            'In progress'
          ) : (
            <>
              Next attempt <Time at={nextAttemptAt} past="now" />
            </>
          )}
        </Note>
      )}
    </>
  );
}
