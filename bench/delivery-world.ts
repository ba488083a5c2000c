/** Creates any number of apps and webhooks by SQL, and publishes events like the platform. */
import { setTimeout as wait } from 'node:timers/promises';
import { randomUUID } from 'node:crypto';
import { sql, type Database } from '../service/src/database/database.ts';
import { publishEvent } from '../service/src/directory/publish-in-groups.ts';
import { generateSecret } from '../service/src/webhooks/sending/sign.ts';
import type { System } from './delivery-load/system.ts';
import { publishSteadily } from './publish-steadily.ts';
import type { Started } from './start-process.ts';
import type { Receiver } from './start-receiver.ts';
import { now } from './wall-clock.ts';

/** One of the demo's organisations, which the benchmark imports. */
const org = 'zte-corporation';
const owner = 'bench@example.org';
const webhooksPerApp = 20;
const pollMs = 20;
const publicUrl = 'http://127.0.0.1';

export type World = {
  system: System;
  receiver: Receiver;
  /** Sends the same requests with undici alone. */
  bare: Started;
};

export type WebhookInput = { url: string; events: string[] | null };

export type Subscribers = {
  org: string;
  /** In apps with up to twenty each, or so many. */
  webhooks: WebhookInput[];
  perApp?: number;
  /** Of an app, by its index. */
  ownerOf: (app: number) => string;
};

/** Replaces all apps: they are bound to one organisation, each with up to twenty of these webhooks. */
export async function createWebhooks(
  { database, secretBox }: Pick<System, 'database' | 'secretBox'>,
  webhooks: WebhookInput[],
): Promise<void> {
  await sql`delete from apps`.execute(database);
  await addWebhooks({ database, secretBox }, { org, webhooks, ownerOf: () => owner });
}

/** Creates apps with these webhooks, all bound to one organisation. */
export async function addWebhooks(
  { database, secretBox }: Pick<System, 'database' | 'secretBox'>,
  { org: slug, webhooks, perApp = webhooksPerApp, ownerOf }: Subscribers,
): Promise<void> {
  const apps = Array.from({ length: Math.ceil(webhooks.length / perApp) }, (_, index) => ({
    id: randomUUID(),
    owner: ownerOf(index),
  }));
  const rows = webhooks.map((webhook, index) => {
    const id = randomUUID();
    return {
      id,
      app_id: apps[Math.floor(index / perApp)]?.id,
      secret: secretBox.seal(generateSecret(), id).toString('hex'),
      ...webhook,
    };
  });
  await database.transaction().execute(async (tx) => {
    const owned = sql`jsonb_to_recordset(${JSON.stringify(apps)}::jsonb) as t(id uuid, owner text)`;
    await sql`
      insert into org_managers (org_id, email) select distinct o.id, t.owner from orgs o, ${owned} where o.slug = ${slug}
      on conflict do nothing
    `.execute(tx);
    await sql`insert into apps (id, name) select id, 'Bench' from ${owned}`.execute(tx);
    await sql`insert into app_members (app_id, email, role) select id, t.owner, 'owner' from ${owned}`.execute(
      tx,
    );
    await sql`
      insert into bindings (app_id, owner_email, org_id) select t.id, t.owner, o.id from ${owned}, orgs o where o.slug = ${slug}
    `.execute(tx);
    await sql`
      insert into webhooks (id, app_id, url, events, secret)
      select id, app_id, url, events, decode(secret, 'hex')
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as t(id uuid, app_id uuid, url text, events text[], secret text)
    `.execute(tx);
  });
  await sql`analyze webhooks, bindings, apps, app_members, org_managers`.execute(database);
}

/** Publishes the event several times in one transaction: each gives one delivery to every subscribed webhook. */
export async function announce(database: Database, count: number): Promise<void> {
  await database.transaction().execute(async (tx) => {
    const publication = { name: 'org.created', org, alliance: null, data: null, publicUrl };
    for (let index = 0; index < count; index += 1) await publishEvent(tx, publication);
  });
}

/** Publishes events that contain their time of publishing. Returns how many, after the last commit. */
export async function publishStampedFor(
  { database }: Pick<System, 'database'>,
  perSecond: number,
  seconds: number,
): Promise<number> {
  const events = perSecond * seconds;
  const event = { name: 'application.created', org, alliance: null, publicUrl } as const;
  await publishSteadily(() => publishEvent(database, { ...event, data: stampedData() }), {
    events,
    perSecond,
  });
  return events;
}

/** Of an `application.created`, from which `receiver.ts` reads when it was published. */
export function stampedData() {
  const submittedAt = new Date().toISOString();
  return { id: `at-${now()}-`, applicantHandle: 'bench', submittedAt };
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
        or exists (select from outbox) or exists (select from broadcasts) as open
    `.execute(database);
    if (rows[0]?.open === false) return;
    await wait(pollMs);
  }
}
