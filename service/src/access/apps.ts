/** Apps own keys and webhooks. Each app has an owner and at most one binding. */
import { v7 as uuidv7 } from 'uuid';
import { sql, type Database, type Executor, type Transaction } from '../database/database.ts';
import { invalid, ServiceError } from '../errors.ts';
import type { Actor } from './actor.ts';
import { nameActor, recordAudit } from './audit-log.ts';
import { normaliseEmail } from './email.ts';

export type App = {
  id: string;
  name: string;
  ownerEmail: string;
  /** Slugs are null if the app is not bound to one. */
  organizationId: string | null;
  organizationSlug: string | null;
  allianceId: string | null;
  allianceSlug: string | null;
  createdAt: Date;
};

/** docs/reference/errors-and-limits.md#keys-apps-and-the-portal */
const appsPerOwnerMax = 10;

/** Creates an app for an owner. Throws `conflict` if the owner has ten. */
export async function createApp(
  tx: Transaction,
  actor: Actor,
  input: { name: string; owner: string },
): Promise<string> {
  const name = requireName(input.name);
  const owner = normaliseEmail(input.owner, 'owner');
  // Prevents two simultaneous requests from both creating the tenth app.
  await sql`select pg_advisory_xact_lock(70420005, hashtext(${owner}))`.execute(tx);
  const { rows } = await sql<{
    count: number;
  }>`select count(*) from apps where owner_email = ${owner}`.execute(tx);
  if ((rows[0]?.count ?? 0) >= appsPerOwnerMax) {
    throw new ServiceError(
      'conflict',
      `${owner} has ${appsPerOwnerMax} apps, the most that an owner may have; delete one first.`,
    );
  }
  const id = uuidv7();
  await sql`insert into apps (id, name, owner_email) values (${id}, ${name}, ${owner})`.execute(tx);
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
  const name = requireName(newName);
  const { rows } = await sql<{ id: string; before: string }>`
    update apps set name = ${name}
    from (select id, name from apps where id::text = ${id} for update) as before
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
 * Deletes an app with its keys, webhooks and binding; workers cancel its pending deliveries as they fall due. Throws
 * `not_found`.
 */
export async function deleteApp(tx: Transaction, actor: Actor, id: string): Promise<void> {
  await nameActor(tx, actor);
  // Locks the webhooks in the workers' order, and before the app, because the workers' operational events refer to the
  // app.
  await sql`select from webhooks where app_id::text = ${id} order by id for update`.execute(tx);
  const { rows } = await sql<{ id: string; name: string; owner: string }>`
    delete from apps where id::text = ${id} returning id, name, owner_email as owner
  `.execute(tx);
  const [row] = rows;
  if (!row) throw missing(id);
  await recordAudit(tx, actor, {
    action: 'app.deleted',
    subject: { kind: 'app', id: row.id },
    appId: row.id,
    details: { name: row.name, owner: row.owner },
  });
}

function requireName(text: string): string {
  const name = text.trim();
  if (name === '' || name.length > 100 || name.includes('\0'))
    throw invalid({ path: 'name', message: 'must have 1 to 100 characters' });
  return name;
}

function missing(id: string): ServiceError {
  return new ServiceError('not_found', `There is no app with the id ${id}.`);
}

/** Returns all apps, oldest first. */
export async function listApps(database: Database): Promise<App[]> {
  const { rows } = await sql<App>`${appColumns} order by apps.id`.execute(database);
  return rows;
}

/** Returns the app with this id. Throws `not_found`. */
export async function readApp(executor: Executor, id: string): Promise<App> {
  const { rows } = await sql<App>`${appColumns} where apps.id::text = ${id}`.execute(executor);
  const [app] = rows;
  if (!app) throw missing(id);
  return app;
}

const appColumns = sql`
  select apps.id, apps.name, apps.owner_email as "ownerEmail", apps.created_at as "createdAt",
    b.org_id as "organizationId", o.slug as "organizationSlug",
    b.alliance_id as "allianceId", a.slug as "allianceSlug"
  from apps
  left join bindings b on b.app_id = apps.id
  left join orgs o on o.id = b.org_id
  left join alliances a on a.id = b.alliance_id
`;
