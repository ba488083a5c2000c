/**
 * PostgreSQL 18 up to 18.4 may read freed memory, and end with all its connections, where a statement that locks or
 * changes rows meets another's change and prunes partitions as it runs (decision 5). None of ours does both.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import {
  getTypeParser,
  openDatabase,
  sql,
  type Database,
  type Transaction,
} from '../../src/database/database.ts';
import { createPool } from '../../src/database/pool.ts';
import { claimParked, listParked } from '../../src/webhooks/queue/dispatch/claim.ts';
import { findWork } from '../../src/webhooks/queue/find-work.ts';
import { loadDeliveries } from '../../src/webhooks/queue/dispatch/load-deliveries.ts';
import { joinWorkers } from '../../src/webhooks/queue/members.ts';
import { recordAttempts } from '../../src/webhooks/queue/record/record.ts';
import { recover } from '../../src/webhooks/replay/replay.ts';
import { recoverLeases } from '../../src/webhooks/queue/record/recover-leases.ts';
import { redeliver } from '../../src/webhooks/replay/redeliver.ts';
import { rotatePartitions } from '../../src/webhooks/history/retention.ts';
import { updateWebhookHealth } from '../../src/webhooks/queue/health/update-webhook-health.ts';
import { queueSettings } from '../../src/webhooks/queue/worker.ts';
import { testActor } from '../support/actor.ts';
import { announce, put } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import {
  attemptOf,
  claimWith,
  type Claim,
  endLeases,
  failed,
  fanOutToQueue,
  fanOutWith,
  newLease,
} from '../support/queue-steps.ts';
import { openTestDatabase } from '../support/database.ts';
import { makeKey, startTestService } from '../support/service.ts';

const service = await startTestService();
const { database } = service;
await put(database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);

async function clear(): Promise<void> {
  await sql`delete from pending_deliveries`.execute(database);
  await sql`delete from webhooks`.execute(database);
}

const start = '00000000-0000-0000-0000-000000000000';

type Plan = { changes: boolean; prunes: boolean; text: string };

/** A pool with these settings, and every plan that its statements run by. */
function openWatched(settings: Record<string, string>): { watched: Database; plans: Plan[] } {
  const plans: Plan[] = [];
  const options = Object.entries({
    search_path: 'orgdir,public',
    debug_print_plan: 'on',
    client_min_messages: 'log',
    ...settings,
  }).map(([name, value]) => `-c ${name}=${value}`);
  const pool = new pg.Pool({
    ...service.connection,
    options: options.join(' '),
    max: 4,
    types: { getTypeParser },
  });
  pool.on('connect', (client) =>
    client.on('notice', ({ detail: text = '' }) => {
      if (!text.includes('{PLANNEDSTMT')) return;
      const changes = /\{(LOCKROWS|MODIFYTABLE)\b/.test(text);
      plans.push({ changes, prunes: /:exec_pruning_steps \(/.test(text), text });
    }),
  );
  return {
    watched: new Kysely({ dialect: new PostgresDialect({ pool: createPool(pool) }) }),
    plans,
  };
}

const timedOut = { statusCode: null, error: 'timeout' } as const;

for (const [name, settings] of [
  ["a worker's settings", queueSettings],
  ['none of its settings', {}],
] as const)
  test(`what locks or changes rows prunes no partitions as it runs, with ${name}`, async (t) => {
    const { watched, plans } = openWatched(settings);
    t.after(() => watched.destroy());
    await clear();
    const { body } = await service.call('/webhooks', {
      method: 'POST',
      json: { url: 'https://example.org/' },
    });
    const webhookId: string = body.data.id;
    const lease = newLease();
    for (let count = 0; count < 3; count += 1) await announce(watched);
    await joinWorkers(watched, lease.token);
    const { events, published } = await findWork(watched, { events: '0', published: '0' }, 0);
    assert.deepEqual([events, published], [true, false]);

    const { leased: first } = await fanOutWith(watched);
    assert.equal(first.length, 3);
    await recordAttempts(
      watched,
      first.map((one) => attemptOf(one, { ...timedOut, verdict: { kind: 'retry', waitMs: 0 } })),
    );
    await updateWebhookHealth(watched, 1_000);
    const { leased: second } = await claimWith(watched, { perWebhook: 1 });
    assert.equal(second.length, 1);
    assert.deepEqual(await listParked(watched, start), [webhookId]);
    const { leased: parked } = await claimParked(watched, lease, new Map([[webhookId, 8]]));
    assert.equal(parked.length, 2);
    for (const leased of [second, parked]) {
      const { deliverable } = await loadDeliveries(watched, leased);
      await recordAttempts(
        watched,
        deliverable.map((one) => attemptOf(one, { ...timedOut, ...failed })),
      );
    }

    const since = new Date(Date.now() - 60_000);
    await watched
      .transaction()
      .execute((tx) => redeliver(tx, service.appId, webhookId, String(second[0]?.id)));
    await watched
      .transaction()
      .execute((tx) => recover(tx, testActor, { appId: service.appId, webhookId }, since, []));
    const third = await claimWith(watched);
    assert.equal(third.leased.length, 3);
    await endLeases(database);
    await recoverLeases(watched, { backoff: { baseMs: 1, factor: 1 } });
    await updateWebhookHealth(watched, 1);
    await rotatePartitions(watched, 30);

    assert.ok(
      plans.some(({ prunes }) => prunes),
      'the plans of plain reads show that it is seen',
    );
    assert.ok(plans.filter(({ changes }) => changes).length >= 10);
    const both = plans.filter(({ changes, prunes }) => changes && prunes);
    assert.deepEqual(
      both.map(({ text }) => text.slice(0, 200)),
      [],
    );
  });

test('a claim skips a delivery that another worker postponed meanwhile, and claims the rest', async (t) => {
  const worker = openDatabase(service.connection, {
    applicationName: 'claiming',
    settings: queueSettings,
  });
  t.after(() => worker.destroy());
  await clear();
  await service.call('/webhooks', { method: 'POST', json: { url: 'https://example.org/' } });
  for (let count = 0; count < 6; count += 1) await announce(database);
  await fanOutToQueue(database);
  const { rows } = await sql<{ id: string }>`
    select id from pending_deliveries order by id
  `.execute(database);
  const ids = rows.map(({ id }) => id);
  // The claim stops at its look at the clock: what it will choose from is settled, and nothing is locked.
  await sql`create or replace function queue_now() returns timestamptz language plpgsql volatile as $$
    begin perform pg_advisory_xact_lock_shared(4711); return clock_timestamp(); end $$`.execute(
    database,
  );
  const claimed = await database.connection().execute(async (other) => {
    await sql`select pg_advisory_lock(4711)`.execute(other);
    const claiming = claimWith(worker);
    await eventually(async () => {
      const waiting = await sql`
        select from pg_stat_activity
        where wait_event = 'advisory' and datname = current_database() and application_name = 'claiming'
      `.execute(other);
      return waiting.rows.length === 1;
    });
    await sql`
      update pending_deliveries set due_at = due_at - interval '1 second'
      where id = any(${ids.slice(2, 4)}::uuid[])
    `.execute(other);
    await sql`select pg_advisory_unlock(4711)`.execute(other);
    return claiming;
  });
  const next = await claimWith(worker);
  const sortedIds = ({ leased }: Claim) => leased.map(({ id }) => id).sort();
  assert.deepEqual(
    [sortedIds(claimed), sortedIds(next)],
    [[...ids.slice(0, 2), ...ids.slice(4)], ids.slice(2, 4)],
  );
});

type Node = {
  'Node Type': string;
  'Relation Name'?: string;
  'Join Filter'?: string;
  Plans?: Node[];
};

function* nodesOf(node: Node): Generator<Node> {
  yield node;
  for (const child of node.Plans ?? []) yield* nodesOf(child);
}

/** The plans that a session keeps, by the names of its prepared statements. The arguments do not matter to them. */
async function readPlans(session: Transaction): Promise<Map<string, Node>> {
  const { rows } = await sql<{ name: string; parameters: number }>`
    select name, cardinality(parameter_types) as parameters from pg_prepared_statements
  `.execute(session);
  const plans = new Map<string, Node>();
  for (const { name, parameters } of rows) {
    const nulls =
      parameters === 0 ? '' : `(${Array.from({ length: parameters }, () => 'null').join()})`;
    const explained = await sql<{ 'QUERY PLAN': [{ Plan: Node }] }>`
      explain (format json) execute ${sql.id(name)}${sql.raw(nulls)}
    `.execute(session);
    plans.set(name, explained.rows[0]?.['QUERY PLAN'][0].Plan ?? assert.fail());
  }
  return plans;
}

async function countRead(session: Database): Promise<number> {
  await sql`select pg_stat_force_next_flush()`.execute(session);
  const { rows } = await sql<{ count: number }>`
    select coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) as count from pg_stat_user_tables
    where relname = 'pending_deliveries'
  `.execute(session);
  return rows[0]?.count ?? assert.fail();
}

/** Events for everyone go to all webhooks; the others read small tables, a few times a second at most. */
const readWhole = new Set([
  'fan_out reads webhooks',
  'fan_out reads broadcasts',
  'find_work reads broadcasts',
  'join_workers reads workers',
  'join_workers reads webhook_outcomes',
  'take_outcomes reads webhook_outcomes',
]);

test('plans made while the database was empty and analysed read a full queue by index', async (t) => {
  const { database: filled, connection } = await openTestDatabase();
  const { appId } = await makeKey({ database: filled });
  await put(filled, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
  await sql`vacuum analyze`.execute(filled);
  const { rows: webhooks } = await sql<{ id: string }>`
    insert into webhooks (id, app_id, url, secret)
    select uuid_v7(), ${appId}, 'https://example.org/', '' from generate_series(1, 3) returning id
  `.execute(filled);
  const worker = openDatabase(connection, {
    applicationName: 'test',
    poolSize: 1,
    settings: queueSettings,
  });
  t.after(() => worker.destroy());

  async function runAll(): Promise<void> {
    const lease = newLease();
    await joinWorkers(worker, lease.token);
    await announce(filled);
    await findWork(worker, { events: '0', published: '0' }, 0);
    const { leased: born } = await fanOutWith(worker, { lease });
    const { leased: due } = await claimWith(worker, { lease });
    await listParked(worker, start);
    const rooms = new Map(webhooks.map(({ id }) => [id, 8]));
    const { leased: parked } = await claimParked(worker, lease, rooms);
    const leased = [...born, ...due, ...parked];
    await loadDeliveries(worker, leased);
    await recordAttempts(
      worker,
      leased.map((one) => attemptOf(one, { ...timedOut, ...failed })),
    );
    while ((await updateWebhookHealth(worker, 1_000_000)).more);
    await recoverLeases(worker, { backoff: { baseMs: 1, factor: 1 } });
  }

  await runAll();
  await sql`
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, due_at, parked)
    select uuid_v7(), uuid_v7(), 'org.created', ${webhooks[0]?.id}, 'event', queue_now() - interval '1 hour', n > 10000
    from generate_series(1, 20000) as n
  `.execute(filled);
  const before = await countRead(worker);
  await runAll();
  const read = (await countRead(worker)) - before;
  assert.ok(read > 0 && read < 2_000, `${read} of 20,000 rows were read`);

  const plans = await worker.transaction().execute(readPlans);
  assert.ok(plans.size >= 10);
  const found: string[] = [];
  for (const [name, plan] of plans)
    for (const node of nodesOf(plan)) {
      const statement = name.replace(/_[0-9a-f]+$/, '');
      if (node['Node Type'] === 'Seq Scan')
        found.push(`${statement} reads ${node['Relation Name']}`);
      if (node['Join Filter']) found.push(`${statement} joins by ${node['Join Filter']}`);
    }
  assert.deepEqual(
    found.filter((each) => !readWhole.has(each)),
    [],
  );
});
