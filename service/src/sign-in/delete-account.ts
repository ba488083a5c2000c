import type { Actor } from '../access/actor.ts';
import { leaveApps } from '../access/leave-apps.ts';
import { sql, type Transaction } from '../database/database.ts';
import { ServiceError } from '../errors.ts';
import { recordActivity, type Account } from './activity.ts';
import type { Caller } from './caller.ts';
import { holdSession } from './sessions.ts';

/**
 * Deletes an account with its sessions, ways to sign in and links. `apps`: the ids of the apps that the user agrees to
 * delete. `caller`: null for an operator, who is then the `actor`. Throws as `leaveApps`, `unauthorized` if the session that
 * asks has ended, and `conflict` if the account is deleted or its address changed at this moment.
 */
export async function deleteAccount(
  tx: Transaction,
  account: Account & { sessionId?: string },
  apps: string[],
  caller: Caller | null,
  actor: Actor = { kind: 'user', id: account.id, name: account.email },
): Promise<void> {
  // Locks in the order of a password reset: first its link, then the user.
  await sql`delete from password_links where email = ${account.email}`.execute(tx);
  const { rows } = await sql`
    select from users where id = ${account.id} and email = ${account.email} for update
  `.execute(tx);
  if (rows.length === 0)
    throw new ServiceError('conflict', 'The account has changed. Sign in again.');
  if (account.sessionId !== undefined) await holdSession(tx, account.sessionId);
  await leaveApps(tx, actor, account.email, apps);
  await recordActivity(tx, 'account.deleted', account, caller, { actor });
  await sql`delete from users where id = ${account.id}`.execute(tx);
}
