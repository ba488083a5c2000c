import { Button } from '@mantine/core';
import { Link, useParams } from 'react-router';
import { AppFrame } from '../apps/app-frame.tsx';
import { WebhookFrame } from '../webhooks/webhook-frame.tsx';
import { WebhookRoleNote } from '../webhooks/webhook-role-note.tsx';
import { Deliveries } from './deliveries.tsx';
import { explainTitle } from './explain-page.tsx';
import { Replay } from './replay.tsx';

/** The deliveries of all webhooks of an app. */
export function AppDeliveriesPage() {
  const { appId = '' } = useParams();
  return (
    <AppFrame title="Deliveries">
      {() => (
        <>
          <WebhookRoleNote />
          <Deliveries appId={appId} webhookId={null} />
        </>
      )}
    </AppFrame>
  );
}

export function WebhookDeliveriesPage() {
  const { appId = '', webhookId = '' } = useParams();
  return (
    <WebhookFrame tab="Deliveries">
      {({ webhook, mayChange }) => (
        <>
          <Deliveries
            appId={appId}
            webhookId={webhookId}
            actions={
              <>
                <Button
                  component={Link}
                  size="xs"
                  variant="default"
                  to={`/apps/${appId}/webhooks/${webhookId}/explain`}
                >
                  {explainTitle}
                </Button>
                {mayChange && webhook.active && <Replay webhook={webhook} />}
              </>
            }
          />
        </>
      )}
    </WebhookFrame>
  );
}
