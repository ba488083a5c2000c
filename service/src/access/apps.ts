/** Apps have members, keys, webhooks and at most one binding. */
import { v7 as uuidv7 } from 'uuid';
import {
  sql,
  type Database,
  type Executor,
  type LeftJoined,
  type Transaction,
  asUuid,
  pageOf,
} from '../database/database.ts';
import { ServiceError } from '../errors.ts';
import type { Actor } from './actor.ts';
import { nameActor, recordAudit } from './audit-log.ts';
import { normaliseEmail } from './email.ts';
import { enforceAppLimits } from './members.ts';
import { usedOf } from './quotas.ts';
import { lockApp, requireRole } from './require-role.ts';
import { suspensionOf, type Suspension } from './suspensions.ts';
import { requirePlainName } from './require-plain-name.ts';

export type App = {
  id: string;
  name: string;
  /** The addresses of the owners, in order. */
  owners: string[];
  /** Slugs are null if the app is not bound to one. */
  organizationId: string | null;
  organizationSlug: string | null;
  allianceId: string | null;
  allianceSlug: string | null;
  suspendedAt: Date | null;
  suspendedReason: string | null;
  createdAt: Date;
};

/** Creates an app with its first owner. Throws `conflict` if the owner has ten. */
export async function createApp(
  tx: Transaction,
  actor: Actor,
  input: { name: string; owner: string },
): Promise<string> {
  const name = requirePlainName(input.name);
  const owner = normaliseEmail(input.owner, 'owner');
  await enforceAppLimits(tx, owner, 'owner');
  const id = uuidv7();
  await sql`insert into apps (id, name) values (${id}, ${name})`.execute(tx);
  await sql`insert into app_members (app_id, email, role) values (${id}, ${owner}, 'owner')`.execute(
    tx,
  );
  await recordAudit(tx, actor, {
    action: 'app.created',
    subject: { kind: 'app', id },
    appId: id,
    details: { name, owner },
  });
  return id;
}

/** Renames an app. Returns false if it has that name already. Throws `not_found`, `validation_failed`. */
export async function renameApp(
  tx: Transaction,
  actor: Actor,
  id: string,
  newName: string,
): Promise<boolean> {
  const name = requirePlainName(newName);
  const { rows } = await sql<{ id: string; before: string }>`
    update apps set name = ${name}
    from (select id, name from apps where id = ${asUuid(id)} for update) as before
    where apps.id = before.id returning apps.id, before.name as before
  `.execute(tx);
  const [row] = rows;
  if (!row) throw missing(id);
  if (row.before === name) return false;
  await recordAudit(tx, actor, {
    action: 'app.changed',
    subject: { kind: 'app', id: row.id },
    appId: row.id,
    details: { name, before: row.before },
  });
  return true;
}

/**
 * Deletes an app with its keys, webhooks and binding; workers cancel its pending deliveries as they fall due. `by`: the
 * owner on whose behalf. Throws `not_found`, and as `requireRole`.
 */
export async function deleteApp(
  tx: Transaction,
  actor: Actor,
  id: string,
  by: string | null = null,
): Promise<void> {
  await nameActor(tx, actor);
  // Locks the webhooks in the workers' order, and before the app, because the workers' operational events refer to the
  // app.
  await sql`select from webhooks where app_id = ${asUuid(id)} order by id for update`.execute(tx);
  await lockApp(tx, id);
  if (by !== null) await requireRole(tx, by, id, 'owner');
  const { owners } = await readApp(tx, id);
  const { rows } = await sql<{ id: string; name: string }>`
    delete from apps where id = ${asUuid(id)} returning id, name
  `.execute(tx);
  const [row] = rows;
  if (!row) throw missing(id);
  await recordAudit(tx, actor, {
    action: 'app.deleted',
    subject: { kind: 'app', id: row.id },
    appId: row.id,
    details: { name: row.name, owners },
  });
}

function missing(id: string): ServiceError {
  return new ServiceError('not_found', `There is no app with the id ${id}.`);
}

/** Returns all apps, oldest first. */
export async function listApps(database: Database): Promise<App[]> {
  const { rows } = await sql<App>`${appColumns} order by apps.id`.execute(database);
  return rows;
}

type FoundApp = Pick<App, 'id' | 'name' | 'owners' | 'createdAt'> & {
  keyCount: number;
  webhookCount: number;
} & LeftJoined<Suspension>;

/** One page of the apps of everybody whose name, id or owner's address contains the text, newest first. */
export async function searchApps(
  executor: Executor,
  { search, page, limit }: { search: string; page: number; limit: number },
): Promise<{ apps: FoundApp[]; total: number }> {
  const { rows } = await sql<{ total: number } & LeftJoined<FoundApp>>`
    with found as materialized (
      select id, name, created_at from apps
      where strpos(lower(name), lower(${search})) > 0 or id::text = lower(${search}) or exists (
        select from app_members m
        where m.app_id = apps.id and m.role = 'owner' and strpos(m.email, lower(${search})) > 0
      )
    )
    select totals.total, page.* from (select count(*) as total from found) totals
    left join (
      select f.id, f.name, f.created_at as "createdAt", ${ownersOf(sql`f.id`)} as owners,
        ${usedOf.keys(sql`f.id`)} as "keyCount", ${usedOf.webhooks(sql`f.id`)} as "webhookCount", s."suspendedAt", s."suspendedReason"
      from (select * from found order by id desc limit ${limit} offset ${(page - 1) * limit}) f
      left join lateral ${suspensionOf('app', sql`f.id`)} s on true
    ) page on true
    order by page.id desc
  `.execute(executor);
  const { entries: apps, total } = pageOf<FoundApp>(rows);
  return { apps, total };
}

function ownersOf(appId: ReturnType<typeof sql>) {
  return sql`array(
    select m.email from app_members m where m.app_id = ${appId} and m.role = 'owner' order by m.email
  )`;
}

/** Returns the app with this id. Throws `not_found`. */
export async function readApp(executor: Executor, id: string): Promise<App> {
  const { rows } = await sql<App>`${appColumns} where apps.id = ${asUuid(id)}`.execute(executor);
  const [app] = rows;
  if (!app) throw missing(id);
  return app;
}

const appColumns = sql`
  select apps.id, apps.name, apps.created_at as "createdAt",
    ${ownersOf(sql`apps.id`)} as owners,
    b.org_id as "organizationId", o.slug as "organizationSlug",
    b.alliance_id as "allianceId", a.slug as "allianceSlug", s."suspendedAt", s."suspendedReason"
  from apps
  left join bindings b on b.app_id = apps.id
  left join orgs o on o.id = b.org_id
  left join alliances a on a.id = b.alliance_id
  left join lateral ${suspensionOf('app', sql`apps.id`)} s on true
`;
