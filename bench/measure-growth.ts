/**
 * Measures what the queue's statements cost per delivery on an empty database, next to a large queue and forty days of
 * history, and after somebody's snapshot was held for ten minutes. Takes half an hour and several gigabytes, so it is not
 * part of the other benchmarks.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { sql, type Database } from '../service/src/database/database.ts';
import { rotatePartitions } from '../service/src/webhooks/history/retention.ts';
import { announce, createWebhooks, publishStampedFor, type World } from './delivery-world.ts';
import type { System } from './delivery-load/system.ts';
import { quantile, type Figure } from '../harness/figures.ts';
import type { Tally } from './receiver.ts';

/** Settings of the server; the last ones only make seeding faster. */
export const growthSettings = ['pg_stat_statements.track_utility=off', 'max_wal_size=8GB'];
/** Keeps the service from dropping the history. */
export const growthRetentionDays = 60;

const days = 40;
const finishedPerDay = 250_000;
const deliveriesPerEvent = 100;
/** Every tenth has its attempt, for time and space. */
const deliveriesPerAttempt = 10;
const deadWebhooks = 80;
const parkedPerWebhook = 2_000;
const retriesPerWebhook = 500;
const leasedPerWebhook = 500;

const eventsPerSecond = 50;
/** Longer than the longest pause before a first retry. */
const warmUpSeconds = 15;
/** A worker looks at everything once a minute. */
const smallSeconds = 60;
const heldSeconds = 600;
const backlogWebhooks = 100;
const backlogEvents = 300;
/** Until the last attempts are recorded, and their health. */
const settleMs = 2_000;

/**
 * By what each costs: text that only its statements have, and the deliveries among which their time is divided. Their
 * names are in comments, which PostgreSQL 18 does not count as a part of a statement.
 */
const parts = {
  'fan-out': { statements: ['"publishedFloor"', '"hasDue"'], per: 'published' },
  claim: { statements: ['"nextDueMs"', 'as reached', 'webhooks_parked'], per: 'claimed' },
  load: { statements: ['"cancelledBy"'], per: 'claimed' },
  record: { statements: ['headers_start'], per: 'recorded' },
  health: {
    statements: ['from webhook_outcomes where ctid', 'failed_last', '"isLate"'],
    per: 'recorded',
  },
} as const;
type Part = keyof typeof parts;

type Cost = { ms: number; pages: number };
type Costs = Record<Part, Cost>;
type Measured = { small: Costs; backlog: Costs; retention: Cost; retryMs: number[] };

export async function measureGrowth(world: World): Promise<Figure[]> {
  const { system } = world;
  await createReceivers(world);
  await sql`vacuum analyze`.execute(system.database);
  const empty = await measure(world, 'empty', 0);
  await seed(system.database);
  const full = await measure(world, 'full', days - 1);
  const release = await holdSnapshot(system);
  console.error('holding');
  await publishStampedFor(system, eventsPerSecond, heldSeconds - warmUpSeconds - smallSeconds);
  const held = await measure(world, 'held', days - 2);
  await release();
  return [
    ...compare('small batches', empty.small, full.small, held.small),
    ...compare('backlog', empty.backlog, full.backlog, held.backlog),
    ...figuresOfRetention(empty, full, held),
    figureOfRetries(empty, full, held),
  ];
}

/** The dead ones, a hundred for the backlog, and two for small batches, one of which fails at first. */
async function createReceivers({ system, receiver }: World): Promise<void> {
  const inputs = (urls: string[], event: string) => urls.map((url) => ({ url, events: [event] }));
  await createWebhooks(system, [
    ...inputs(receiver.urls(deadWebhooks, '/silent'), 'alliance.created'),
    ...inputs(receiver.urls(backlogWebhooks, '/many'), 'org.created'),
    ...inputs([...receiver.urls(1), ...receiver.urls(1, '/once')], 'application.created'),
  ]);
  // Only the last app stays bound to the organisation that the small batches are about; the others get global events.
  await sql`
    delete from bindings where app_id not in (select app_id from webhooks where url like '%/once/%')
  `.execute(system.database);
}

async function measure(world: World, name: string, retentionDays: number): Promise<Measured> {
  console.error(`measuring: ${name}`);
  const { receiver, system } = world;
  const { database } = system;
  await publishStampedFor(system, eventsPerSecond, warmUpSeconds);
  await receiver.ask({ do: 'reset' });
  const small = await costs(database, () =>
    publishStampedFor(system, eventsPerSecond, smallSeconds),
  );
  const { retriesMs } = await receiver.ask<Tally>({ do: 'tally' });
  await wait(warmUpSeconds * 1_000);
  const backlog = await costs(database, async () => {
    await receiver.ask({ do: 'reset' });
    await announce(database, backlogEvents);
    await receiver.ask<Tally>({ do: 'wait', count: backlogEvents * backlogWebhooks });
    return backlogEvents * backlogWebhooks;
  });
  const retention = await costOfRetention(database, retentionDays);
  console.error(JSON.stringify({ name, small, backlog, retention }));
  console.error('measured');
  return { small, backlog, retention, retryMs: retriesMs };
}

/** `act` returns how many deliveries it has published. */
async function costs(database: Database, act: () => Promise<number>): Promise<Costs> {
  await sql`select public.pg_stat_statements_reset()`.execute(database);
  const attemptsBefore = await countAttempts(database);
  const published = await act();
  await wait(settleMs);
  const counts = {
    published,
    claimed: (await readStatements(database, parts.load.statements)).rows,
    recorded: (await countAttempts(database)) - attemptsBefore,
  };
  const measured = {} as Costs;
  for (const [part, { statements, per }] of Object.entries(parts)) {
    const { ms, pages } = await readStatements(database, statements);
    measured[part as Part] = { ms: ms / counts[per], pages: pages / counts[per] };
  }
  return measured;
}

/** Sums up the statements that have one of these texts. */
async function readStatements(
  database: Database,
  texts: readonly string[],
): Promise<Cost & { rows: number }> {
  const { rows } = await sql<Cost & { rows: number }>`
    select sum(total_exec_time)::float8 as ms, sum(shared_blks_hit + shared_blks_read)::float8 as pages,
      sum(rows)::float8 as rows
    from public.pg_stat_statements where query like any(${texts.map((text) => `%${text}%`)}::text[])
  `.execute(database);
  const [sums] = rows;
  if (!sums) throw new Error('the statements were not counted');
  return sums;
}

async function countAttempts(database: Database): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from attempts where started_at > current_date
  `.execute(database);
  return rows[0]?.count ?? 0;
}

/** Of the check of one expired day, which reads the queue. */
async function costOfRetention(database: Database, retentionDays: number): Promise<Cost> {
  await sql`select public.pg_stat_statements_reset()`.execute(database);
  await rotatePartitions(database, retentionDays);
  const { ms, pages, rows } = await readStatements(database, ['left(event_id::text']);
  return { ms: ms / rows, pages: pages / rows };
}

async function seed(database: Database): Promise<void> {
  console.error('seeding');
  await sql`select ensure_partitions(current_date - ${days + 1}::int, current_date)`.execute(
    database,
  );
  for (let day = days; day > 0; day -= 1) await seedDay(database, day);
  await seedQueue(database);
  for (const statement of ['vacuum analyze', 'checkpoint'])
    await sql.raw(statement).execute(database);
  console.error('seeded');
}

async function seedDay(database: Database, day: number): Promise<void> {
  await sql`
    with webhook as materialized (select array_agg(id) as ids from webhooks),
    event as (
      insert into events (id, name, audience, data, created_at, position)
      select uuid_v7(at), 'org.created', 'global', ${'{"id":"x"}'}, at, nextval('event_positions')
      from (
        select current_date - ${day}::int + random() * interval '23 hours' as at
        from generate_series(1, ${finishedPerDay / deliveriesPerEvent}::int)
      ) t
      returning id, created_at
    ),
    delivery as (
      insert into deliveries (id, event_id, event, webhook_id, status, attempt_count, created_at, completed_at)
      select uuid_v7(e.created_at), e.id, 'org.created', webhook.ids[n % cardinality(webhook.ids) + 1], 'succeeded', 1,
        e.created_at, e.created_at + interval '30 ms'
      from event e, generate_series(1, ${deliveriesPerEvent}::int) n, webhook
      returning id, created_at
    )
    insert into attempts (delivery_id, number, trigger, started_at, duration_ms, status_code, response_headers, response_body)
    select id, 1, 'event', created_at, 12, 200, convert_to('{"connection":"keep-alive","transfer-encoding":"chunked"}', 'UTF8'),
      convert_to('ok', 'UTF8')
    from (select *, row_number() over () as n from delivery) numbered where n % ${deliveriesPerAttempt} = 0
  `.execute(database);
}

/** Deliveries of dead webhooks: parked, waiting for a retry, and leased by a process that does not exist. */
async function seedQueue(database: Database): Promise<void> {
  await sql`
    with dead as (select id as webhook_id from webhooks where url like '%/silent/%'),
    event as (select id as event_id from events where name = 'org.created' order by position desc limit 1),
    given as (
      select dead.*, event.*, n, n > ${parkedPerWebhook + retriesPerWebhook} as leased, n <= ${parkedPerWebhook} as parked
      from dead, event, generate_series(1, ${parkedPerWebhook + retriesPerWebhook + leasedPerWebhook}::int) n
    )
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, due_at, parked, lease_token, leased_at,
      attempt_count, cycle_attempts)
    select uuid_v7(), event_id, 'org.created', webhook_id, 'event',
      case when parked then queue_now() else queue_now() + (1 + random()) * interval '6 hours' end, parked,
      case when leased then gen_random_uuid() end, case when leased then now() end, 1, 1
    from given
  `.execute(database);
}

async function holdSnapshot({ openClient }: System): Promise<() => Promise<void>> {
  const reader = openClient();
  await reader.connect();
  await reader.query('begin isolation level repeatable read; select count(*) from webhooks');
  return () => reader.end();
}

function compare(load: string, empty: Costs, full: Costs, held: Costs): Figure[] {
  return (Object.keys(parts) as Part[]).flatMap((part) => {
    const [none, with_, last] = [empty[part], full[part], held[part]];
    const times = [none, with_, last].map(({ ms }) => ms.toFixed(3)).join(', ');
    const pages = [none, with_, last].map((one) => one.pages.toFixed(1)).join(', ');
    return [
      {
        name: `${part}, ${load}, full to empty`,
        reached: with_.ms / none.ms,
        unit: '',
        asked: { atMost: 1.25 },
        note: `${times} ms per delivery; ${pages} pages`,
      },
      {
        name: `${part}, ${load}, full with a held snapshot to empty`,
        reached: last.ms / none.ms,
        unit: '',
        asked: { atMost: 2 },
      },
    ];
  });
}

/** Once an hour, so that the time of the check is what matters. */
function figuresOfRetention(...[empty, full, held]: Measured[]): Figure[] {
  const times = [empty, full, held].map((one) => one?.retention.ms.toFixed(1)).join(', ');
  const reached = Math.max(full?.retention.ms ?? Number.NaN, held?.retention.ms ?? Number.NaN);
  return [
    {
      name: 'retention, check of one day',
      reached,
      unit: 'ms',
      asked: { atMost: 250 },
      note: times,
    },
  ];
}

function figureOfRetries(...all: Measured[]): Figure {
  const latest = all.map(({ retryMs }) => quantile(retryMs, 0.99));
  return {
    name: 'retry of a healthy webhook, due after 8 to 12 s, p99 of the longest state',
    reached: Math.max(...latest) / 1_000,
    unit: 's',
    asked: { atMost: 12.5 },
    note: `${latest.map((ms) => (ms / 1_000).toFixed(2)).join(', ')} s`,
  };
}
