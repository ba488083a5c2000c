/**
 * npm run bench:soak: delivers for half an hour at 70 % of the rate that it measures first, to quick, slow, failing and dead
 * receivers. Compares the last sixth of the time with the second sixth: sizes of the queue's tables and their indexes, memory,
 * processor time per delivery and the p99 of quick webhooks. Exits with 1 if one has grown by more than a tenth. Linux
 * only.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { sql, type Database } from '../service/src/database/database.ts';
import { startSystem, type System } from './delivery-load/system.ts';
import { createOrgs } from './delivery-load/world.ts';
import { addWebhooks } from './delivery-world.ts';
import { isReached, printFigures, quantile, type Figure } from '../harness/figures.ts';
import { openPublisher, type Publisher } from './isolation/publisher.ts';
import { publishSteadily } from './publish-steadily.ts';
import type { Tally } from './receiver.ts';
import { startReceiver, type Receiver } from './start-receiver.ts';
import { makeWorkFolder } from './work-folder.ts';
import { runUntilInterrupted } from './run-until-interrupted.ts';

const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    /** The part of the measured rate. */
    share: { type: 'string', default: '0.7' },
    /** Debian's PostgreSQL 15 instead of the embedded database. */
    postgres: { type: 'boolean', default: false },
    /** `WORKERS` of the service. */
    workers: { type: 'string', default: '1' },
  },
});

const root = join(import.meta.dirname, '..');
const origins = 100;
const quickWebhooks = 100;
/** One in so many events to quick webhooks says when it was published. */
const eventsPerStamp = 20;
/** Rates that a webhook keeps up with: the dead need six attempts of two seconds each. */
const others = [
  { path: '/after-1500', webhooks: 20, eventsPerSecond: 0.5 },
  { path: '/fail', webhooks: 5, eventsPerSecond: 1 },
  { path: '/silent', webhooks: 20, eventsPerSecond: 0.2 },
];
/** A delivery fails for good within a minute, and no webhook is deactivated for it. */
const env = {
  WEBHOOK_RETRY_BASE_MS: '1000',
  WEBHOOK_RETRY_FACTOR: '2',
  WEBHOOK_TIMEOUT_MS: '2000',
  WEBHOOK_DEACTIVATE_AFTER: '1000000',
};
const tables = [
  'pending_deliveries',
  'outbox',
  'webhook_outcomes',
  'delivery_changes',
  'webhook_health',
];
const burst = { events: 300, publishers: 4 };
const sampleMs = 5_000;
const growthMax = 1.1;

type Sample = { sizes: Record<string, number>; residentMib: number };
/** What is compared, by name. */
type Window = Record<string, number>;

const cleanUps = new AsyncDisposableStack();
await runUntilInterrupted(cleanUps, run);

async function run(): Promise<void> {
  const folder = await makeWorkFolder();
  cleanUps.defer(() => rm(folder, { recursive: true, force: true }));
  const receiver = await startReceiver(origins, cleanUps);
  const system = await startSystem(
    {
      name: 'here',
      checkout: root,
      folder: join(folder, 'here'),
      postgresSettings: options.postgres ? [] : null,
      workers: Number(options.workers),
      env,
      observesWork: false,
    },
    cleanUps,
  );
  const publisher = await createWebhooks(system, receiver);
  await deliveriesPerSecond(publisher, receiver);
  await system.analyze();
  const perSecond = await deliveriesPerSecond(publisher, receiver);
  console.log(`${Math.round(perSecond)} deliveries/s at full speed`);
  const figures = await soak(system, { publisher, receiver, perSecond });
  printFigures(figures);
  if (!figures.every(isReached)) process.exitCode = 1;
}

/** The events of each kind of receivers are about an organisation of its own. */
async function createWebhooks(system: System, receiver: Receiver): Promise<Publisher> {
  const { key } = await system.command<{ key: string }>('keys', 'create', '--platform');
  const kinds = [{ path: '/hook', webhooks: quickWebhooks }, ...others];
  const slugs = kinds.map(({ path }) => orgOf(path));
  await createOrgs(system, key, new Map(slugs.map((slug) => [slug, 'bench@example.org'])));
  for (const { path, webhooks } of kinds)
    await addWebhooks(system, {
      org: orgOf(path),
      webhooks: receiver
        .urls(webhooks, path)
        .map((url) => ({ url, events: ['application.created'] })),
      ownerOf: (app) => `${orgOf(path)}-${app}@example.org`,
    });
  return openPublisher(system.internalUrl, key, cleanUps);
}

function orgOf(path: string): string {
  return `soak${path.replace('/', '-')}`;
}

async function deliveriesPerSecond(publisher: Publisher, receiver: Receiver): Promise<number> {
  await receiver.ask({ do: 'reset' });
  const startedAt = performance.now();
  let next = 0;
  async function publishNext(): Promise<void> {
    while (next++ < burst.events) await publisher.publish(orgOf('/hook'), { stamped: false });
  }
  await Promise.all(Array.from({ length: burst.publishers }, publishNext));
  const count = burst.events * quickWebhooks;
  await receiver.ask<Tally>({ do: 'wait', count });
  return (count * 1000) / (performance.now() - startedAt);
}

async function soak(
  system: System,
  {
    publisher,
    receiver,
    perSecond,
  }: { publisher: Publisher; receiver: Receiver; perSecond: number },
): Promise<Figure[]> {
  const seconds = Number(options.minutes) * 60;
  const eventsPerSecond = (perSecond * Number(options.share)) / quickWebhooks;
  const publishing = Promise.all([
    publishSteadily(
      (event) => publisher.publish(orgOf('/hook'), { stamped: event % eventsPerStamp === 0 }),
      { events: Math.floor(eventsPerSecond * seconds), perSecond: eventsPerSecond },
    ),
    ...others.map((kind) =>
      publishSteadily(() => publisher.publish(orgOf(kind.path), { stamped: false }), {
        events: Math.floor(kind.eventsPerSecond * seconds),
        perSecond: kind.eventsPerSecond,
      }),
    ),
  ]);
  const windowMs = (seconds * 1000) / 6;
  await wait(windowMs);
  const early = await measureFor(windowMs, system, receiver);
  console.log(JSON.stringify(early));
  await wait(windowMs * 3);
  const late = await measureFor(windowMs, system, receiver);
  console.log(JSON.stringify(late));
  await publishing;
  return Object.entries(early).map(([name, value]) => growthOf(name, value, late[name] ?? NaN));
}

async function measureFor(ms: number, system: System, receiver: Receiver): Promise<Window> {
  await receiver.ask({ do: 'reset' });
  const before = await system.cpu();
  const samples: Sample[] = [];
  const endsAt = performance.now() + ms;
  while (performance.now() < endsAt) {
    samples.push({
      sizes: await readSizes(system.database),
      residentMib: await system.residentMib(),
    });
    await wait(Math.min(sampleMs, Math.max(endsAt - performance.now(), 0)));
  }
  const after = await system.cpu();
  const { count, latenciesMs } = await receiver.ask<Tally>({ do: 'tally' });
  const sizes = Object.keys(samples[0]?.sizes ?? {}).map((name) => [
    `${name}, KiB at most`,
    Math.max(...samples.map((sample) => sample.sizes[name] ?? 0)) / 1024,
  ]);
  return {
    ...(Object.fromEntries(sizes) as Window),
    'memory of the service, MiB': quantile(
      samples.map((sample) => sample.residentMib),
      0.5,
    ),
    'CPU per request, µs': ((after.totalMs - before.totalMs) * 1000) / count,
    'p99 of quick webhooks, ms': quantile(latenciesMs, 0.99),
  };
}

/** Bytes of each table and of its indexes. */
async function readSizes(database: Database): Promise<Record<string, number>> {
  const { rows } = await sql<{ name: string; bytes: number }>`
    select t.name || part.name as name, part.bytes
    from unnest(${tables}::text[]) as t(name)
    cross join lateral (values ('', pg_table_size(t.name::regclass)), (', indexes', pg_indexes_size(t.name::regclass)))
      as part(name, bytes)
  `.execute(database);
  return Object.fromEntries(rows.map(({ name, bytes }) => [name, bytes]));
}

function growthOf(name: string, early: number, late: number): Figure {
  return {
    name: `${name}: last sixth, times the second`,
    reached: late / early,
    unit: '',
    asked: { atMost: growthMax },
    note: `${Number(early.toPrecision(4))} to ${Number(late.toPrecision(4))}`,
  };
}
