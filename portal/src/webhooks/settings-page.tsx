import { Section } from '../ui/section.tsx';
import { DeleteWebhook } from './delete-webhook.tsx';
import { isChat } from './describe-webhook.ts';
import { MessagePreview } from './message-preview.tsx';
import { useWebhookId } from './use-webhook-id.ts';
import { WebhookFrame } from './webhook-frame.tsx';
import { WebhookHealing } from './webhook-healing.tsx';
import { WebhookSettingsSection } from './webhook-settings.tsx';

export function WebhookSettingsPage() {
  const { appId } = useWebhookId();
  return (
    <WebhookFrame tab="Settings">
      {({ webhook, mayChange }) => (
        <>
          <WebhookSettingsSection webhook={webhook} mayChange={mayChange} />
          {isChat(webhook) ? (
            <Section title="Preview">
              <MessagePreview appId={appId} chosen={webhook.events} />
            </Section>
          ) : (
            <WebhookHealing webhook={webhook} mayChange={mayChange} />
          )}
          {mayChange && <DeleteWebhook webhook={webhook} />}
        </>
      )}
    </WebhookFrame>
  );
}
