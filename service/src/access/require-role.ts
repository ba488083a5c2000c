/** Checks what somebody may do with an app. For those who are no members, the app does not exist. */
import { includesRole, type AppRole } from '../contract/app-roles.ts';
import {
  sql,
  type Executor,
  type LeftJoined,
  type Transaction,
  asUuid,
} from '../database/database.ts';
import { ServiceError } from '../errors.ts';
import type { Actor } from './actor.ts';
import { refuseSuspended, suspensionOf, type Suspension } from './suspensions.ts';

/**
 * Returns the member's role. Throws `not_found` for others, `forbidden` if the role has fewer rights than `needed`, and
 * `suspended` if the app is suspended and more than reading is needed.
 */
export async function requireRole(
  executor: Executor,
  email: string,
  appId: string,
  needed: AppRole,
): Promise<AppRole> {
  const { rows } = await sql<{ role: AppRole } & LeftJoined<Suspension>>`
    select m.role, s."suspendedAt", s."suspendedReason" from app_members m
    left join lateral ${suspensionOf('app', sql`m.app_id`)} s on true
    where m.app_id = ${appId} and m.email = ${email}
  `.execute(executor);
  const [member] = rows;
  if (!member) throw new ServiceError('not_found');
  if (includesRole(member.role, needed)) {
    if (needed !== 'viewer') refuseSuspended('app', member);
    return member.role;
  }
  throw new ServiceError('forbidden', `Only ${whoCan[needed]} can do this.`);
}

const whoCan = { viewer: 'members', developer: 'owners and developers', owner: 'owners' };

/**
 * Locks the app, as each change of its members and invitations does first, so that the role lasts until the end of the
 * transaction. Throws as `requireRole`.
 */
export async function lockWithRole(
  tx: Transaction,
  email: string,
  appId: string,
  needed: AppRole,
): Promise<void> {
  await lock(tx, appId);
  await requireRole(tx, email, appId, needed);
}

/**
 * Keeps a member's role until the end of the transaction, without a lock of the app, which some transactions would have to
 * take too late: whoever locks webhooks and their app locks the webhooks first. Throws as `requireRole`.
 */
export async function holdRole(
  tx: Transaction,
  email: string,
  appId: string,
  needed: AppRole,
): Promise<void> {
  await sql`
    select from app_members where app_id = ${appId} and email = ${email} for share
  `.execute(tx);
  await requireRole(tx, email, appId, needed);
}

/**
 * Keeps the account and its address until the end of the transaction. Otherwise a request that began before the account
 * was deleted, or its address changed, gives the app to whoever has the address next. Throws `unauthorized`.
 */
export async function holdAccount(tx: Transaction, { id, name: email }: Actor): Promise<void> {
  const { rows } = await sql`
    select from users where id = ${id} and email = ${email} for key share
  `.execute(tx);
  if (rows.length === 0) throw new ServiceError('unauthorized', 'Sign in first.');
}

/** Throws `not_found`. */
export async function lockApp(tx: Transaction, appId: string): Promise<void> {
  if (await lock(tx, appId)) return;
  throw new ServiceError('not_found', `There is no app with the id ${appId}.`);
}

async function lock(tx: Transaction, appId: string): Promise<boolean> {
  const { rows } = await sql`
    select from apps where id = ${asUuid(appId)} for update
  `.execute(tx);
  return rows.length > 0;
}
