/**
 * Links that change the address of an account. A link goes to the new address, and works only in a session of the
 * account that asked for it. So it proves that whoever has the account also has the mailbox: nobody can lure the owner of
 * a mailbox into confirming it for somebody else's account.
 */
import { linkHours } from '../contract/periods.ts';
import { sql, violatedConstraint, type Executor, type Transaction } from '../database/database.ts';
import { ServiceError } from '../errors.ts';
import type { Account } from './activity.ts';
import { createToken, digest } from './token.ts';

/** Replaces an older link of the account. `isTaken`: whether the address has an account; then nobody may get the token. */
export async function createAddressChange(
  tx: Transaction,
  userId: string,
  email: string,
): Promise<{ token: string; isTaken: boolean }> {
  const token = createToken();
  const { rows } = await sql<{ isTaken: boolean }>`
    insert into address_changes (user_id, email, hash, expires_at)
    values (${userId}, ${email}, ${digest(token)}, now() + ${linkHours} * interval '1 hour')
    on conflict (user_id) do update set email = excluded.email, hash = excluded.hash, expires_at = excluded.expires_at
    returning exists (select from users where users.email = address_changes.email) as "isTaken"
  `.execute(tx);
  return { token, isTaken: rows[0]?.isTaken ?? true };
}

/** The new address; null if the link is not of this account, or was used, replaced or has expired. */
export async function readAddressChange(
  executor: Executor,
  userId: string,
  token: string,
): Promise<string | null> {
  const { rows } = await sql<{ email: string }>`
    select email from address_changes
    where user_id = ${userId} and hash = ${digest(token)} and expires_at > now()
  `.execute(executor);
  return rows[0]?.email ?? null;
}

/**
 * Uses the link up and changes the address. Null as `readAddressChange`; of two requests with one link, one gets null.
 * Links that set a password end with the change, because they belong to an address. Throws `conflict` if the new address
 * got an account meanwhile.
 */
export async function takeAddressChange(
  tx: Transaction,
  account: Account,
  token: string,
): Promise<string | null> {
  const email = await readAddressChange(tx, account.id, token);
  if (email === null) return null;
  // Locks in the order of a password reset: first its link, then the user.
  await sql`delete from password_links where email in (${account.email}, ${email})`.execute(tx);
  const user = await sql`
    select from users where id = ${account.id} and email = ${account.email} for update
  `.execute(tx);
  const used = await sql`
    delete from address_changes where user_id = ${account.id} and hash = ${digest(token)} returning 1
  `.execute(tx);
  if (user.rows.length === 0 || used.rows.length === 0) return null;
  await writeAddress(tx, account.id, email);
  return email;
}

async function writeAddress(tx: Transaction, userId: string, email: string): Promise<void> {
  try {
    await sql`
      update users set email = ${email}, updated_at = now() where id = ${userId}
    `.execute(tx);
  } catch (error) {
    if (violatedConstraint(error) !== 'users_email_key') throw error;
    throw new ServiceError('conflict', 'Another account has this address.', {
      cause: error,
    });
  }
}
