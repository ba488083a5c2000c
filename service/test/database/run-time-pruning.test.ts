/**
 * PostgreSQL 18 up to 18.4 may read freed memory, and end with all its connections, where a statement that locks or
 * changes rows meets another's change and prunes partitions as it runs (decision 5). None of ours does both.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { getTypeParser, openDatabase, sql, type Database } from '../../src/database/database.ts';
import { createPool } from '../../src/database/pool.ts';
import { claimParked, listParked } from '../../src/webhooks/queue/dispatch/claim.ts';
import { findWork } from '../../src/webhooks/queue/find-work.ts';
import { loadDeliveries } from '../../src/webhooks/queue/dispatch/load-deliveries.ts';
import { joinWorkers } from '../../src/webhooks/queue/workers.ts';
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
import { startTestService } from '../support/service.ts';

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
