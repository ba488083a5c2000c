/**
 * The authenticator app of an account. Its secret is encrypted with SECRET_KEY, no code works twice, and wrong codes are
 * counted in the database: six digits hold only against few guesses, from however many addresses they come.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { type Database, type Executor, type Transaction, sql } from '../database/database.ts';
import { resealSecrets, type SealedTable } from '../database/sealed-secrets.ts';
import { ServiceError } from '../errors.ts';
import type { SecretBox } from '../runtime/secret-box.ts';

/** Only somebody with the password or a session can enter codes, so the limit locks out nobody else. */
const wrongCodesPerHour = 10;
/** RFC 4226 recommends 160 bits. */
const secretBytes = 20;

export const authenticatorSecrets: SealedTable = {
  name: 'authenticators',
  key: 'user_id',
  columns: [{ name: 'secret', owner: (id) => id }],
};

type RightCode = { step: number; sealed: Buffer };
/** `reached`: this wrong code was the last one of the hour. */
type CodeCheck = RightCode | { wrong: true; reached: boolean };

/** With the addresses of accounts whose secret no key opens, in place of their ids. */
export async function resealAuthenticators(database: Database, secretBox: SecretBox) {
  const done = await resealSecrets(database, secretBox, authenticatorSecrets);
  const { rows } = await sql<{ email: string }>`
    select email from users where id = any(${done.unreadable}::uuid[]) order by id
  `.execute(database);
  return { ...done, unreadable: rows.map(({ email }) => email) };
}

/** Replaces one that was not confirmed. Returns null if there is a confirmed one. */
export async function setUpAuthenticator(
  database: Database,
  secretBox: SecretBox,
  userId: string,
): Promise<string | null> {
  const secret = toBase32(randomBytes(secretBytes));
  const { rows } = await sql`
    insert into authenticators (user_id, secret) values (${userId}, ${secretBox.seal(secret, userId)})
    on conflict (user_id) do update set secret = excluded.secret where authenticators.confirmed_at is null
    returning 1
  `.execute(database);
  return rows.length > 0 ? secret : null;
}

/**
 * Checks a code, with or without spaces and dashes, and does not use it up. Null if there is no such authenticator. Throws
 * `rate_limited` after too many wrong codes. `confirmed`: false for one that is being set up.
 */
export async function checkCode(
  database: Database,
  secretBox: SecretBox,
  { userId, code, confirmed = true }: { userId: string; code: string; confirmed?: boolean },
): Promise<CodeCheck | null> {
  const attempt = await countAttempt(database, userId, confirmed);
  if (attempt === null) return null;
  const { lastStep, wrongCodes } = attempt;
  const secret = openSecret(secretBox, attempt.secret, userId);
  const digitsGiven = code.replaceAll(/[\s-]/g, '');
  const step = matchingStep(secret, digitsGiven, { timeMs: Date.now(), lastStep });
  if (step !== null) return { step, sealed: attempt.secret };
  return { wrong: true, reached: wrongCodes === wrongCodesPerHour };
}

function openSecret(secretBox: SecretBox, sealed: Buffer, userId: string): string {
  try {
    return secretBox.open(sealed, userId);
  } catch (cause) {
    throw new ServiceError(
      'unavailable',
      'The service cannot read the key of this authenticator app. Use a passkey or a recovery code, or ask its operator.',
      // Only the operator changes that.
      { headers: { 'retry-after': '3600' }, cause },
    );
  }
}

type Attempt = { secret: Buffer; lastStep: number; wrongCodes: number };

/** Counts the code as wrong before it is checked, so that parallel guesses do not exceed the limit. */
async function countAttempt(
  database: Database,
  userId: string,
  confirmed: boolean,
): Promise<Attempt | null> {
  const { rows } = await sql<Attempt>`
    update authenticators set
      wrong_codes = case when wrong_since > now() - interval '1 hour' then wrong_codes else 0 end + 1,
      wrong_since = case when wrong_since > now() - interval '1 hour' then wrong_since else now() end
    where user_id = ${userId} and (confirmed_at is not null) = ${confirmed}
      and (wrong_codes < ${wrongCodesPerHour} or wrong_since <= now() - interval '1 hour')
    returning secret, last_step as "lastStep", wrong_codes as "wrongCodes"
  `.execute(database);
  if (rows[0]) return rows[0];
  const { rows: found } = await sql<{ seconds: number }>`
    select ceil(extract(epoch from wrong_since + interval '1 hour' - now()))::int8 as seconds
    from authenticators where user_id = ${userId} and (confirmed_at is not null) = ${confirmed}
  `.execute(database);
  if (!found[0]) return null;
  throw new ServiceError('rate_limited', 'Too many wrong codes.', {
    headers: { 'retry-after': String(Math.max(found[0].seconds, 1)) },
  });
}

/**
 * Uses up the code of this step, and all before it. Returns false if another request has used it, or has replaced the
 * secret that it belongs to.
 */
export async function useCode(
  tx: Transaction,
  userId: string,
  { step, sealed }: RightCode,
): Promise<boolean> {
  const { rows } = await sql`
    update authenticators set last_step = ${step}, wrong_codes = 0, wrong_since = null,
      confirmed_at = coalesce(confirmed_at, now())
    where user_id = ${userId} and secret = ${sealed} and last_step < ${step} returning 1
  `.execute(tx);
  return rows.length > 0;
}

/** When it was added; null if there is none. */
export async function readAuthenticator(executor: Executor, userId: string): Promise<Date | null> {
  const { rows } = await sql<{ confirmedAt: Date }>`
    select confirmed_at as "confirmedAt" from authenticators
    where user_id = ${userId} and confirmed_at is not null
  `.execute(executor);
  return rows[0]?.confirmedAt ?? null;
}

/** Returns false if there is none. */
export async function removeAuthenticator(tx: Transaction, userId: string): Promise<boolean> {
  const { rows } = await sql<{ confirmed: boolean }>`
    delete from authenticators where user_id = ${userId} returning confirmed_at is not null as confirmed
  `.execute(tx);
  return rows[0]?.confirmed ?? false;
}

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
