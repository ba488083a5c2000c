import { Anchor, Table, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import type { WebhookId } from '../api/operations.ts';
import type { Delivery } from '../api/types.ts';
import { Time } from '../ui/time.tsx';
import { DeliveryStatus } from './delivery-status.tsx';

/** Navigation state for the page of a delivery: the filters to go back to, and its neighbours in the list. */
export type FromList = { search: string; ids: string[] };

/** On a narrow screen, each row shows the same in two lines. */
export function DeliveryTable({
  id: { appId, webhookId },
  rows,
  search,
}: {
  id: WebhookId;
  rows: Delivery[];
  search: string;
}) {
  const from: FromList = { search, ids: rows.map(({ id }) => id) };
  return (
    <Table highlightOnHover verticalSpacing={8}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th scope="col" w="9rem">
            Status
          </Table.Th>
          <Table.Th scope="col">Event</Table.Th>
          <Table.Th scope="col" visibleFrom="sm">
            When
          </Table.Th>
          <Table.Th scope="col" visibleFrom="sm" ta="end">
            Attempts
          </Table.Th>
          <Table.Th scope="col" visibleFrom="sm">
            Next attempt
          </Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map((delivery) => (
          <Table.Tr key={delivery.id}>
            <Table.Td>
              <DeliveryStatus status={delivery.status} />
            </Table.Td>
            <Table.Td>
              <Anchor
                component={Link}
                to={`/apps/${appId}/webhooks/${webhookId}/deliveries/${delivery.id}`}
                state={from}
                size="sm"
              >
                {delivery.event}
              </Anchor>
              <Text size="xs" c="dimmed" hiddenFrom="sm">
                <Time at={delivery.createdAt} />, {toAttempts(delivery.attemptCount)}
                {delivery.status === 'pending' && <>, next {nextOf(delivery)}</>}
              </Text>
            </Table.Td>
            <Table.Td visibleFrom="sm">
              <Time at={delivery.createdAt} />
            </Table.Td>
            <Table.Td visibleFrom="sm" ta="end">
              {delivery.attemptCount}
            </Table.Td>
            <Table.Td visibleFrom="sm">
              {delivery.status === 'pending' ? (
                nextOf(delivery)
              ) : (
                <Text span inherit c="dimmed">
                  None
                </Text>
              )}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

function nextOf({ nextAttemptAt }: Delivery): ReactNode {
  if (nextAttemptAt === null) return 'in progress';
  return <Time at={nextAttemptAt} past="now" />;
}

export function toAttempts(count: number): string {
  return count === 1 ? '1 attempt' : `${count} attempts`;
}
