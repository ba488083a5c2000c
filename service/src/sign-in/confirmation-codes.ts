/** Mailed codes with which a session confirms: one at a time for each session, for ten minutes and five tries. */
import { randomInt } from 'node:crypto';
import { sql, type Database } from '../database/database.ts';
import { digest } from './token.ts';

const minutesValid = 10;
const triesMax = 5;
const digits = 8;

/** Replaces an earlier code of the session. */
export async function createConfirmationCode(
  database: Database,
  sessionId: string,
): Promise<string> {
  const code = String(randomInt(10 ** digits)).padStart(digits, '0');
  await sql`
    insert into confirmation_codes (session_id, hash, expires_at)
    values (${sessionId}, ${hashOf(sessionId, code)}, now() + ${minutesValid} * interval '1 minute')
    on conflict (session_id) do update set hash = excluded.hash, expires_at = excluded.expires_at, tries = 0
  `.execute(database);
  return code;
}

/** Uses the code up if it is right; otherwise counts the try. */
export async function takeConfirmationCode(
  database: Database,
  sessionId: string,
  code: string,
): Promise<boolean> {
  // Counted before the comparison, so that parallel guesses do not exceed the limit.
  const { rows } = await sql<{ hash: Buffer }>`
    update confirmation_codes set tries = tries + 1
    where session_id = ${sessionId} and expires_at > now() and tries < ${triesMax} returning hash
  `.execute(database);
  const hash = hashOf(sessionId, code);
  if (!rows[0]?.hash.equals(hash)) return false;
  const { rows: taken } = await sql`
    delete from confirmation_codes where session_id = ${sessionId} and hash = ${hash} returning 1
  `.execute(database);
  return taken.length > 0;
}

function hashOf(sessionId: string, code: string): Buffer {
  return digest(`${sessionId} ${code.replaceAll(/\D/g, '')}`);
}
