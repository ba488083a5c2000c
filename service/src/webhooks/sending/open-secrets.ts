/** Returns a webhook's secrets, ready to sign with; null, with a log line, if SECRET_KEY lacks the key to one. */
import { LRUCache } from 'lru-cache';
import type { Logger } from '../../runtime/log.ts';
import type { SigningKeys } from './signing-keys.ts';
import type { SigningSecrets } from './sign.ts';

type Sealed = { webhookId: string; secret: Buffer; previousSecret: Buffer | null };

/** One line per webhook and minute; otherwise the backlog of one webhook would fill the log. */
const logAgainMs = 60_000;
const loggedMax = 5_000;
const loggedWebhooks = new LRUCache<string, true>({ max: loggedMax, ttl: logAgainMs });

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
    if (!loggedWebhooks.has(webhookId)) {
      loggedWebhooks.set(webhookId, true);
      log.error({ webhookId, reason: (error as Error).message }, 'secret.unreadable');
    }
    return null;
  }
}
