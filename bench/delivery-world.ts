/** Creates any number of apps and webhooks by SQL, and publishes events like the platform. */
import { setTimeout as wait } from 'node:timers/promises';
import { sql, type Database } from '../service/src/database/database.ts';
import { publishEvent } from '../service/src/directory/publish-event.ts';
import type { SecretBox } from '../service/src/secret-box.ts';
import { generateSecret } from '../service/src/webhooks/management/generate-secret.ts';
import { randomUUID } from 'node:crypto';
import type { Started } from './start-process.ts';
import { now } from './wall-clock.ts';

/** One of the demo's organisations, which the benchmark imports. */
const org = 'zte-corporation';
const owner = 'bench@example.org';
const webhooksPerApp = 20;
const pollMs = 20;
const publicUrl = 'http://127.0.0.1';

export type World = {
  database: Database;
  /** Null if it is embedded. */
  databaseUrl: string | null;
  secretBox: SecretBox;
  receiver: Started;
  /** The origins that the receiver listens on. */
  ports: number[];
  bare: Started;
  service: Started;
};

export type WebhookInput = { url: string; events: string[] | null };

/** Replaces all apps: they are bound to one organisation, each with up to twenty of these webhooks. */
export async function createWebhooks(
  { database, secretBox }: Pick<World, 'database' | 'secretBox'>,
  webhooks: WebhookInput[],
): Promise<void> {
  const apps = Array.from({ length: Math.ceil(webhooks.length / webhooksPerApp) }, () =>
    randomUUID(),
  );
  const rows = webhooks.map((webhook, index) => {
    const id = randomUUID();
    return {
      id,
      app_id: apps[Math.floor(index / webhooksPerApp)],
      secret: secretBox.seal(generateSecret(), id).toString('hex'),
      ...webhook,
    };
  });
  await database.transaction().execute(async (tx) => {
    await sql`delete from apps`.execute(tx);
    await sql`
      insert into org_managers (org_id, email) select id, ${owner} from orgs where slug = ${org} on conflict do nothing
    `.execute(tx);
    await sql`insert into apps (id, name) select id, 'Bench' from unnest(${apps}::uuid[]) as t(id)`.execute(
      tx,
    );
    await sql`
      insert into app_members (app_id, email, role) select id, ${owner}, 'owner' from unnest(${apps}::uuid[]) as t(id)
    `.execute(tx);
    await sql`
      insert into bindings (app_id, owner_email, org_id)
      select t.id, ${owner}, o.id from unnest(${apps}::uuid[]) as t(id), orgs o where o.slug = ${org}
    `.execute(tx);
    await sql`
      insert into webhooks (id, app_id, url, events, secret)
      select id, app_id, url, events, decode(secret, 'hex')
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as t(id uuid, app_id uuid, url text, events text[], secret text)
    `.execute(tx);
  });
  await sql`analyze webhooks`.execute(database);
}

/** The URLs of webhooks, spread over the receiver's origins. */
export function hookUrls({ ports }: Pick<World, 'ports'>, count: number, path = '/hook'): string[] {
  return Array.from(
    { length: count },
    (_, index) => `http://127.0.0.1:${ports[index % ports.length]}${path}/${index}`,
  );
}

/** Publishes the event several times in one transaction: each gives one delivery to every subscribed webhook. */
export async function announce(database: Database, count: number): Promise<void> {
  await database.transaction().execute(async (tx) => {
    const publication = { name: 'org.created', org, alliance: null, data: null, publicUrl };
    for (let index = 0; index < count; index += 1) await publishEvent(tx, publication);
  });
}

/** Publishes an event that contains its time of publishing. Returns the duration after the commit. */
export async function publishStamped(database: Database): Promise<void> {
  const application = {
    id: `at-${now()}-`,
    applicantHandle: 'bench',
    submittedAt: new Date().toISOString(),
  };
  await publishEvent(database, {
    name: 'application.created',
    org,
    alliance: null,
    data: application,
    publicUrl,
  });
}

/** The data of an announcement, for senders of the same bytes. */
export async function announcedData(database: Database): Promise<string> {
  const { rows } = await sql<{ data: string }>`
    select data from events where name = 'org.created' order by id desc limit 1
  `.execute(database);
  return rows[0]?.data ?? '';
}

/** Resolves when no delivery is pending. */
export async function drained(database: Database): Promise<void> {
  for (;;) {
    const { rows } = await sql<{ open: boolean }>`
      select exists (select from pending_deliveries)
        or exists (select from outbox) as open
    `.execute(database);
    if (rows[0]?.open === false) return;
    await wait(pollMs);
  }
}
