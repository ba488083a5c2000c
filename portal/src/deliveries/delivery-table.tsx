import { Table } from '@mantine/core';
import type { ComponentProps } from 'react';
import type { WebhookId } from '../api/operations.ts';
import type { Delivery } from '../api/types.ts';
import { formatCount } from '../ui/format-count.ts';
import { PageLink } from '../ui/page-link.tsx';
import { TableHead } from '../ui/table-head.tsx';
import { Time } from '../ui/time.tsx';
import { DeliveryStatus } from './delivery-status.tsx';
import { Note } from '../ui/note.tsx';

/** Navigation state for the page of a delivery: the filters to go back to, and its neighbours in the list. */
export type FromList = { search: string; ids: string[] };

const columns = [
  { title: 'Status', w: '9rem' },
  { title: 'Event' },
  { title: 'When', visibleFrom: 'sm' },
  { title: 'Attempts', visibleFrom: 'sm', ta: 'end' },
  { title: 'Next attempt', visibleFrom: 'sm' },
] satisfies ComponentProps<typeof TableHead>['columns'];

type DeliveryTableProps = { id: WebhookId; rows: Delivery[]; search: string };

/** On a narrow screen, each row shows the same in two lines. */
export function DeliveryTable({ id: { appId, webhookId }, rows, search }: DeliveryTableProps) {
  const from: FromList = { search, ids: rows.map(({ id }) => id) };
  return (
    <Table highlightOnHover verticalSpacing={8}>
      <TableHead columns={columns} />
      <Table.Tbody>
        {rows.map((delivery) => (
          <Row
            key={delivery.id}
            delivery={delivery}
            to={`/apps/${appId}/webhooks/${webhookId}/deliveries/${delivery.id}`}
            from={from}
          />
        ))}
      </Table.Tbody>
    </Table>
  );
}

type RowProps = { delivery: Delivery; to: string; from: FromList };

function Row({
  delivery: { status, event, createdAt, attemptCount, nextAttemptAt },
  to,
  from,
}: RowProps) {
  const next = nextAttemptAt === null ? 'in progress' : <Time at={nextAttemptAt} past="now" />;
  const isPending = status === 'pending';
  return (
    <Table.Tr>
      <Table.Td>
        <DeliveryStatus status={status} />
      </Table.Td>
      <Table.Td>
        <PageLink to={to} state={from} size="sm">
          {event}
        </PageLink>
        <Note size="xs" hiddenFrom="sm">
          <Time at={createdAt} />, {formatCount(attemptCount, 'attempt')}
          {isPending && <>, next {next}</>}
        </Note>
      </Table.Td>
      <Table.Td visibleFrom="sm">
        <Time at={createdAt} />
      </Table.Td>
      <Table.Td visibleFrom="sm" ta="end">
        {attemptCount}
      </Table.Td>
      <Table.Td visibleFrom="sm">{isPending ? next : <Note>None</Note>}</Table.Td>
    </Table.Tr>
  );
}
