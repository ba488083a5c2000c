/**
 * Encrypts positions as the cursors of `GET /events`. A position counts the events of everybody, so an app that could read
 * it would learn how many others have, and when. The same position gives an app the same bytes in every process, so a page
 * that has not changed keeps its ETag.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hkdfSync,
  timingSafeEqual,
} from 'node:crypto';

export type Cursors = {
  encode(appId: string, position: number): string;
  /** Returns the position; null if no key of SECRET_KEY made the cursor for this app. */
  decode(appId: string, cursor: string): number | null;
};

/** A synthetic nonce as in RFC 5297, which also authenticates, and the position. */
const nonceBytes = 16;
const positionBytes = 8;
/** In base64. */
export const cursorLength = ((nonceBytes + positionBytes) * 4) / 3;
const cipherName = 'aes-256-ctr';

type Keys = { mac: Buffer; cipher: Buffer };

/** `secretKeys` as in SECRET_KEY: the first encrypts, all decrypt. */
export function createCursors(secretKeys: readonly Buffer[]): Cursors {
  const all = secretKeys.map(deriveKeys);
  const [newest] = all;
  if (!newest) throw new Error('cursors need a key');
  return {
    encode: (appId, position) => encrypt(newest, appId, position).toString('base64url'),
    decode(appId, cursor) {
      const bytes = Buffer.from(cursor, 'base64url');
      // Node.js skips characters that are not base64.
      if (bytes.length !== nonceBytes + positionBytes || bytes.toString('base64url') !== cursor)
        return null;
      for (const keys of all) {
        const position = decrypt(keys, appId, bytes);
        if (position !== null) return position;
      }
      return null;
    },
  };
}

function deriveKeys(secretKey: Buffer): Keys {
  const bytes = Buffer.from(hkdfSync('sha256', secretKey, '', 'orgdir cursors v1', 64));
  return { mac: bytes.subarray(0, 32), cipher: bytes.subarray(32) };
}

function encrypt({ mac, cipher }: Keys, appId: string, position: number): Buffer {
  const text = Buffer.alloc(positionBytes);
  text.writeBigUInt64BE(BigInt(position));
  const digest = createHmac('sha256', mac).update(appId).update(text).digest();
  const nonce = digest.subarray(0, nonceBytes);
  return Buffer.concat([nonce, createCipheriv(cipherName, cipher, nonce).update(text)]);
}

function decrypt(keys: Keys, appId: string, bytes: Buffer): number | null {
  const nonce = bytes.subarray(0, nonceBytes);
  const text = createDecipheriv(cipherName, keys.cipher, nonce).update(bytes.subarray(nonceBytes));
  const position = Number(text.readBigUInt64BE());
  if (!Number.isSafeInteger(position)) return null;
  return timingSafeEqual(encrypt(keys, appId, position), bytes) ? position : null;
}
