/** Writes the password of an account, and creates the account if there is none with this address. */
import { v7 as uuidv7 } from 'uuid';
import { sql, type Database, type Executor, type Transaction } from '../database/database.ts';
import { invalid } from '../errors.ts';
import { endSessions } from './sessions.ts';

export type NewPassword = {
  /** As `normaliseEmail` gives it. The caller has proof that it belongs to whoever chose the password. */
  email: string;
  /** Whether the password is for the account of this address; otherwise for a new one. */
  hasAccount: boolean;
  /** For a new account. */
  name: string | null;
  hash: string;
};
export type PasswordSet = { userId: string; created: boolean; endedSessions: number };

/**
 * Ends all sessions of the account, and a change of its address that one of them asked for. Returns null if the account
 * was deleted at this moment, or a provider created the one that was to be new. Throws `validation_failed` if a new account has no name.
 */
export async function setPassword(
  tx: Transaction,
  { email, hasAccount, name, hash }: NewPassword,
): Promise<PasswordSet | null> {
  const userId = hasAccount
    ? await lockUser(tx, email)
    : await createUser(tx, email, requireName(name));
  if (userId === null) return null;
  await writePassword(tx, userId, hash);
  // One of the sessions that end here asked for it.
  await sql`delete from address_changes where user_id = ${userId}`.execute(tx);
  const endedSessions = await endSessions(tx, userId, null);
  return { userId, created: !hasAccount, endedSessions };
}

/** Throws `validation_failed` if there is none. */
export function requireName(name: string | null): string {
  if (name !== null) return name;
  throw invalid({ path: 'body.name', message: 'is required for a new account' });
}

async function lockUser(tx: Transaction, email: string): Promise<string | null> {
  const { rows } = await sql<{ id: string }>`
    select id from users where email = ${email} for update
  `.execute(tx);
  return rows[0]?.id ?? null;
}

async function createUser(tx: Transaction, email: string, name: string): Promise<string | null> {
  const { rows } = await sql<{ id: string }>`
    insert into users (id, name, email, email_verified) values (${uuidv7()}, ${name}, ${email}, true)
    on conflict (email) do nothing returning id
  `.execute(tx);
  return rows[0]?.id ?? null;
}

export async function writePassword(tx: Transaction, userId: string, hash: string): Promise<void> {
  await sql`
    insert into accounts (id, user_id, provider_id, account_id, password)
    values (${uuidv7()}, ${userId}, 'credential', ${userId}, ${hash})
    on conflict (provider_id, account_id) do update set password = excluded.password, updated_at = now()
  `.execute(tx);
}

/** The stored hash; null if there is no such account, or it has no password. */
export async function readPassword(executor: Executor, email: string): Promise<string | null> {
  const { rows } = await sql<{ password: string }>`
    select a.password from accounts a join users u on u.id = a.user_id
    where u.email = ${email} and a.provider_id = 'credential'
  `.execute(executor);
  return rows[0]?.password ?? null;
}

/** The stored hash, which nobody else changes until the transaction ends. */
export async function lockPassword(tx: Transaction, userId: string): Promise<string | null> {
  const { rows } = await sql<{ password: string }>`
    select password from accounts where user_id = ${userId} and provider_id = 'credential' for update
  `.execute(tx);
  return rows[0]?.password ?? null;
}

/**
 * Ends a session that has just begun with a password if that password was replaced meanwhile, and returns whether it
 * stays. `hash`: the stored one before the password was checked.
 */
export async function confirmSession(
  database: Database,
  { userId, token, hash }: { userId: string; token: string; hash: string | null },
): Promise<boolean> {
  // Waits for a running change: it ends only the sessions that it saw, and this one may be too new for that.
  const { rows } = await sql<{ password: string }>`
    select password from accounts where user_id = ${userId} and provider_id = 'credential' for share
  `.execute(database);
  if (hash !== null && rows[0]?.password === hash) return true;
  await sql`delete from sessions where token = ${token}`.execute(database);
  return false;
}
