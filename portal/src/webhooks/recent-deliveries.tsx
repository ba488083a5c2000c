import { Button, Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { deliveries as deliveriesOperation } from '../api/operations.ts';
import { DeliveryStatus } from '../deliveries/delivery-status.tsx';
import { formatCount } from '../ui/format-count.ts';
import { Loaded } from '../ui/loaded.tsx';
import { Note } from '../ui/note.tsx';
import { PageLink } from '../ui/page-link.tsx';
import { Section } from '../ui/section.tsx';
import { Time } from '../ui/time.tsx';
import { useWebhookId } from './use-webhook-id.ts';

const limit = 5;
const refreshMs = 10_000;

export function RecentDeliveries() {
  const id = useWebhookId();
  const query = useQuery({ ...deliveriesOperation(id, { limit }), refetchInterval: refreshMs });
  return (
    <Section
      title="Recent deliveries"
      actions={
        <Button variant="default" component={Link} to="deliveries">
          All deliveries
        </Button>
      }
    >
      <Loaded query={query}>
        {({ entries }) =>
          entries.length === 0 ? (
            <Note>No deliveries yet.</Note>
          ) : (
            <ul className="plain-list">
              {entries.map(({ id: deliveryId, event, status, attemptCount, createdAt }) => (
                <Group key={deliveryId} component="li" gap="xs" justify="space-between">
                  <PageLink to={`deliveries/${deliveryId}`} size="sm">
                    {event}
                  </PageLink>
                  <Text component="div" size="sm">
                    <DeliveryStatus status={status} />, {formatCount(attemptCount, 'attempt')},{' '}
                    <Time at={createdAt} />
                  </Text>
                </Group>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Section>
  );
}
