/** Apps: what keys and webhooks belong to. Each has an owner and at most one binding. */
import { v7 as uuidv7 } from 'uuid';
import { sql, type Database, type Executor, type Transaction } from '../database/database.ts';
import { invalid, ServiceError } from '../errors.ts';
import { normaliseEmail } from './email.ts';

export type App = {
  id: string;
  name: string;
  ownerEmail: string;
  /** Slugs are null where the app is not bound to one. */
  organizationId: string | null;
  organizationSlug: string | null;
  allianceId: string | null;
  allianceSlug: string | null;
  createdAt: Date;
};

/** SPEC 5. */
const appsPerOwnerMax = 10;

/** Makes an app for an owner. Throws `conflict` where the owner has ten. */
export async function createApp(
  tx: Transaction,
  input: { name: string; owner: string },
): Promise<string> {
  const name = input.name.trim();
  if (name === '' || name.length > 100 || name.includes('\0'))
    throw invalid({ path: 'name', message: 'must have 1 to 100 characters' });
  const owner = normaliseEmail(input.owner, 'owner');
  // Two requests at once must not both be the tenth.
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
  return id;
}

/** All apps, oldest first. */
export async function listApps(database: Database): Promise<App[]> {
  const { rows } = await sql<App>`${appColumns} order by apps.id`.execute(database);
  return rows;
}

/** The app with this id. Throws `not_found`. */
export async function readApp(executor: Executor, id: string): Promise<App> {
  const { rows } = await sql<App>`${appColumns} where apps.id::text = ${id}`.execute(executor);
  const [app] = rows;
  if (!app) throw new ServiceError('not_found', `There is no app with the id ${id}.`);
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
