/** Encrypts secrets at rest with AES-256-GCM under SECRET_KEY: those of webhooks and of authenticator apps. */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createSecretKey,
  randomBytes,
} from 'node:crypto';

export type SecretBox = {
  /** `owner` is the id of the row, with the kind of secret if it has several: a ciphertext copied to another place does not open. */
  seal(secret: string, owner: string): Buffer;
  /** Throws if no key of SECRET_KEY fits. */
  open(sealed: Buffer, owner: string): string;
  /** As `open`, but null if no key fits. */
  tryOpen(sealed: Buffer, owner: string): string | null;
  /** Whether it was sealed with the first key, which seals all new secrets. */
  isNewest(sealed: Buffer): boolean;
};

/** Stored form: version (1), key id (4), nonce (12), tag (16), ciphertext. */
const version = 1;
const nonceStart = 5;
const tagStart = nonceStart + 12;
const textStart = tagStart + 16;

/** `keys` as in SECRET_KEY: the first encrypts, all decrypt. */
export function createSecretBox(keys: readonly Buffer[]): SecretBox {
  const [newest] = keys;
  if (!newest) throw new Error('a secret box needs a key');
  const byId = new Map(keys.map((key) => [keyId(key).toString('hex'), createSecretKey(key)]));

  const box: SecretBox = {
    seal(secret, owner) {
      const nonce = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', newest, nonce).setAAD(Buffer.from(owner));
      const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
      return Buffer.concat([
        Buffer.from([version]),
        keyId(newest),
        nonce,
        cipher.getAuthTag(),
        text,
      ]);
    },
    open(sealed, owner) {
      const key =
        sealed[0] === version
          ? byId.get(sealed.subarray(1, nonceStart).toString('hex'))
          : undefined;
      if (!key) throw new Error('SECRET_KEY lacks the key that this secret was encrypted with');
      const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(nonceStart, tagStart))
        .setAAD(Buffer.from(owner))
        .setAuthTag(sealed.subarray(tagStart, textStart));
      return (
        decipher.update(sealed.subarray(textStart), undefined, 'utf8') + decipher.final('utf8')
      );
    },
    tryOpen(sealed, owner) {
      try {
        return box.open(sealed, owner);
      } catch {
        return null;
      }
    },
    isNewest: (sealed) =>
      sealed[0] === version && sealed.subarray(1, nonceStart).equals(keyId(newest)),
  };
  return box;
}

function keyId(key: Buffer): Buffer {
  return createHash('sha256').update('orgdir secret key id').update(key).digest().subarray(0, 4);
}
