import { useRef } from 'react';
import { isAnswerLost } from '../api/call.ts';
import { createWebhook } from '../api/operations.ts';
import type { CreatedWebhook } from '../api/types.ts';
import { appChanges, useWrite } from '../api/use-write.ts';
import { toInput, type WebhookSettings } from './webhook-form.tsx';

/** Whoever tries again after the answer was lost, with the same settings, gets the webhook that was made, and its secret. */
export function useCreateWebhook(appId: string, done?: (webhook: CreatedWebhook) => void) {
  const lost = useRef<{ settings: string; key: string } | null>(null);
  return useWrite(
    async (given: WebhookSettings) => {
      const settings = JSON.stringify(given);
      const key =
        lost.current?.settings === settings
          ? lost.current.key
          : crypto.getRandomValues(new Uint32Array(4)).join('-');
      try {
        return await createWebhook(appId, toInput(given), key);
      } catch (error) {
        lost.current = isAnswerLost(error) ? { settings, key } : null;
        throw error;
      }
    },
    appChanges,
    { ...(done && { done }), waits: false },
  );
}
