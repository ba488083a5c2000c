import { Button, Group, Stack, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link, useLocation, useParams } from 'react-router';
import {
  delivery as deliveryOperation,
  webhook as webhookOperation,
  type DeliveryId,
} from '../api/operations.ts';
import { can } from '../apps/can.ts';
import { useApp } from '../apps/use-app.ts';
import { Page } from '../layout/page.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { WebhookRoleNote } from '../webhooks/webhook-role-note.tsx';
import { useWebhookCrumbs, useWebhookId } from '../webhooks/use-webhook-id.ts';
import { Attempts } from './attempts.tsx';
import { DeliveryFacts } from './delivery-facts.tsx';
import type { FromList } from './delivery-table.tsx';
import { NoBody } from './no-body.tsx';
import { Redeliver, type DeliveryProps } from './redeliver.tsx';
import { SentRequest } from './sent-request.tsx';

const pendingEveryMs = 1_500;

export function DeliveryPage() {
  const { appId = '', webhookId = '', deliveryId = '' } = useParams();
  // The key resets open folds and messages when somebody goes to another delivery.
  return <KeyedDelivery key={deliveryId} id={{ appId, webhookId, deliveryId }} />;
}

function KeyedDelivery({ id }: { id: DeliveryId }) {
  const from = useLocation().state as FromList | null;
  const list = `${useWebhookId().page}/deliveries`;
  const crumbs = useWebhookCrumbs();
  const webhook = useQuery(webhookOperation(id)).data;
  const query = useQuery({
    ...deliveryOperation(id),
    refetchInterval: ({ state }) => (state.data?.status === 'pending' ? pendingEveryMs : false),
  });
  return (
    <Page
      title={query.data ? `Delivery of ${query.data.event}` : 'Delivery'}
      crumbs={[...crumbs, { title: 'Deliveries', to: from?.list ?? list }]}
      actions={from && <Neighbours from={from} />}
    >
      <Loaded query={query}>
        {(delivery) => <Sections id={id} delivery={delivery} webhook={webhook} />}
      </Loaded>
    </Page>
  );
}

function Sections(props: DeliveryProps) {
  const { delivery, webhook } = props;
  const mayChange = can(useApp(), 'changeWebhooks');
  return (
    <Stack gap="xl">
      <DeliveryFacts delivery={delivery} />
      {mayChange ? <Redeliver {...props} /> : <WebhookRoleNote />}
      <Titled title="Attempts">
        <Attempts {...delivery} />
      </Titled>
      <Titled title="Request">
        {delivery.body === null ? (
          <NoBody event={delivery.event} />
        ) : (
          <SentRequest
            delivery={delivery}
            body={delivery.body}
            url={mayChange ? webhook?.url : undefined}
          />
        )}
      </Titled>
    </Stack>
  );
}

function Titled({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Stack gap="sm">
      <Title order={2} size="h3">
        {title}
      </Title>
      {children}
    </Stack>
  );
}

/** Links to the next newer and older delivery of the list page that the user came from. */
function Neighbours({ from }: { from: FromList }) {
  const at = from.paths.indexOf(useLocation().pathname);
  if (at === -1) return null;
  const ways = [
    { title: 'Newer', to: from.paths[at - 1] },
    { title: 'Older', to: from.paths[at + 1] },
  ];
  return (
    <Group component="nav" aria-label="Newer and older deliveries" gap="xs">
      {ways.map(
        ({ title, to }) =>
          to !== undefined && (
            <Button key={title} component={Link} to={to} state={from} size="xs" variant="default">
              {title}
            </Button>
          ),
      )}
    </Group>
  );
}
