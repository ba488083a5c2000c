/**
 * Tests that the statements of the queue read by index whatever the tables held when they were planned: a connection keeps
 * its plans, and autovacuum often sees the queue empty.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDatabase, sql, type Database, type Transaction } from '../../src/database/database.ts';
import { claimParked, listParked } from '../../src/webhooks/queue/dispatch/claim.ts';
import { loadDeliveries } from '../../src/webhooks/queue/dispatch/load-deliveries.ts';
import { findWork } from '../../src/webhooks/queue/find-work.ts';
import { updateWebhookHealth } from '../../src/webhooks/queue/health/update-webhook-health.ts';
import { readOverview } from '../../src/webhooks/management/overview.ts';
import { joinWorkers } from '../../src/webhooks/queue/workers.ts';
import { recordAttempts } from '../../src/webhooks/queue/record/record.ts';
import { recoverLeases } from '../../src/webhooks/queue/record/recover-leases.ts';
import { queueSettings } from '../../src/webhooks/queue/worker.ts';
import { openTestDatabase } from '../support/database.ts';
import { announce, put } from '../support/directory.ts';
import { attemptOf, claimWith, failed, fanOutWith, newLease } from '../support/queue-steps.ts';
import { makeKey } from '../support/service.ts';

const start = '00000000-0000-0000-0000-000000000000';
const timedOut = { statusCode: null, error: 'timeout' } as const;
/** Deliveries of each kind in a full queue. */
const many = 5_000;

type Node = {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Index Cond'?: string;
  Filter?: string;
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
  'fan_out reads all of broadcasts_position_key ()',
]);

/** What the queue held, and autovacuum saw, when the plans were made. */
const states: Record<string, (filled: Database, webhooks: string[]) => Promise<void>> = {
  'the queue was empty': async () => {},
  'little waited': (filled, webhooks) => fill(filled, webhooks, 20),
  'all that waited was gone': async (filled, webhooks) => {
    await fill(filled, webhooks, many);
    for (const table of ['pending_deliveries', 'webhook_outcomes'])
      await sql`delete from ${sql.table(table)}`.execute(filled);
  },
};

/** Queues so many deliveries of each kind for the first webhook, and outcomes of all. */
async function fill(filled: Database, webhooks: string[], count: number): Promise<void> {
  await sql`
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, due_at, parked, lease_token, leased_at)
    select uuid_v7(), uuid_v7(), 'org.created', ${webhooks[0]}, 'event', queue_now() + due, parked, token, leased
    from generate_series(1, ${count}::int), (values
      (interval '-1 hour', true, null::uuid, null::timestamptz), ('-1 hour', false, null, null), ('1 hour', false, null, null),
      ('20 seconds', false, gen_random_uuid(), queue_now())) as state(due, parked, token, leased)
  `.execute(filled);
  await sql`
    insert into webhook_outcomes (webhook_id, verdict, gone)
    select id, 'succeeded', false from unnest(${webhooks}::uuid[]) id, generate_series(1, greatest(${count}::int / 500, 1))
  `.execute(filled);
}

for (const [state, prepare] of Object.entries(states))
  test(`plans made when ${state}, and autovacuum had seen it, read a full queue by index`, async (t) => {
    const { database: filled, connection } = await openTestDatabase();
    const { appId } = await makeKey({ database: filled });
    await put(filled, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
    // As many as an index saves something for.
    await sql`
      with made as (insert into apps (id, name) select uuid_v7(), 'App' from generate_series(1, 300) returning id)
      insert into app_members (app_id, email, role) select id, 'owner@example.org', 'owner' from made
    `.execute(filled);
    const { rows } = await sql<{ id: string }>`
    insert into webhooks (id, app_id, url, secret)
    select uuid_v7(), ${appId}, 'https://example.org/', '' from generate_series(1, 300) returning id
  `.execute(filled);
    const webhooks = rows.map(({ id }) => id);
    await prepare(filled, webhooks);
    await sql`vacuum analyze`.execute(filled);
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
      const rooms = new Map(webhooks.map((id) => [id, 8]));
      const { leased: parked } = await claimParked(worker, lease, rooms);
      const leased = [...born, ...due, ...parked];
      await loadDeliveries(worker, leased);
      await recordAttempts(
        worker,
        leased.map((one) => attemptOf(one, { ...timedOut, ...failed })),
      );
      while ((await updateWebhookHealth(worker, 1_000_000)).more);
      await recoverLeases(worker, { backoff: { baseMs: 1, factor: 1 }, leaseMs: 60_000 });
    }

    await runAll();
    await fill(filled, webhooks, many);
    const plans = await worker.transaction().execute(readPlans);
    assert.ok(plans.size >= 10);
    const { rows: indexes } = await sql<{ name: string; first: string; partial: boolean }>`
      select relname as name, pg_get_indexdef(indexrelid, 1, true) as first, indpred is not null as partial
      from pg_index join pg_class on oid = indexrelid
    `.execute(filled);
    const found: string[] = [];
    for (const [name, plan] of plans)
      for (const node of nodesOf(plan)) {
        const statement = name.replace(/_[0-9a-f]+$/, '');
        if (node['Node Type'] === 'Seq Scan')
          found.push(`${statement} reads ${node['Relation Name']}`);
        const index = indexes.find((one) => one.name === node['Index Name']);
        const cond = node['Index Cond'] ?? '';
        if (index && !cond.includes(`(${index.first} `))
          found.push(`${statement} reads all of ${index.name} (${cond})`);
        if (index?.partial === false && /parked|lease_token IS|webhook_id/.test(node.Filter ?? ''))
          found.push(`${statement} filters ${index.name} by ${node.Filter}`);
        if (node['Join Filter']) found.push(`${statement} joins by ${node['Join Filter']}`);
      }
    assert.deepEqual(
      found.filter((each) => !readWhole.has(each)),
      [],
    );

    const before = await countRead(worker);
    await runAll();
    const read = (await countRead(worker)) - before;
    assert.ok(read > 0 && read < many / 4, `${read} of ${4 * many} rows were read`);
  });

test('the overview reads few of the deliveries of a webhook that has failed for days, next to others that seldom fail', async (t) => {
  const { database: filled, connection } = await openTestDatabase();
  const { appId } = await makeKey({ database: filled });
  await sql`insert into app_members (app_id, email, role) values (${appId}, 'overview@example.org', 'viewer')`.execute(
    filled,
  );
  await sql`select ensure_partitions(current_date - 10, current_date)`.execute(filled);
  const { rows } = await sql<{ id: string }>`
    insert into webhooks (id, app_id, url, secret)
    select uuid_v7(), ${appId}, 'https://example.org/', '' from generate_series(1, 200) returning id
  `.execute(filled);
  const [failing] = rows;
  await sql`
    insert into webhook_health (webhook_id, last_failure_at, exhausted_in_a_row) values (${failing?.id}, now(), 6000)
  `.execute(filled);
  await sql`
    insert into deliveries (id, event_id, event, webhook_id, status, attempt_count, created_at, completed_at)
    select uuid_v7(at), uuid_v7(at), 'org.created', w.id, 'failed', 6, at, at
    from webhooks w cross join generate_series(1, case when w.id = ${failing?.id} then 6000 else 10 end) n
    cross join lateral (
      select now() - n * interval '1 day' / case when w.id = ${failing?.id} then 600 else 1 end as at
    ) made
  `.execute(filled);
  await sql`vacuum analyze`.execute(filled);
  const one = openDatabase(connection, { applicationName: 'test', poolSize: 1 });
  t.after(() => one.destroy());
  const count = async () => {
    await sql`select pg_stat_force_next_flush()`.execute(one);
    const read = await sql<{ rows: number }>`
      select sum(idx_tup_read)::int8 as rows from pg_stat_user_indexes where relname like 'deliveries%'
    `.execute(one);
    return read.rows[0]?.rows ?? assert.fail();
  };
  const before = await count();
  const { webhooks } = await readOverview(one, 'overview@example.org');
  assert.deepEqual(
    webhooks.map(({ unsent }) => unsent),
    [6000],
  );
  const read = (await count()) - before;
  assert.ok(read < 1_000, `${read} of 8,000 rows were read`);
});
