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

/** Some hundred bytes each. */
const keptMax = 5_000;

export function createSigningKeys(secretBox: SecretBox): SigningKeys {
  const kept = new LRUCache<string, SigningKey>({ max: keptMax });
  return {
    get(webhookId, sealed) {
      // By the ciphertext: one that was rotated is another entry, and one of another webhook does not open.
      const name = `${webhookId} ${sealed.toString('latin1')}`;
      let key = kept.get(name);
      if (!key) kept.set(name, (key = signingKey(secretBox.open(sealed, webhookId))));
      return key;
    },
  };
}
