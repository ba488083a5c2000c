/** Codes that stand in for a lost second factor. Each works once. With 80 random bits, SHA-256 is enough to store them. */
import { randomInt } from 'node:crypto';
import { sql, type Executor, type Transaction } from '../database/database.ts';
import { digest } from './token.ts';

const codeCount = 10;
const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';
const charsPerCode = 16;

/** Replaces earlier codes. `abcd-efgh-ijkl-mnop`: in groups, as people copy them. */
export async function createRecoveryCodes(tx: Transaction, userId: string): Promise<string[]> {
  const codes = Array.from({ length: codeCount }, createCode);
  await sql`delete from recovery_codes where user_id = ${userId}`.execute(tx);
  for (const code of codes)
    await sql`
      insert into recovery_codes (user_id, hash) values (${userId}, ${digest(normalise(code))})
    `.execute(tx);
  return codes;
}

/** Uses the code up. Returns how many are left; null if it is not one of the user's. */
export async function takeRecoveryCode(
  tx: Transaction,
  userId: string,
  code: string,
): Promise<number | null> {
  const { rows } = await sql`
    delete from recovery_codes where user_id = ${userId} and hash = ${digest(normalise(code))} returning 1
  `.execute(tx);
  return rows.length === 0 ? null : countRecoveryCodes(tx, userId);
}

export async function countRecoveryCodes(executor: Executor, userId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from recovery_codes where user_id = ${userId}
  `.execute(executor);
  return rows[0]?.count ?? 0;
}

function createCode(): string {
  const characters = Array.from({ length: charsPerCode }, () => alphabet[randomInt(32)]).join('');
  return characters.replaceAll(/(.{4})(?=.)/g, '$1-');
}

/** However somebody types it: in upper case, with spaces or without dashes. */
function normalise(code: string): string {
  return code.toLowerCase().replaceAll(/[^a-z2-7]/g, '');
}
