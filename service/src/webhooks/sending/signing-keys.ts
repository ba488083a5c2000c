/**
 * Secrets as keys that sign, opened once and kept while they are in use: decrypting one and making keys of it costs
 * more than signing with it.
 */
import { LRUCache } from 'lru-cache';
import type { SecretBox } from './secrets.ts';
import { signingKey, type SigningKey } from './sign.ts';

export type SigningKeys = {
  /** The key in `sealed`, a secret of this webhook. Throws where no key of SECRET_KEY opens it. */
  get(webhookId: string, sealed: Buffer): SigningKey;
};

type Opened = { sealed: Buffer; key: SigningKey };

/** Webhooks, at some hundred bytes for each secret. */
const keptMax = 5_000;
/** The one in use, and the one before it while a rotation overlaps. */
const secretsMax = 2;

export function createSigningKeys(secretBox: SecretBox): SigningKeys {
  const kept = new LRUCache<string, Opened[]>({ max: keptMax });
  return {
    get(webhookId, sealed) {
      const known = kept.get(webhookId) ?? [];
      // By the ciphertext: one that was rotated is another, and one of another webhook does not open.
      const same = known.find((one) => one.sealed.equals(sealed));
      if (same) return same.key;
      const key = signingKey(secretBox.open(sealed, webhookId));
      kept.set(webhookId, [{ sealed, key }, ...known.slice(0, secretsMax - 1)]);
      return key;
    },
  };
}
