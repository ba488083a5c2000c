import { Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { app as appOperation, webhook as webhookOperation } from '../api/operations.ts';
import type { Webhook } from '../api/types.ts';
import { crumbsOf } from '../apps/app-frame.tsx';
import { Page } from '../layout/page.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { CheckSignatureSection } from './check-signature-section.tsx';
import { DeleteWebhook } from './delete-webhook.tsx';
import { RecentDeliveries } from './recent-deliveries.tsx';
import { SendTest } from './send-test.tsx';
import { useWebhookId } from './use-webhook-id.ts';
import { WebhookSecret } from './webhook-secret.tsx';
import { WebhookSettingsSection } from './webhook-settings.tsx';
import { WebhookStatus } from './webhook-status.tsx';
import { hostOf } from './webhook-words.ts';

/** The polling interval while the page is visible. */
const refreshMs = 15_000;

export function WebhookPage() {
  const { appId, webhookId, list } = useWebhookId();
  const app = useQuery(appOperation(appId));
  const query = useQuery({
    ...webhookOperation({ appId, webhookId }),
    refetchInterval: refreshMs,
  });
  return (
    <Page
      title={query.data ? `Webhook to ${hostOf(query.data)}` : 'Webhook'}
      lead={query.data?.description}
      crumbs={[...crumbsOf(app.data, appId), { title: 'Webhooks', to: list }]}
    >
      <Loaded query={query}>{(webhook) => <Sections webhook={webhook} />}</Loaded>
    </Page>
  );
}

function Sections({ webhook }: { webhook: Webhook }) {
  return (
    <Stack gap="lg">
      <WebhookStatus webhook={webhook} />
      <RecentDeliveries />
      <SendTest webhook={webhook} />
      <WebhookSettingsSection webhook={webhook} />
      <WebhookSecret webhook={webhook} />
      <CheckSignatureSection />
      <DeleteWebhook webhook={webhook} />
    </Stack>
  );
}
