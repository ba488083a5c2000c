import { Listen } from '../apps/listen.tsx';
import { isChat } from './describe-webhook.ts';
import { SendTest } from './send-test.tsx';
import { useWebhookId } from './use-webhook-id.ts';
import { WebhookFrame } from './webhook-frame.tsx';

export function WebhookTestPage() {
  const { appId } = useWebhookId();
  return (
    <WebhookFrame tab="Test">
      {({ webhook, mayChange }) =>
        mayChange && (
          <>
            <SendTest appId={appId} webhook={webhook} />
            {!isChat(webhook) && <Listen />}
          </>
        )
      }
    </WebhookFrame>
  );
}
