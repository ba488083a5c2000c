/**
 * Records who changed what and when: one entry per change, written in its transaction and never changed later. Triggers
 * write the entries of managers, bindings, members and invitations, because a foreign key may end them; `nameActor` names
 * the actor for these.
 */
import {
  type Database,
  type Transaction,
  sql,
  pageOf,
  type Executor,
  type LeftJoined,
} from '../database/database.ts';
import type { Actor } from './actor.ts';
import type { PortalAuditEntry } from '../contract/portal.ts';
import { withTextTimes } from '../contract/parse-time.ts';

export const auditActions = [
  'account.address_changed',
  'account.address_requested',
  'account.authenticator_added',
  'account.authenticator_removed',
  'account.created',
  'account.deleted',
  'account.link_created',
  'account.method_added',
  'account.method_removed',
  'account.name_changed',
  'account.passkey_added',
  'account.passkey_removed',
  'account.passkey_renamed',
  'account.password_changed',
  'account.recovery_codes_created',
  'account.restored',
  'account.second_factor_asked',
  'account.second_factor_removed',
  'account.sessions_ended',
  'account.sign_in_failed',
  'account.signed_in',
  'account.signed_out',
  'account.suspended',
  'announcement.created',
  'announcement.ended',
  'app.created',
  'app.changed',
  'app.deleted',
  'app.quotas_changed',
  'app.restored',
  'app.suspended',
  'binding.created',
  'binding.ended',
  'entry.changed',
  'entry.created',
  'entry.deleted',
  'event.dropped',
  'event.retried',
  'invitation.created',
  'invitation.ended',
  'invitation.resent',
  'key.created',
  'key.restored',
  'key.revoked',
  'key.rotated',
  'key.suspended',
  'manager.added',
  'manager.removed',
  'member.added',
  'member.removed',
  'member.role_changed',
  'operator.added',
  'operator.removed',
  'sync.started',
  'webhook.created',
  'webhook.changed',
  'webhook.deleted',
  'webhook.deactivated',
  'webhook.reactivated',
  'webhook.secret_rotated',
  'webhook.recovered',
  'webhook.probed',
  'webhook.replayed',
  'webhook.restored',
  'webhook.suspended',
  'webhook.url_revealed',
  'signup.blocked',
  'signup.unblocked',
  'maintenance.enabled',
  'maintenance.changed',
  'maintenance.disabled',
] as const;
export type AuditAction = (typeof auditActions)[number];
type SubjectKind =
  | 'account'
  | 'announcement'
  | 'app'
  | 'event'
  | 'invitation'
  | 'key'
  | 'member'
  | 'signup'
  | 'sync'
  | 'organization'
  | 'alliance'
  | 'blueprint'
  | 'webhook'
  | 'maintenance';

export type AuditEntry = {
  id: number;
  at: Date;
  actor: Actor;
  action: AuditAction;
  subject: { kind: SubjectKind; id: string | null };
  appId: string | null;
  details: Record<string, unknown>;
};

/** Never a secret, and only the host of a URL: the rest may contain the owner's token. */
type NewAuditEntry = Pick<AuditEntry, 'action' | 'subject' | 'appId' | 'details'>;

/** The most entries that `listAudit` returns. */
export const auditEntriesMax = 1_000;

/** Writes entries in the transaction of their changes. */
export async function recordAudit(
  tx: Transaction,
  actor: Actor,
  ...entries: NewAuditEntry[]
): Promise<void> {
  await sql`
    insert into audit_log (actor_kind, actor_id, actor_name, action, subject_kind, subject_id, app_id, details)
    select ${actor.kind}, ${actor.id}, ${actor.name}, e.action, e.subject->>'kind', e.subject->>'id', e."appId", e.details
    from jsonb_to_recordset(${JSON.stringify(entries)}::jsonb)
      as e(action text, subject jsonb, "appId" uuid, details jsonb)
  `.execute(tx);
}

/** Until the end of the transaction, entries that triggers write name this actor. */
export async function nameActor(tx: Transaction, actor: Actor): Promise<void> {
  await sql`select set_config('orgdir.actor', ${JSON.stringify(actor)}, true)`.execute(tx);
}

type AuditFilter = {
  /** A kind of actor, or an actor's id or name. */
  actor: string | null;
  /** An action, or the part before its dot. */
  action: string | null;
  subjectId: string | null;
  appId: string | null;
  since: Date | null;
  /** Only those after this one in the list: its id. */
  before?: number | null;
  limit: number;
};

/** Newest first. */
export async function listAudit(database: Database, filter: AuditFilter): Promise<AuditEntry[]> {
  const { actor, action, subjectId, appId, since, before = null, limit } = filter;
  const { rows } = await sql<AuditEntry>`
    select id, at, jsonb_build_object('kind', actor_kind, 'id', actor_id, 'name', actor_name) as actor, action,
      jsonb_build_object('kind', subject_kind, 'id', subject_id) as subject, app_id as "appId", details
    from audit_log
    where ${actor === null ? sql`true` : sql`${actor}::text in (actor_kind, actor_id, actor_name)`}
      and ${action === null ? sql`true` : sql`action = any(${actionsOf(action)}::text[])`}
      and ${subjectId === null ? sql`true` : sql`subject_id = ${subjectId}`}
      and ${appId === null ? sql`true` : sql`app_id = ${appId}::uuid`}
      and ${before === null ? sql`true` : sql`(at, id) < (select at, id from audit_log where id = ${before})`}
      and ${since === null ? sql`true` : sql`at >= ${since.toISOString()}::timestamptz`}
    order by at desc, id desc limit ${Math.min(limit, auditEntriesMax)}
  `.execute(database);
  return rows;
}

/** The action itself, also one that only another version knows, or all of its group. */
function actionsOf(action: string): string[] {
  return [action, ...auditActions.filter((each) => each.startsWith(`${action}.`))];
}

export type UserEntry = Pick<AuditEntry, 'id' | 'at' | 'action' | 'subject' | 'appId' | 'details'>;

/**
 * Newest first, those older than `last`. `account`: entries about the account. `changes`: the user's entries about anything
 * else.
 */
export async function listUserEntries(
  database: Database,
  userId: string,
  kind: 'account' | 'changes',
  last: UserEntry | null,
  limit: number,
): Promise<UserEntry[]> {
  const isWanted =
    kind === 'account'
      ? sql`subject_kind = 'account' and subject_id = ${userId}`
      : sql`actor_kind = 'user' and actor_id = ${userId} and subject_kind <> 'account'`;
  const isOlder = last ? sql`(at, id) < (${last.at}, ${last.id})` : sql`true`;
  const { rows } = await sql<UserEntry>`
    select id, at, action, jsonb_build_object('kind', subject_kind, 'id', subject_id) as subject, app_id as "appId", details
    from audit_log where ${isWanted} and ${isOlder} order by at desc, id desc limit ${limit}
  `.execute(database);
  return rows;
}

type Row = Omit<PortalAuditEntry, 'at'> & { at: Date };

/**
 * Reads the log of a member's apps, and of deleted apps for their last owners: one page, newest first, and the total. Operators
 * are not named.
 */
export async function listOwnAudit(
  executor: Executor,
  email: string,
  query: { appId?: string | undefined; page: number; limit: number },
): Promise<{ total: number; entries: PortalAuditEntry[] }> {
  const { appId, page, limit } = query;
  const offset = (page - 1) * limit;
  const { rows } = await sql<{ total: number } & LeftJoined<Row>>`
    with own as materialized (
      select apps.id, apps.name, false as deleted from app_members m join apps on apps.id = m.app_id
      where m.email = ${email} and ${appId === undefined ? sql`true` : sql`apps.id = ${appId}`}
      union
      -- A deleted app stays with its last owners.
      select app_id, details->>'name', true from audit_log l
      where action = 'app.deleted' and details->'owners' ? ${email}
        and ${appId === undefined ? sql`true` : sql`app_id = ${appId}`}
        -- Not what an earlier account with this address owned.
        and at >= ${hasAddressSince(email)}
        and not exists (select from apps where id = l.app_id)
    ),
    page as materialized (
      select own.name, own.deleted, l.id from own cross join lateral (
        select at, id from audit_log where app_id = own.id order by at desc, id desc limit ${offset + limit}
      ) l
      order by l.at desc, l.id desc limit ${limit} offset ${offset}
    )
    select totals.total, entries.*
    from (select count(*) as total from own join audit_log l on l.app_id = own.id) totals
    left join (
      select l.id, l.at, json_build_object(
          'kind', l.actor_kind,
          'name', case
            -- Only members change an app in the portal.
            when l.actor_kind = 'user' then l.actor_name
            -- The key may be deleted with its app, but all its log entries name the app.
            when l.actor_kind = 'key' and l.app_id = (
              select app_id from audit_log where subject_id = l.actor_id and subject_kind = 'key' limit 1
            ) then l.actor_name
          end,
          -- Not by the address, which somebody else may have had.
          'isYou', l.actor_kind = 'user' and l.actor_id is not distinct from (select id::text from users where email = ${email})
        ) as actor, l.action, l.app_id as "appId", page.name as "appName", page.deleted as "appDeleted",
        json_build_object('kind', l.subject_kind, 'id', l.subject_id,
          'name', coalesce(l.details->>'host', l.details->>'name', l.details->>'email')) as subject, l.details
      from page join audit_log l on l.id = page.id
    ) entries on true
    order by entries.at desc, entries.id desc
  `.execute(executor);
  const { entries, total } = pageOf<Row>(rows);
  return { total, entries: entries.map((row) => withTextTimes(row)) };
}

/** When the account with this address was created, or its address last changed. Null if there is no account. */
function hasAddressSince(email: string) {
  return sql`(
    select greatest(u.created_at, max(c.at)) from users u left join audit_log c
      on c.subject_kind = 'account' and c.subject_id = u.id::text and c.action = 'account.address_changed'
    where u.email = ${email} group by u.id
  )`;
}
