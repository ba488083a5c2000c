import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { webhook as webhookOperation } from '../api/operations.ts';
import { can } from '../apps/can.ts';
import { useApp } from '../apps/use-app.ts';
import { Page } from '../layout/page.tsx';
import { DeferredFold } from '../ui/deferred-fold.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { Section } from '../ui/section.tsx';
import { DeleteWebhook } from './delete-webhook.tsx';
import { RecentDeliveries } from './recent-deliveries.tsx';
import { SendTest } from './send-test.tsx';
import { useWebhookCrumbs, useWebhookId } from './use-webhook-id.ts';
import { WebhookSecret } from './webhook-secret.tsx';
import { WebhookSettingsSection } from './webhook-settings.tsx';
import { WebhookRoleNote } from './webhook-role-note.tsx';
import { WebhookStatus } from './webhook-status.tsx';
import { hostOf } from './describe-webhook.ts';

/** The polling interval while the page is visible. */
const refreshMs = 15_000;

export function WebhookPage() {
  const id = useWebhookId();
  const mayChange = can(useApp(), 'changeWebhooks');
  const query = useQuery({ ...webhookOperation(id), refetchInterval: refreshMs });
  return (
    <Page
      title={query.data ? `Webhook to ${hostOf(query.data)}` : 'Webhook'}
      lead={query.data?.description}
      crumbs={useWebhookCrumbs().slice(0, -1)}
    >
      <Loaded query={query}>
        {(webhook) => (
          <>
            <WebhookRoleNote />
            <WebhookStatus webhook={webhook} mayChange={mayChange} />
            <RecentDeliveries />
            {mayChange && <SendTest webhook={webhook} />}
            <WebhookSettingsSection webhook={webhook} mayChange={mayChange} />
            <WebhookSecret webhook={webhook} mayChange={mayChange} />
            <CheckSignature />
            {mayChange && <DeleteWebhook webhook={webhook} />}
          </>
        )}
      </Loaded>
    </Page>
  );
}

/** Helps to find out why a program refuses a delivery. */
function CheckSignature() {
  return (
    <Section
      title="Check a signature"
      lead="Paste a delivery as your program received it to see whether its signature is valid, and if not, why. The check runs in your browser: nothing you paste is sent or stored."
    >
      {window.isSecureContext ? (
        <DeferredFold
          title="Paste a delivery"
          summary="Its headers, its body and the secret."
          name="check of a signature"
          load={() => import('./check-signature-form.tsx')}
        />
      ) : (
        <Text size="sm">
          Browsers can verify signatures only on HTTPS pages, and this page is not one.
        </Text>
      )}
    </Section>
  );
}
