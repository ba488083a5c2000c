/**
 * Generates and checks API keys: `odk_`, 32 base62 characters from a CSPRNG (190 bits), and six base62 characters of
 * CRC32, so that a mistyped key fails without a look-up.
 */
import { hash, hkdfSync, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const prefix = 'odk_';
const randomLength = 32;
const checksumLength = 6;
const form = new RegExp(`^${prefix}[0-9A-Za-z]{${randomLength + checksumLength}}$`);

/** Generates a key. Its creator sees it once; the database keeps its hash and its last four characters. */
export function generateApiKey(): string {
  const random = Array.from(
    { length: randomLength },
    () => alphabet[randomInt(alphabet.length)],
  ).join('');
  return prefix + random + checksum(prefix + random);
}

/**
 * Makes the key of this id from a secret key of the service and a text that is not stored, so that it can be made again as long
 * as somebody has both, although the database has only its hash.
 */
export function deriveApiKey(secretKey: Buffer, id: string, text: string): string {
  const info = `orgdir api key v1 ${id} ${hash('sha256', text)}`;
  // Many more bits than the characters need, so that each character is as likely.
  let rest = BigInt(
    `0x${Buffer.from(hkdfSync('sha256', secretKey, '', info, 64)).toString('hex')}`,
  );
  let characters = '';
  for (let index = 0; index < randomLength; index += 1) {
    characters += alphabet[Number(rest % 62n)];
    rest /= 62n;
  }
  return prefix + characters + checksum(prefix + characters);
}

/** Whether a text has the form of a key and a correct checksum. Does not say whether the key exists. */
export function isWellFormedApiKey(text: string): boolean {
  return form.test(text) && text.endsWith(checksum(text.slice(0, -checksumLength)));
}

/** The stored form of a key. A plain SHA-256 is enough, because 190 random bits cannot be guessed. */
export function hashApiKey(key: string): Buffer {
  return hash('sha256', key, 'buffer');
}

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let index = 0; index < checksumLength; index += 1) {
    digits = alphabet[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}
