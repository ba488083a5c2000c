/** Returns a webhook's secrets, ready to sign with; null, with a log line, if SECRET_KEY lacks the key to one. */
import { LRUCache } from 'lru-cache';
import type { Logger } from '../../log.ts';
import type { SigningKeys } from './signing-keys.ts';
import type { SigningSecrets } from './sign.ts';

type Sealed = { webhookId: string; secret: Buffer; previousSecret: Buffer | null };

/** Logs once per minute and webhook; otherwise one webhook's backlog would fill the log. */
const toldAgainMs = 60_000;
const toldMax = 5_000;
const toldBy = new WeakMap<SigningKeys, LRUCache<string, true>>();

export function openSecrets(
  { signingKeys, log }: { signingKeys: SigningKeys; log: Logger },
  { webhookId, secret, previousSecret }: Sealed,
): SigningSecrets | null {
  try {
    return {
      current: signingKeys.get(webhookId, secret),
      previous: previousSecret && signingKeys.get(webhookId, previousSecret),
    };
  } catch (error) {
    if (isNews(signingKeys, webhookId))
      log.error({ webhookId, reason: (error as Error).message }, 'secret.unreadable');
    return null;
  }
}

function isNews(signingKeys: SigningKeys, webhookId: string): boolean {
  let told = toldBy.get(signingKeys);
  if (!told) toldBy.set(signingKeys, (told = new LRUCache({ max: toldMax, ttl: toldAgainMs })));
  if (told.get(webhookId)) return false;
  told.set(webhookId, true);
  return true;
}
