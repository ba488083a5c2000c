/**
 * Links that set a password. A link goes to an address, so whoever opens it has the mailbox: they choose the password of
 * the account, and create the account if there is none. Opening a link changes nothing; the password is sent by POST.
 */
import { sql, type Database, type Executor, type Transaction } from '../database/database.ts';
import { createToken, digest } from './token.ts';

export type PasswordLink = { email: string; hasAccount: boolean };

const hoursValid = 1;

/** Replaces an older link to the same address. `email`: as `normaliseEmail` gives it. */
export async function createPasswordLink(
  executor: Executor,
  email: string,
): Promise<{ token: string; hasAccount: boolean }> {
  const token = createToken();
  const { rows } = await sql<{ hasAccount: boolean }>`
    insert into password_links (email, hash, expires_at)
    values (${email}, ${digest(token)}, now() + ${hoursValid} * interval '1 hour')
    on conflict (email) do update set hash = excluded.hash, expires_at = excluded.expires_at
    returning exists (select from users where users.email = password_links.email) as "hasAccount"
  `.execute(executor);
  return { token, hasAccount: rows[0]?.hasAccount ?? false };
}

/** Null if the link was used, replaced or has expired. */
export async function readPasswordLink(
  database: Database,
  token: string,
): Promise<PasswordLink | null> {
  const { rows } = await sql<PasswordLink>`
    select email, exists (select from users where users.email = password_links.email) as "hasAccount"
    from password_links where hash = ${digest(token)} and expires_at > now()
  `.execute(database);
  return rows[0] ?? null;
}

/** Uses the link up, and returns its address. Of two requests with the same link, one gets null. */
export async function takePasswordLink(tx: Transaction, token: string): Promise<string | null> {
  const { rows } = await sql<{ email: string }>`
    delete from password_links where hash = ${digest(token)} and expires_at > now() returning email
  `.execute(tx);
  return rows[0]?.email ?? null;
}
