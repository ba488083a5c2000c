import { Button, Group } from '@mantine/core';
import { Link, useLocation, useParams } from 'react-router';
import type { DeliveryId } from '../api/operations.ts';
import { Page } from '../layout/page.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { useWebhookCrumbs, useWebhookId } from '../webhooks/use-webhook-id.ts';
import { WebhookRoleNote } from '../webhooks/webhook-role-note.tsx';
import { DeliveryView, useDelivery } from './delivery-view.tsx';
import type { FromList } from './delivery-table.tsx';

export function DeliveryPage() {
  const { appId = '', webhookId = '', deliveryId = '' } = useParams();
  // The key resets open folds and messages when somebody goes to another delivery.
  return <KeyedDelivery key={deliveryId} id={{ appId, webhookId, deliveryId }} />;
}

function KeyedDelivery({ id }: { id: DeliveryId }) {
  const from = useLocation().state as FromList | null;
  const list = `${useWebhookId().page}/deliveries`;
  const crumbs = useWebhookCrumbs();
  const query = useDelivery(id);
  return (
    <Page
      title={query.data ? `Delivery of ${query.data.event}` : 'Delivery'}
      crumbs={[...crumbs, { title: 'Deliveries', to: from?.list ?? list }]}
      actions={from && <Neighbours from={from} />}
    >
      <WebhookRoleNote />
      <Loaded query={query}>
        {(delivery) => <DeliveryView id={id} delivery={delivery} order={2} />}
      </Loaded>
    </Page>
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
