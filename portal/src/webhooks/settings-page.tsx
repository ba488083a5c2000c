import { DeleteWebhook } from './delete-webhook.tsx';
import { WebhookFrame } from './webhook-frame.tsx';
import { WebhookSettingsSection } from './webhook-settings.tsx';

export function WebhookSettingsPage() {
  return (
    <WebhookFrame tab="Settings">
      {({ webhook, mayChange }) => (
        <>
          <WebhookSettingsSection webhook={webhook} mayChange={mayChange} />
          {mayChange && <DeleteWebhook webhook={webhook} />}
        </>
      )}
    </WebhookFrame>
  );
}
