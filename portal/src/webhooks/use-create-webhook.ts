import { createWebhook } from '../api/operations.ts';
import type { CreatedWebhook, WebhookInput } from '../api/types.ts';
import { useOnce } from '../api/use-once.ts';
import { appChanges, useWrite } from '../api/use-write.ts';
import { toInput, type WebhookSettings } from './webhook-form.tsx';

export function useCreateWebhook(appId: string, done?: (webhook: CreatedWebhook) => void) {
  const once = useOnce(
    (body: WebhookInput, idempotencyKey) => createWebhook(appId, body, idempotencyKey),
    (given: WebhookSettings) => toInput(given),
  );
  return useWrite(once, appChanges, { ...(done && { done }), waits: false });
}
