/**
 * Links that set a password. A link goes to an address, so whoever opens it has the mailbox. It either creates the account
 * or resets its password: once the address has an account, a link that was to create one is worth nothing, because
 * whoever asked for it may be somebody else. Opening a link changes nothing; the password is sent by POST.
 */
import { sql, type Executor, type Transaction } from '../database/database.ts';
import { createToken, digest } from './token.ts';

/** `hasAccount`: the link resets the password of an account; otherwise it creates one. */
export type PasswordLink = { email: string; hasAccount: boolean };

const hoursValid = 1;
const expiry = sql`now() + ${hoursValid} * interval '1 hour'`;

/** A trigger records the purpose when a link is made; an account that was created or deleted since then ends it. */
const isUsable = sql`(
  expires_at > now()
  and creates_account = not exists (select from users where users.email = password_links.email)
)`;

/** Replaces an older link to the same address. `email`: as `normaliseEmail` gives it. */
export async function createPasswordLink(
  executor: Executor,
  email: string,
): Promise<{ token: string; hasAccount: boolean }> {
  const token = createToken();
  const { rows } = await sql<{ hasAccount: boolean }>`
    insert into password_links (email, hash, expires_at) values (${email}, ${digest(token)}, ${expiry})
    on conflict (email) do update set hash = excluded.hash, expires_at = excluded.expires_at
    returning not creates_account as "hasAccount"
  `.execute(executor);
  return { token, hasAccount: rows[0]?.hasAccount ?? false };
}

/**
 * Returns the token of a link that creates an account, or null if there is one. Never replaces a link that resets a
 * password, because anybody with an invitation can ask for this one.
 */
export async function createSignUpLink(executor: Executor, email: string): Promise<string | null> {
  const token = createToken();
  const { rows } = await sql`
    insert into password_links (email, hash, expires_at) select ${email}, ${digest(token)}, ${expiry}
    where not exists (select from users where email = ${email})
    -- The account, and then a link that resets it, may have been made since this statement began.
    on conflict (email) do update set hash = excluded.hash, expires_at = excluded.expires_at
      where password_links.creates_account or password_links.expires_at <= now()
    returning 1
  `.execute(executor);
  return rows.length > 0 ? token : null;
}

/** Null if the link was used, replaced or has expired, or its purpose has ended. */
export async function readPasswordLink(
  executor: Executor,
  token: string,
): Promise<PasswordLink | null> {
  const { rows } = await sql<PasswordLink>`
    select email, not creates_account as "hasAccount" from password_links
    where hash = ${digest(token)} and ${isUsable}
  `.execute(executor);
  return rows[0] ?? null;
}

/** Uses the link up. Null as `readPasswordLink`; of two requests with the same link, one gets null. */
export async function takePasswordLink(
  tx: Transaction,
  token: string,
): Promise<PasswordLink | null> {
  const { rows } = await sql<PasswordLink>`
    delete from password_links where hash = ${digest(token)} and ${isUsable}
    returning email, not creates_account as "hasAccount"
  `.execute(tx);
  return rows[0] ?? null;
}
