import { useParams } from 'react-router';
import { AppFrame } from '../apps/app-frame.tsx';
import { WebhookFrame } from '../webhooks/webhook-frame.tsx';
import { WebhookRoleNote } from '../webhooks/webhook-role-note.tsx';
import { Deliveries } from './deliveries.tsx';

/** The deliveries of all webhooks of an app. */
export function AppDeliveriesPage() {
  const { appId = '' } = useParams();
  return (
    <AppFrame title="Deliveries" lead="The deliveries of all webhooks, newest first.">
      {() => (
        <>
          <WebhookRoleNote />
          <Deliveries key={appId} appId={appId} webhookId={null} />
        </>
      )}
    </AppFrame>
  );
}

export function WebhookDeliveriesPage() {
  const { appId = '', webhookId = '' } = useParams();
  return (
    <WebhookFrame tab="Deliveries">
      {() => <Deliveries key={webhookId} appId={appId} webhookId={webhookId} />}
    </WebhookFrame>
  );
}
