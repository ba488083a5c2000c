/**
 * The members of apps, by email address. Triggers write their changes to the audit log, end what depends on an owner who
 * stops being one (bindings, invitations), and refuse to leave an app without an owner:
 * `migrations/0002_baseline_access.sql`.
 */
import type { AppRole } from '../contract/app-roles.ts';
import {
  sql,
  violatedConstraint,
  type Executor,
  type Transaction,
  asUuid,
} from '../database/database.ts';
import { ServiceError } from '../errors.ts';
import type { Actor } from './actor.ts';
import { nameActor } from './audit-log.ts';
import { normaliseEmail } from './email.ts';
import { enforceQuota } from './quotas.ts';
import { lockApp } from './require-role.ts';

export type Member = {
  id: string;
  email: string;
  /** The name of the account; null if there is no account with this address. */
  name: string | null;
  role: AppRole;
  createdAt: Date;
};

/** docs/reference/errors-and-limits.md#keys-apps-and-the-portal */
export const ownedAppsMax = 10;
export const appsPerMemberMax = 100;

/** Returns the members of an app, owners first. */
export async function listMembers(executor: Executor, appId: string): Promise<Member[]> {
  const { rows } = await sql<Member>`
    select m.id, m.email, u.name, m.role, m.created_at as "createdAt"
    from app_members m left join users u on u.email = m.email
    where m.app_id = ${asUuid(appId)}
    order by array_position(array['owner', 'developer', 'viewer'], m.role), m.email
  `.execute(executor);
  return rows;
}

/** Returns one member. Throws `not_found`. */
export async function readMember(executor: Executor, appId: string, id: string): Promise<Member> {
  const member = (await listMembers(executor, appId)).find((each) => each.id === id);
  if (!member) throw new ServiceError('not_found');
  return member;
}

type NewMember = { appId: string; email: string; role: AppRole };

/**
 * Adds a member, or changes the role of one. Returns false if the member has that role already. Throws `not_found`,
 * `validation_failed`, and `conflict` at a limit or for the last owner.
 */
export async function setMember(
  tx: Transaction,
  actor: Actor,
  { appId, role, ...given }: NewMember,
): Promise<boolean> {
  const email = normaliseEmail(given.email);
  await nameActor(tx, actor);
  await lockApp(tx, appId);
  const member = (await listMembers(tx, appId)).find((each) => each.email === email);
  if (!member) {
    await insertMember(tx, { appId, email, role });
    await endInvitation(tx, appId, email);
    return true;
  }
  return setRole(tx, appId, member, role);
}

/** Inserts a member. The caller has locked the app, and ends an invitation of the address. Throws `conflict`. */
export async function insertMember(
  tx: Transaction,
  { appId, email, role }: NewMember,
): Promise<void> {
  await enforceQuota(tx, appId, 'members');
  await enforceAppLimits(tx, email, role);
  await sql`
    insert into app_members (app_id, email, role) values (${appId}, ${email}, ${role})
  `.execute(tx);
}

/** Deletes the invitation of an address that has become a member. */
export async function endInvitation(tx: Transaction, appId: string, email: string): Promise<void> {
  await sql`delete from app_invitations where app_id = ${appId} and email = ${email}`.execute(tx);
}

/** Changes the role of a member. Throws `not_found`, and `conflict` at a limit or for the last owner. */
export async function changeRole(
  tx: Transaction,
  actor: Actor,
  { appId, memberId, role }: { appId: string; memberId: string; role: AppRole },
): Promise<void> {
  await nameActor(tx, actor);
  await lockApp(tx, appId);
  await setRole(tx, appId, await readMember(tx, appId, memberId), role);
}

/** Makes a member an owner and the owner `from` a developer. Throws `not_found`, `conflict`. */
export async function transferApp(
  tx: Transaction,
  actor: Actor,
  { appId, from, memberId }: { appId: string; from: string; memberId: string },
): Promise<void> {
  await nameActor(tx, actor);
  await lockApp(tx, appId);
  const members = await listMembers(tx, appId);
  const next = members.find(({ id }) => id === memberId.toLowerCase());
  const previous = members.find(({ email }) => email === from);
  if (!next || !previous) throw new ServiceError('not_found');
  if (next === previous)
    throw new ServiceError('conflict', 'You cannot transfer the app to yourself.');
  await setRole(tx, appId, next, 'owner');
  await setRole(tx, appId, previous, 'developer');
}

async function setRole(
  tx: Transaction,
  appId: string,
  member: Member,
  role: AppRole,
): Promise<boolean> {
  if (member.role === role) return false;
  if (role === 'owner') rejectAtOwnerLimit(member.email, (await countApps(tx, member.email)).owned);
  await orConflict(
    sql`update app_members set role = ${role} where app_id = ${appId} and id = ${member.id}`.execute(
      tx,
    ),
  );
  return true;
}

/** Removes the member with this address. Returns false if there is none. Throws `conflict` for the last owner. */
export async function removeMember(
  tx: Transaction,
  actor: Actor,
  { appId, email }: { appId: string; email: string },
): Promise<boolean> {
  await nameActor(tx, actor);
  await lockApp(tx, appId);
  const { rows } = await orConflict(
    sql`
      delete from app_members where app_id = ${asUuid(appId)} and email = ${normaliseEmail(email)} returning 1
    `.execute(tx),
  );
  return rows.length > 0;
}

/** Throws `conflict` if a change would leave an app without an owner. */
async function orConflict<T>(change: Promise<T>): Promise<T> {
  try {
    return await change;
  } catch (error) {
    if (violatedConstraint(error) !== 'apps_have_an_owner') throw error;
    throw new ServiceError(
      'conflict',
      'An app needs an owner. Make another member an owner first, or delete the app.',
      { cause: error },
    );
  }
}

/** Sets whether a member gets mail about failing webhooks. */
export async function setFailureMails(
  executor: Executor,
  { appId, email, wanted }: { appId: string; email: string; wanted: boolean },
): Promise<void> {
  await sql`
    update app_members set failure_mails = ${wanted} where app_id = ${appId} and email = ${email}
  `.execute(executor);
}

/** Throws `conflict` if somebody is a member or owner of as many apps as one may be. */
export async function enforceAppLimits(
  tx: Transaction,
  email: string,
  role: AppRole,
): Promise<void> {
  const { all, owned } = await countApps(tx, email);
  if (role === 'owner') rejectAtOwnerLimit(email, owned);
  if (all >= appsPerMemberMax)
    throw new ServiceError(
      'conflict',
      `A user can be a member of at most ${appsPerMemberMax} apps. ${email} must leave one first.`,
    );
}

async function countApps(tx: Transaction, email: string): Promise<{ owned: number; all: number }> {
  // Prevents two simultaneous requests from both reaching the limit.
  await sql`select pg_advisory_xact_lock(70420005, hashtext(${email}))`.execute(tx);
  const { rows } = await sql<{ owned: number; all: number }>`
    select count(*) filter (where role = 'owner') as owned, count(*) as all from app_members where email = ${email}
  `.execute(tx);
  return rows[0] ?? { owned: 0, all: 0 };
}

function rejectAtOwnerLimit(email: string, owned: number): void {
  if (owned < ownedAppsMax) return;
  throw new ServiceError(
    'conflict',
    `A user can own at most ${ownedAppsMax} apps. ${email} must transfer or delete one first.`,
  );
}
