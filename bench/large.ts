/**
 * npm run bench:large: a directory of a million organisations with 100,000 webhooks of 5,000 apps: import, start, search, one event
 * for all, lists of console, portal and command line, retention, backup, restore and move, and the memory of the service. Exits with 1 if a target is missed. Linux only.
 */
import { createWriteStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { isReached, printFigures, quantile, type Figure } from '../harness/figures.ts';
import { searchApps } from '../service/src/access/apps.ts';
import { searchKeys } from '../service/src/access/keys.ts';
import { listOwnApps } from '../service/src/access/own-apps.ts';
import { listUsedApps } from '../service/src/access/usage.ts';
import { sql } from '../service/src/database/database.ts';
import { rotatePartitions } from '../service/src/webhooks/history/retention.ts';
import { listAllDeliveries } from '../service/src/webhooks/management/list-all-deliveries.ts';
import { readOverview } from '../service/src/webhooks/management/overview.ts';
import { listWebhooks } from '../service/src/webhooks/management/webhooks.ts';
import { readInstallation } from '../service/src/webhooks/management/installation.ts';
import { listWebhookStates } from '../service/src/webhooks/management/webhook-states.ts';
import { createRandom } from '../harness/random.ts';
import { startPostgres } from './delivery-load/postgres.ts';
import { startSystem, type System } from './delivery-load/system.ts';
import { addWebhooks } from './delivery-world.ts';
import { log, makeKey } from './directory-world.ts';
import type { Tally } from './receiver.ts';
import { runUntilInterrupted } from './run-until-interrupted.ts';
import { startReceiver, type Receiver } from './start-receiver.ts';
import { makeWorkFolder } from './work-folder.ts';

const { values: options } = parseArgs({
  options: {
    orgs: { type: 'string', default: '1000000' },
    webhooks: { type: 'string', default: '100000' },
    /** Debian's PostgreSQL 15 instead of the embedded database. */
    postgres: { type: 'boolean', default: false },
  },
});
const orgs = Number(options.orgs);
const webhooks = Number(options.webhooks);
const origins = 100;
const appsPerOwner = 10;
/** Webhooks in one statement. */
const batchSize = 20_000;
const searches = 50;
const times = 5;
const lookMs = 50;
/** Deliveries, each with an attempt, of a day past retention. */
const oldDeliveries = 1_000_000;
const retentionDays = 30;
/** The process has collected the garbage of its start by then. */
const idleMs = 20_000;

/** As many different words as names of companies have, some of them in many names. */
const syllables =
  'ar bel cor dan el fin gor hal is jor kel lor mar nor or pel quin ros sel tor ul ven wol yor zan'.split(
    ' ',
  );
const words = syllables.flatMap((first) =>
  syllables.flatMap((second) => syllables.map((third) => first + second + third)),
);
const kinds = ['guild', 'traders', 'union', 'company', 'lodge', 'works', 'circle', 'fleet'];

let receiver: Receiver;

const cleanUps = new AsyncDisposableStack();
await runUntilInterrupted(cleanUps, run);

async function run(): Promise<void> {
  const folder = await makeWorkFolder();
  cleanUps.defer(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'orgs.ndjson');
  await writeOrgs(file);
  const system = await startSystem(
    {
      name: 'here',
      checkout: join(import.meta.dirname, '..'),
      folder: join(folder, 'here'),
      postgresSettings: options.postgres ? [] : null,
      workers: 1,
      observesWork: false,
    },
    cleanUps,
  );
  const figures: Figure[] = [];
  const measure = async (name: string, atMost: number, act: () => Promise<unknown>) => {
    log(name);
    const startedAt = performance.now();
    await act();
    const reached = (performance.now() - startedAt) / 1_000;
    figures.push({ name, reached, unit: 's', asked: { atMost } });
  };
  await measure('import', 240, () => system.run('import', 'orgs', file, '--allow-duplicates'));
  await subscribe(system);
  await system.analyze();
  await measure('restart until it is ready, with its search index', 60, async () => {
    await system.restart();
    await ready(system);
  });
  const key = await makeKey(system.database);
  await measure('first search', 1, () => search(system, key, `${words[1]} guild`));
  figures.push(await measureSearches(system, key));
  await measure('one event to all webhooks', 60, () => deliverToAll(system));
  await system.drained();
  for (const [name, read] of readers(system)) figures.push(await measureRead(name, read));
  for (const args of [['apps', 'list'], ['webhooks', 'list'], ['usage'], ['accounts', 'list']])
    await measure(`orgdir ${args.join(' ')}`, 3, () => system.run(...args));
  await addHistory(system);
  await measure('retention of a day', 10, () => dropHistory(system));
  await wait(idleMs);
  const reached = await system.residentMib();
  figures.push({ name: 'memory of the process', reached, unit: 'MiB', asked: { atMost: 700 } });
  const backup = join(folder, 'all.backup');
  await measure('backup', 240, () => system.run('backup', backup));
  log(`the backup has ${Math.round((await stat(backup)).size / 2 ** 20)} MiB`);
  await measure('restore into another database', 600, () =>
    system.run('restore', backup, { DATABASE_URL: '', DATA_DIR: join(folder, 'restored') }),
  );
  const target = await startPostgres(join(folder, 'target'), []);
  cleanUps.defer(() => target.stop());
  await system.stop();
  await measure('move into another server', 600, () =>
    system.run('database', 'move', '--to', target.url),
  );
  printFigures(figures);
  if (!figures.every(isReached)) process.exitCode = 1;
}

async function writeOrgs(file: string): Promise<void> {
  log('writing the file');
  const random = createRandom(1);
  const stream = createWriteStream(file);
  for (let n = 1; n <= orgs; n += 1) {
    const name = `${random.pick(words)} ${random.pick(words)} ${random.pick(kinds)}`;
    const line = JSON.stringify({
      slug: `org-${n}`,
      name,
      description: `The ${name} of the ${random.pick(words)} coast.`,
      primaryActivity: random.pick(kinds),
      memberCount: random.below(500),
    });
    if (!stream.write(`${line}\n`)) await once(stream, 'drain');
  }
  stream.end();
  await once(stream, 'finish');
}

async function subscribe(system: System): Promise<void> {
  log('creating webhooks');
  receiver = await startReceiver(origins, cleanUps);
  const urls = receiver.urls(webhooks, '/hook');
  for (let first = 0; first < webhooks; first += batchSize)
    await addWebhooks(system, {
      org: 'org-1',
      webhooks: urls
        .slice(first, first + batchSize)
        .map((url) => ({ url, events: ['org.created'] })),
      ownerOf: (app) => `owner-${first}-${Math.floor(app / appsPerOwner)}@example.org`,
    });
}

async function deliverToAll(system: System): Promise<void> {
  const { key } = await system.command<{ key: string }>('keys', 'create', '--platform');
  await receiver.ask({ do: 'reset' });
  const response = await fetch(`${system.internalUrl}/internal/v1/orgs/new-one`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'New one' }),
  });
  if (!response.ok) throw new Error(await response.text());
  await receiver.ask<Tally>({ do: 'wait', count: webhooks });
}

async function ready({ internalUrl }: System): Promise<void> {
  while (!(await fetch(`${internalUrl}/readyz`)).ok) await wait(lookMs);
}

async function search({ url }: System, key: string, text: string): Promise<void> {
  const response = await fetch(`${url}/api/v1/orgs?search=${encodeURIComponent(text)}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  if (!response.ok) throw new Error(await response.text());
  await response.arrayBuffer();
}

async function measureSearches(system: System, key: string): Promise<Figure> {
  const ms: number[] = [];
  for (let n = 0; n < searches; n += 1)
    ms.push(await timeMs(() => search(system, key, `${words[n * 97]} ${kinds[n % kinds.length]}`)));
  return toFigure(`search, p95 of ${searches}`, quantile(ms, 0.95), 60);
}

/** A day of deliveries that retention drops, copied from one of today. */
async function addHistory({ database }: System): Promise<void> {
  log('adding a day past retention');
  const at = sql`(date_trunc('day', now()) - ${retentionDays + 2} * interval '1 day' + n * interval '50 ms')`;
  await sql`
    select ensure_partitions(current_date - ${retentionDays + 3}::int, current_date - ${retentionDays + 1}::int)
  `.execute(database);
  await sql`
    with old as materialized (
      select n, uuid_v7(${at}) as id, ${at} as at from generate_series(1, ${oldDeliveries}) n
    ), stored as (
      insert into deliveries select (jsonb_populate_record(d, jsonb_build_object('id', old.id, 'created_at', at, 'completed_at', at))).*
      from old, (select d from deliveries d limit 1) one(d)
    )
    insert into attempts select (jsonb_populate_record(a, jsonb_build_object('delivery_id', old.id, 'started_at', at))).*
    from old, (select a from attempts a limit 1) one(a)
  `.execute(database);
  await sql`vacuum analyze`.execute(database);
}

async function dropHistory({ database }: System): Promise<void> {
  const dropped = await rotatePartitions(database, retentionDays);
  if (!dropped.some((each) => each.startsWith('deliveries')))
    throw new Error('retention dropped nothing');
}

/** What lists of the console, and of an app's members, read. */
function readers({ database }: System): [string, () => Promise<unknown>][] {
  const page = { page: 1, limit: 25 };
  const owner = 'owner-0-7@example.org';
  const ofOwner = async () => (await listOwnApps(database, owner))[0]?.id ?? '';
  return [
    ['overview of the console', () => readInstallation(database)],
    ['apps of the console', () => searchApps(database, { ...page, search: '' })],
    ['apps by owner', () => searchApps(database, { ...page, search: 'owner-0-7@' })],
    ['webhooks of the console', () => listWebhookStates(database, page)],
    ['webhooks that fail', () => listWebhookStates(database, { ...page, health: 'failing' })],
    ['keys of the console', () => searchKeys(database, { ...page, search: '' })],
    ['deliveries of the console', () => listAllDeliveries(database, null, { limit: 51 })],
    [
      'failed deliveries of the console',
      () => listAllDeliveries(database, null, { status: 'failed', limit: 51 }),
    ],
    ['overview of the portal', () => readOverview(database, owner)],
    ['apps of a member', () => listOwnApps(database, owner)],
    ['webhooks of an app', async () => listWebhooks(database, await ofOwner(), page)],
    ['usage of the console', () => listUsedApps(database, { ...page, days: 30 })],
  ];
}

async function measureRead(name: string, read: () => Promise<unknown>): Promise<Figure> {
  const ms: number[] = [];
  for (let n = 0; n < times; n += 1) ms.push(await timeMs(read));
  return toFigure(name, quantile(ms, 0.5), 1_000);
}

async function timeMs(act: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await act();
  return performance.now() - startedAt;
}

function toFigure(name: string, reached: number, atMost: number): Figure {
  return { name, reached, unit: 'ms', asked: { atMost } };
}
