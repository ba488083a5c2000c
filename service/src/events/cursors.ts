/**
 * Encrypts positions as cursors, those of `GET /events` per app. A position counts the events of everybody, so an app that
 * could read it would learn how many others have, and when. The same position gives the same bytes in every process, so a
 * page that has not changed keeps its ETag.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  timingSafeEqual,
  type KeyObject,
} from 'node:crypto';

export type Cursors = {
  encode(appId: string, position: number): string;
  /** Returns the position; null if no key of SECRET_KEY made the cursor for this app. */
  decode(appId: string, cursor: string): number | null;
};

export type SealedCursors = {
  /** A cursor is only valid for its subject. */
  seal(subject: string, content: Buffer): string;
  /** Returns the content; null if no key of SECRET_KEY made the cursor for this subject. */
  open(subject: string, cursor: string): Buffer | null;
};

/** A synthetic nonce as in RFC 5297, which also authenticates, and the content. */
const nonceBytes = 16;
const positionBytes = 8;
/** In base64. */
export const cursorLength = ((nonceBytes + positionBytes) * 4) / 3;
const cipherName = 'aes-256-ctr';

/** Node.js takes four times as long with bytes. */
type Keys = { mac: KeyObject; cipher: KeyObject };

/** `secretKeys` as in SECRET_KEY: the first encrypts, all decrypt. */
export function createCursors(secretKeys: readonly Buffer[]): Cursors {
  const sealed = createSealedCursors(secretKeys);
  return {
    encode(appId, position) {
      const content = Buffer.alloc(positionBytes);
      content.writeBigUInt64BE(BigInt(position));
      return sealed.seal(appId, content);
    },
    decode(appId, cursor) {
      const content = sealed.open(appId, cursor);
      return content?.length === positionBytes ? Number(content.readBigUInt64BE()) : null;
    },
  };
}

export function createSealedCursors(secretKeys: readonly Buffer[]): SealedCursors {
  const all = secretKeys.map(deriveKeys);
  const [newest] = all;
  if (!newest) throw new Error('cursors need a key');
  return {
    seal: (subject, content) => encrypt(newest, subject, content).toString('base64url'),
    open(subject, cursor) {
      const bytes = Buffer.from(cursor, 'base64url');
      // Node.js skips characters that are not base64.
      if (bytes.length <= nonceBytes || bytes.toString('base64url') !== cursor) return null;
      for (const keys of all) {
        const content = decrypt(keys, subject, bytes);
        if (content !== null) return content;
      }
      return null;
    },
  };
}

function deriveKeys(secretKey: Buffer): Keys {
  const bytes = Buffer.from(hkdfSync('sha256', secretKey, '', 'orgdir cursors v1', 64));
  return {
    mac: createSecretKey(bytes.subarray(0, 32)),
    cipher: createSecretKey(bytes.subarray(32)),
  };
}

function encrypt({ mac, cipher }: Keys, subject: string, content: Buffer): Buffer {
  const digest = createHmac('sha256', mac).update(subject).update(content).digest();
  const nonce = digest.subarray(0, nonceBytes);
  return Buffer.concat([nonce, createCipheriv(cipherName, cipher, nonce).update(content)]);
}

function decrypt(keys: Keys, subject: string, bytes: Buffer): Buffer | null {
  const nonce = bytes.subarray(0, nonceBytes);
  const content = createDecipheriv(cipherName, keys.cipher, nonce).update(
    bytes.subarray(nonceBytes),
  );
  return timingSafeEqual(encrypt(keys, subject, content), bytes) ? content : null;
}
