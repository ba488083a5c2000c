import { Anchor, Button, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { deliveries as deliveriesOperation } from '../api/operations.ts';
import type { Delivery } from '../api/types.ts';
import { DeliveryStatus } from '../deliveries/delivery-status.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { Section } from '../ui/section.tsx';
import { Time } from '../ui/time.tsx';
import { useWebhookId } from './use-webhook-id.ts';

const shownCount = 5;
const refreshMs = 10_000;

export function RecentDeliveries() {
  const id = useWebhookId();
  const query = useQuery({
    ...deliveriesOperation(id, { limit: shownCount }),
    refetchInterval: refreshMs,
  });
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
            <Text size="sm" c="dimmed">
              No deliveries yet. Send a test to see what a delivery looks like.
            </Text>
          ) : (
            <Stack gap="xs" component="ul" m={0} p={0} style={{ listStyle: 'none' }}>
              {entries.map((delivery) => (
                <Row key={delivery.id} delivery={delivery} />
              ))}
            </Stack>
          )
        }
      </Loaded>
    </Section>
  );
}

function Row({ delivery: { id, event, status, attemptCount, createdAt } }: { delivery: Delivery }) {
  return (
    <Group component="li" gap="xs" justify="space-between">
      <Anchor component={Link} to={`deliveries/${id}`} size="sm">
        {event}
      </Anchor>
      <Text component="div" size="sm">
        <DeliveryStatus status={status} />,{' '}
        {attemptCount === 1 ? '1 attempt' : `${attemptCount} attempts`}, <Time at={createdAt} />
      </Text>
    </Group>
  );
}
