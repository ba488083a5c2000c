/** Caches decrypted secrets as signing keys, because decrypting costs more than signing. */
import { LRUCache } from 'lru-cache';
import type { SecretBox } from '../../runtime/secret-box.ts';
import { type SigningKey, type SigningSecrets, signingKey } from './sign.ts';
import type { Logger } from '../../runtime/log.ts';

export type SigningKeys = {
  /** Returns the key in `sealed`, a secret of this webhook. Throws if no key of SECRET_KEY opens it. */
  get(webhookId: string, sealed: Buffer): SigningKey;
};

type Opened = { sealed: Buffer; key: SigningKey };

/** Webhooks kept in memory, some hundred bytes per secret. */
const keptMax = 5_000;
/** The current secret and, during a rotation, the previous one. */
const secretsMax = 2;

export function createSigningKeys(secretBox: SecretBox): SigningKeys {
  const kept = new LRUCache<string, Opened[]>({ max: keptMax });
  return {
    get(webhookId, sealed) {
      const known = kept.get(webhookId) ?? [];
      // Compares ciphertexts: a rotated secret has another, and a secret of another webhook does not open.
      const same = known.find((one) => one.sealed.equals(sealed));
      if (same) return same.key;
      const key = signingKey(secretBox.open(sealed, webhookId));
      kept.set(webhookId, [{ sealed, key }, ...known.slice(0, secretsMax - 1)]);
      return key;
    },
  };
}

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
