/** The codes of authenticator apps: time-based one-time passwords (RFC 6238) of six digits, a new one every 30 seconds. */
import { createHmac, timingSafeEqual } from 'node:crypto';

const stepMs = 30_000;
const digits = 6;
const base32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** The time step of a moment. */
export function stepAt(timeMs: number): number {
  return Math.floor(timeMs / stepMs);
}

/** `secret` in base32. */
export function codeAt(secret: string, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  // Apps know SHA-1 best; an HMAC does not depend on collisions.
  const mac = createHmac('sha1', fromBase32(secret)).update(counter).digest();
  const offset = (mac.at(-1) ?? 0) & 15;
  const number = (mac.readUInt32BE(offset) & 0x7fff_ffff) % 10 ** digits;
  return String(number).padStart(digits, '0');
}

/** The step of a code, allowing for clocks that differ by a step and for nothing up to `lastStep`; null if it is wrong. */
export function matchingStep(
  secret: string,
  code: string,
  { timeMs, lastStep }: { timeMs: number; lastStep: number },
): number | null {
  const now = stepAt(timeMs);
  const given = Buffer.from(code);
  const matches = (step: number) => {
    const expected = Buffer.from(codeAt(secret, step));
    return given.length === expected.length && timingSafeEqual(given, expected) && step > lastStep;
  };
  return [now - 1, now, now + 1].find(matches) ?? null;
}

export function toBase32(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{1,5}/g) ?? [])
    .map((group) => base32[Number.parseInt(group.padEnd(5, '0'), 2)])
    .join('');
}

function fromBase32(text: string): Buffer {
  const bits = text
    .split('')
    .map((each) => base32.indexOf(each).toString(2).padStart(5, '0'))
    .join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}
