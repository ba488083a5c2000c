import { Button, Group, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams, useLocation, Link } from 'react-router';
import {
  app as appOperation,
  delivery as deliveryOperation,
  webhook as webhookOperation,
  type DeliveryId,
} from '../api/operations.ts';
import type { DeliveryDetail, Webhook } from '../api/types.ts';
import { crumbsOf } from '../apps/app-frame.tsx';
import { Page } from '../layout/page.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { useWebhookId } from '../webhooks/use-webhook-id.ts';
import { hostOf } from '../webhooks/webhook-words.ts';
import { Attempts } from './attempts.tsx';
import { DeliveryFacts } from './delivery-facts.tsx';
import type { FromList } from './delivery-table.tsx';
import { Redeliver } from './redeliver.tsx';
import { SentRequest } from './sent-request.tsx';

const pendingEveryMs = 1_500;

/** Shows one delivery with its attempts and its request, and can redeliver it. */
export function DeliveryPage() {
  const { appId = '', webhookId = '', deliveryId = '' } = useParams();
  // The key resets open folds and messages when somebody goes to another delivery.
  return <OneDelivery key={deliveryId} id={{ appId, webhookId, deliveryId }} />;
}

function OneDelivery({ id }: { id: DeliveryId }) {
  const { appId, deliveryId } = id;
  const from = useLocation().state as FromList | null;
  const app = useQuery(appOperation(appId)).data;
  const receiver = useQuery(webhookOperation(id)).data;
  const query = useQuery({
    ...deliveryOperation(id),
    refetchInterval: ({ state }) => (state.data?.status === 'pending' ? pendingEveryMs : false),
  });
  const { page: root } = useWebhookId();
  return (
    <Page
      title={query.data ? `Delivery of ${query.data.event}` : 'Delivery'}
      crumbs={[
        ...crumbsOf(app, appId),
        { title: receiver ? hostOf(receiver) : 'Webhook', to: root },
        { title: 'Deliveries', to: `${root}/deliveries${from?.search ? `?${from.search}` : ''}` },
      ]}
      actions={<Neighbours root={root} deliveryId={deliveryId} from={from} />}
    >
      <Loaded query={query}>
        {(delivery) => <Detail id={id} delivery={delivery} webhook={receiver} />}
      </Loaded>
    </Page>
  );
}

function Detail({
  id,
  delivery,
  webhook,
}: {
  id: DeliveryId;
  delivery: DeliveryDetail;
  webhook: Webhook | undefined;
}) {
  return (
    <Stack gap="xl">
      <DeliveryFacts delivery={delivery} />
      <Redeliver id={id} delivery={delivery} webhook={webhook} />
      <Stack gap="sm">
        <Title order={2} size="h3">
          Attempts
        </Title>
        <Attempts attempts={delivery.attempts} status={delivery.status} />
      </Stack>
      <Stack gap="sm">
        <Title order={2} size="h3">
          Request
        </Title>
        {delivery.body === null ? (
          <Text>
            The body can't be shown: the app can no longer get this event, or the event was deleted.
            A new binding does not bring it back.
          </Text>
        ) : (
          <SentRequest delivery={delivery} body={delivery.body} url={webhook?.url} />
        )}
      </Stack>
    </Stack>
  );
}

/** Links to the next newer and older delivery of the list page that the user came from. */
function Neighbours({
  root,
  deliveryId,
  from,
}: {
  root: string;
  deliveryId: string;
  from: FromList | null;
}) {
  if (!from) return null;
  const at = from.ids.indexOf(deliveryId);
  const ways = [
    { title: 'Newer', to: from.ids[at - 1] },
    { title: 'Older', to: from.ids[at + 1] },
  ];
  if (at === -1) return null;
  return (
    <Group component="nav" aria-label="Newer and older deliveries" gap="xs">
      {ways.map(
        ({ title, to }) =>
          to !== undefined && (
            <Button
              key={title}
              component={Link}
              to={`${root}/deliveries/${to}`}
              state={from}
              size="xs"
              variant="default"
            >
              {title}
            </Button>
          ),
      )}
    </Group>
  );
}
