import { Checkbox, Group, Table, Text } from '@mantine/core';
import type { ComponentProps } from 'react';
import { useSearchParams } from 'react-router';
import { errorLabels } from '../../../service/src/contract/webhook-in-words.ts';
import type { PortalDelivery } from '../api/types.ts';
import { formatCount } from '../ui/format-count.ts';
import { formatDuration } from '../ui/format-duration.ts';
import { Note } from '../ui/note.tsx';
import { PageLink } from '../ui/page-link.tsx';
import { TableHead } from '../ui/table-head.tsx';
import { Time } from '../ui/time.tsx';
import { useTimes } from '../ui/times.tsx';
import { nameInList } from '../webhooks/describe-webhook.ts';
import { DeliveryStatus } from './delivery-status.tsx';
import { keepRange, writeFilters, type Filters } from './filters.ts';
import type { Selection } from './use-selection.ts';

/** Navigation state for the page of a delivery: the list to go back to, and the neighbours in it. */
export type FromList = { list: string; paths: string[] };

type Props = {
  appId: string;
  rows: PortalDelivery[];
  from: FromList;
  filters: Filters;
  ofApp: boolean;
  /** The delivery that is open beside the list, which then has less room. */
  openId: string | undefined;
  /** The address of the list with a delivery open. Null if there is no room for it beside the list. */
  addressOf: (delivery: PortalDelivery) => string | null;
  /** Undefined for those who may not redeliver. */
  selection: Selection | undefined;
};

/** On a narrow screen, each row shows the same in three lines. */
export function DeliveryTable({ rows, ...props }: Props) {
  const { ofApp, openId, selection } = props;
  return (
    <Table highlightOnHover verticalSpacing={5} style={{ tableLayout: 'auto' }}>
      <TableHead
        columns={columnsOf({ ofApp, isNarrow: openId !== undefined })}
        {...(selection && openId === undefined && { before: <SelectAll selection={selection} /> })}
      />
      <Table.Tbody>
        {rows.map((delivery) => (
          <Row key={delivery.id} delivery={delivery} {...props} />
        ))}
      </Table.Tbody>
    </Table>
  );
}

/** For a row's link, which the keys focus. */
export function rowLinkId(id: string): string {
  return `delivery-${id}`;
}

type Columns = { ofApp: boolean; isNarrow: boolean };

function columnsOf({ ofApp, isNarrow }: Columns): ComponentProps<typeof TableHead>['columns'] {
  if (isNarrow) return [{ title: 'Delivery' }];
  return [
    { title: 'Status' },
    { title: 'Event' },
    ...(ofApp ? [{ title: 'Webhook', visibleFrom: 'md' as const }] : []),
    { title: 'Duration', visibleFrom: 'md', ta: 'end' },
    { title: 'Attempts', visibleFrom: 'md', ta: 'end' },
    { title: 'Queued', visibleFrom: 'md' },
  ];
}

export function pathOf(appId: string, { id, webhookId }: PortalDelivery): string {
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

type RowProps = { delivery: PortalDelivery } & Pick<
  Props,
  'appId' | 'from' | 'filters' | 'ofApp' | 'openId' | 'addressOf' | 'selection'
>;

function Row(props: RowProps) {
  const { delivery, filters, openId, selection } = props;
  const isNarrow = openId !== undefined;
  const isMarked = openId === delivery.id || selection?.ids.includes(delivery.id);
  return (
    <Table.Tr {...(isMarked && { bg: 'var(--mantine-color-default-hover)', 'data-marked': true })}>
      {selection && !isNarrow && <SelectCell delivery={delivery} selection={selection} />}
      {!isNarrow && (
        <Table.Td>
          <Outcome delivery={delivery} filters={filters} />
        </Table.Td>
      )}
      <Table.Td>
        {isNarrow && <Outcome delivery={delivery} filters={filters} />}
        <Event {...props} />
      </Table.Td>
      {!isNarrow && <WideCells {...props} />}
    </Table.Tr>
  );
}

/** The event, which leads to the delivery, and below it what has no column. */
function Event({ delivery, appId, from, ofApp, openId, addressOf }: RowProps) {
  const { id, event, subject, createdAt, attemptCount, webhook, webhookId } = delivery;
  const isNarrow = openId !== undefined;
  const duration = durationOf(delivery);
  const attempts = formatCount(attemptCount, 'attempt');
  return (
    <>
      <Group gap="0 8px">
        <PageLink
          id={rowLinkId(id)}
          to={addressOf(delivery) ?? pathOf(appId, delivery)}
          state={from}
          size="sm"
          {...(openId === id && { 'aria-current': true })}
        >
          {event}
        </PageLink>
        {subject && (
          <Note span size="xs" title={subject.slug}>
            {subject.name}
          </Note>
        )}
      </Group>
      <Note size="xs" {...(!isNarrow && { hiddenFrom: 'md' })}>
        {ofApp && <>{nameInList({ ...webhook, id: webhookId })}, </>}
        <Time at={createdAt} />
        {!isNarrow && `, ${attempts}${duration === null ? '' : `, ${duration}`}`}
      </Note>
    </>
  );
}

function WideCells({ delivery, appId, ofApp }: RowProps) {
  const { exact } = useTimes();
  const queuedAt = exact(delivery.createdAt);
  return (
    <>
      {ofApp && (
        <Table.Td visibleFrom="md">
          <PageLink
            to={`/apps/${appId}/webhooks/${delivery.webhookId}/deliveries`}
            size="sm"
            c="dimmed"
          >
            {nameInList({ ...delivery.webhook, id: delivery.webhookId })}
          </PageLink>
        </Table.Td>
      )}
      <Table.Td visibleFrom="md" ta="end" style={{ whiteSpace: 'nowrap' }}>
        {durationOf(delivery) ?? '–'}
      </Table.Td>
      <Table.Td visibleFrom="md" ta="end">
        {delivery.attemptCount}
      </Table.Td>
      <Table.Td visibleFrom="md" title={queuedAt}>
        <Text size="sm">{queuedAt}</Text>
      </Table.Td>
    </>
  );
}

function durationOf({ lastAttempt }: PortalDelivery): string | null {
  return lastAttempt && formatDuration(lastAttempt.durationMs);
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
