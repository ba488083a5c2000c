/**
 * Invitations to become a member of an app. An invitation is for an address: whoever signs in with that address accepts
 * or declines it. The token in the mailed link shows the invitation to somebody who has no account yet. Triggers write
 * the audit log.
 */
import { v7 as uuidv7 } from 'uuid';
import type { AppRole } from '../contract/app-roles.ts';
import { invitationDays } from '../contract/periods.ts';
import { sql, violatedConstraint, type Executor, type Transaction } from '../database/database.ts';
import { ServiceError } from '../errors.ts';
import type { Actor } from './actor.ts';
import { nameActor } from './audit-log.ts';
import { endInvitation, insertMember } from './members.ts';
import { lockApp, lockWithRole } from './require-role.ts';
import { requireNotSuspended } from './suspensions.ts';

export type Invitation = {
  id: string;
  email: string;
  role: AppRole;
  /** The address of the owner. */
  invitedBy: string;
  createdAt: Date;
  expiresAt: Date;
};
/** As the invited person sees it. */
export type OwnInvitation = Invitation & { appName: string };

/** docs/reference/errors-and-limits.md#keys-apps-and-the-portal */
export const invitationsPerAppMax = 20;
export const invitationMailsPerHour = 20;

const columns = sql`
  i.id, i.email, i.role, i.invited_by as "invitedBy", i.created_at as "createdAt", i.expires_at as "expiresAt"
`;

/** Returns the valid invitations of an app, oldest first. */
export async function listInvitations(executor: Executor, appId: string): Promise<Invitation[]> {
  const { rows } = await sql<Invitation>`
    select ${columns} from app_invitations i where app_id = ${appId} and expires_at > now() order by id
  `.execute(executor);
  return rows;
}

/** Returns the valid invitations of an address, oldest first, those after `last`. */
export async function listOwnInvitations(
  executor: Executor,
  email: string,
  limit: number,
  last: OwnInvitation | null = null,
): Promise<OwnInvitation[]> {
  const { rows } = await sql<OwnInvitation>`
    select ${columns}, a.name as "appName" from app_invitations i join apps a on a.id = i.app_id
    where i.email = ${email} and i.expires_at > now() and ${last ? sql`i.id > ${last.id}` : sql`true`}
    order by i.id limit ${limit}
  `.execute(executor);
  return rows;
}

/** Returns the valid invitation with this token's hash, or null. */
export async function findInvitation(
  executor: Executor,
  hash: Buffer,
): Promise<OwnInvitation | null> {
  const { rows } = await sql<OwnInvitation>`
    select ${columns}, a.name as "appName" from app_invitations i join apps a on a.id = i.app_id
    where i.hash = ${hash} and i.expires_at > now()
  `.execute(executor);
  return rows[0] ?? null;
}

export type NewInvitation = {
  appId: string;
  /** The address of the owner who invites. */
  by: string;
  /** As `normaliseEmail` gives it. */
  email: string;
  role: AppRole;
  /** SHA-256 of the token. */
  hash: Buffer;
};

/** Throws as `lockWithRole`, and `conflict` for a member, for an address that is invited already, and at a limit. */
export async function createInvitation(
  tx: Transaction,
  actor: Actor,
  { appId, by, email, role, hash }: NewInvitation,
): Promise<Invitation> {
  await nameActor(tx, actor);
  await lockWithRole(tx, by, appId, 'owner');
  await sql`delete from app_invitations where app_id = ${appId} and expires_at <= now()`.execute(
    tx,
  );
  const { rows: members } = await sql`
    select from app_members where app_id = ${appId} and email = ${email}
  `.execute(tx);
  if (members.length > 0) throw new ServiceError('conflict', `${email} is already a member.`);
  if ((await listInvitations(tx, appId)).length >= invitationsPerAppMax)
    throw new ServiceError(
      'conflict',
      `An app can have at most ${invitationsPerAppMax} invitations. Revoke one first.`,
    );
  await enforceMailLimit(tx, appId);
  try {
    const { rows } = await sql<Invitation>`
      insert into app_invitations as i (id, app_id, email, role, invited_by, hash, expires_at)
      values (${uuidv7()}, ${appId}, ${email}, ${role}, ${by}, ${hash}, now() + ${invitationDays} * interval '1 day')
      returning ${columns}
    `.execute(tx);
    return requireRow(rows);
  } catch (error) {
    if (violatedConstraint(error) !== 'app_invitations_app_id_email_key') throw error;
    throw new ServiceError(
      'conflict',
      `${email} is already invited. Resend the invitation, or revoke it first.`,
      { cause: error },
    );
  }
}

/** Replaces the token and starts the validity again. Throws as `lockWithRole`, and `conflict` at a limit. */
export async function resendInvitation(
  tx: Transaction,
  actor: Actor,
  { appId, by, id, hash }: { appId: string; by: string; id: string; hash: Buffer },
): Promise<Invitation> {
  await nameActor(tx, actor);
  await lockWithRole(tx, by, appId, 'owner');
  await enforceMailLimit(tx, appId);
  const { rows } = await sql<Invitation>`
    update app_invitations i set hash = ${hash}, expires_at = now() + ${invitationDays} * interval '1 day'
    where id = ${id} and app_id = ${appId} and expires_at > now() returning ${columns}
  `.execute(tx);
  return requireRow(rows);
}

/** The audit log has every mail, also those of invitations that have ended. */
async function enforceMailLimit(tx: Transaction, appId: string): Promise<void> {
  const { rows } = await sql<{ count: number }>`
    select count(*) from audit_log
    where app_id = ${appId} and at > now() - interval '1 hour'
      and action in ('invitation.created', 'invitation.resent')
  `.execute(tx);
  if ((rows[0]?.count ?? 0) < invitationMailsPerHour) return;
  throw new ServiceError(
    'rate_limited',
    `Rate limit exceeded: ${invitationMailsPerHour} invitations per hour.`,
    {
      headers: { 'retry-after': '3600' },
    },
  );
}

/** Throws as `lockWithRole`. */
export async function revokeInvitation(
  tx: Transaction,
  actor: Actor,
  { appId, by, id }: { appId: string; by: string; id: string },
): Promise<void> {
  await nameActor(tx, actor);
  await lockWithRole(tx, by, appId, 'owner');
  const { rows } = await sql<{ id: string }>`
    delete from app_invitations where id = ${id} and app_id = ${appId} returning id
  `.execute(tx);
  requireRow(rows);
}

/** Makes the invited person a member, ends the invitation, and returns the id of the app. Throws `not_found`, and `conflict` at a limit. */
export async function acceptInvitation(
  tx: Transaction,
  actor: Actor,
  { id, email }: { id: string; email: string },
): Promise<string> {
  await nameActor(tx, actor);
  const { appId } = await readInvited(tx, id, email);
  await lockApp(tx, appId);
  await requireNotSuspended(tx, 'app', appId, null);
  // Again, because it may have been revoked before the lock.
  const { role } = await readInvited(tx, id, email);
  await insertMember(tx, { appId, email, role });
  await endInvitation(tx, appId, email);
  return appId;
}

async function readInvited(
  tx: Transaction,
  id: string,
  email: string,
): Promise<{ appId: string; role: AppRole }> {
  const { rows } = await sql<{ appId: string; role: AppRole }>`
    select app_id as "appId", role from app_invitations
    where id = ${id} and email = ${email} and expires_at > now()
  `.execute(tx);
  return requireRow(rows);
}

/** Throws `not_found`. */
export async function declineInvitation(
  tx: Transaction,
  actor: Actor,
  { id, email }: { id: string; email: string },
): Promise<void> {
  await nameActor(tx, actor);
  const { rows } = await sql<{ id: string }>`
    delete from app_invitations where id = ${id} and email = ${email} and expires_at > now() returning id
  `.execute(tx);
  requireRow(rows);
}

function requireRow<T>([row]: T[]): T {
  if (!row) throw new ServiceError('not_found');
  return row;
}
