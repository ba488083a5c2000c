import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../src/database/database.ts';
import { claim, roundStart, type ClaimOptions } from '../src/webhooks/queue/claim.ts';
import type { Deliverable } from '../src/webhooks/sending/deliverable.ts';
import { fanOut } from '../src/webhooks/queue/fan-out.ts';
import { recordAttempts } from '../src/webhooks/queue/record.ts';
import type { RecordedAttempt } from '../src/webhooks/sending/deliver.ts';
import { recoverLeases } from '../src/webhooks/queue/recover-leases.ts';
import { rotatePartitions } from '../src/webhooks/queue/retention.ts';
import { announce, put } from './support/directory.ts';
import { makeKey, startTestService } from './support/service.ts';

// No worker runs: the tests call each step themselves.
const service = await startTestService();
const { database } = service;
await put(database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
const backoff = { baseMs: 1, factor: 1 };
const deactivateAfter = 5;
const leaseMs = 60_000;

const publish = () => announce(database);
const room = { total: 1_000, failing: 1_000, perWebhook: 8 };
const claimAll = (options: Partial<ClaimOptions> = {}) =>
  claim(database, { room, inFlight: new Map(), cursor: null, phase: 0, leaseMs, ...options });
const noLease = { deactivateAfter, endedLeases: [] };

async function register(key = service.key): Promise<string> {
  const { body } = await service.call('/webhooks', {
    method: 'POST',
    key,
    json: { url: 'https://example.org/' },
  });
  return body.data.id;
}

async function clear(): Promise<void> {
  await sql`delete from pending_deliveries`.execute(database);
  await sql`delete from webhooks`.execute(database);
  await fanOut(database);
}

function outcome(
  delivery: Deliverable,
  statusCode: number,
  verdict: RecordedAttempt['verdict'],
): RecordedAttempt {
  return {
    deliveryId: delivery.id,
    leaseToken: delivery.leaseToken,
    webhookId: delivery.webhookId,
    number: delivery.number,
    cycleAttempt: delivery.cycleAttempt,
    trigger: delivery.trigger,
    verdict,
    startedAt: new Date(),
    durationMs: 1,
    statusCode,
    error: null,
    responseHeaders: null,
    responseBody: null,
  };
}

const attemptsOf = async (id: string) =>
  (
    await sql<{
      number: number;
      error: string | null;
    }>`select number, error from attempts where delivery_id = ${id} order by number`.execute(
      database,
    )
  ).rows;

test('an event is fanned out once, however many workers try, and positions follow the order of commit', async () => {
  await clear();
  await Promise.all([register(), register()]);
  const ids = [await publish(), await publish(), await publish()];
  const done = await Promise.all([
    fanOut(database),
    fanOut(database),
    fanOut(database),
    fanOut(database),
  ]);
  const rest = await fanOut(database);
  assert.equal(
    [...done, rest].reduce((sum, { deliveries }) => sum + deliveries, 0),
    6,
  );
  const { rows } = await sql<{
    id: string;
  }>`select id from events where id = any(${ids}::uuid[]) order by position`.execute(database);
  assert.deepEqual(
    rows.map(({ id }) => id),
    ids,
  );
});

test('a delivery is claimed by one worker, and its attempt is counted before it is made', async () => {
  await clear();
  await register();
  await publish();
  await fanOut(database);
  const claims = await Promise.all([claimAll(), claimAll(), claimAll()]);
  const claimed = claims.flatMap(({ deliveries }) => deliveries);
  assert.equal(claimed.length, 1);
  assert.deepEqual([claimed[0]?.number, claimed[0]?.cycleAttempt], [1, 1]);
});

test('a webhook gets no more than its share, and its backlog does not keep others waiting', async () => {
  await clear();
  const busy = await register();
  for (let index = 0; index < 20; index += 1) await publish();
  await fanOut(database);
  const calm = await register();
  await publish();
  await fanOut(database);
  const first = await claimAll();
  assert.deepEqual(
    [
      first.deliveries.filter(({ webhookId }) => webhookId === busy).length,
      first.deliveries.filter(({ webhookId }) => webhookId === calm).length,
    ],
    [8, 1],
  );
  const second = await claimAll({ inFlight: new Map([[busy, 8]]) });
  assert.equal(second.deliveries.length, 0);
  assert.equal((await claimAll({ inFlight: new Map([[busy, 5]]) })).deliveries.length, 3);
});

test('a claim by webhook continues after the webhooks of the previous claim', async () => {
  await clear();
  const keys = await Promise.all(Array.from({ length: 7 }, () => makeKey(service)));
  for (const { key } of keys) await Promise.all(Array.from({ length: 20 }, () => register(key)));
  await publish();
  await fanOut(database);
  const first = await claimAll({ cursor: roundStart });
  assert.equal(first.deliveries.length, 128);
  assert.equal(first.complete, false);
  const second = await claimAll({ cursor: first.nextCursor });
  assert.deepEqual(
    [second.deliveries.length, second.nextCursor, second.complete],
    [12, null, true],
  );
});

test('a claim by webhook finds due deliveries behind a backlog that fills a claim by time', async () => {
  await clear();
  const busy = await register();
  for (let index = 0; index < 600; index += 1) await publish();
  while ((await fanOut(database)).events > 0);
  const calm = await register();
  await publish();
  await fanOut(database);
  const inFlight = new Map([[busy, 8]]);
  const byTime = await claimAll({ inFlight });
  assert.deepEqual([byTime.deliveries.length, byTime.complete], [0, false]);
  const byWebhook = await claimAll({ inFlight, cursor: roundStart });
  assert.deepEqual(
    byWebhook.deliveries.map(({ webhookId }) => webhookId),
    [calm],
  );
});

test('with little room, the deliveries that have been due the longest come first', async () => {
  await clear();
  await Promise.all([register(), register(), register()]);
  const events: string[] = [];
  for (let index = 0; index < 4; index += 1) {
    events.unshift(await publish());
    await fanOut(database);
    await sql`update pending_deliveries set due_at = due_at + interval '1 minute' - ${index + 1} * interval '2 minutes'
      where event_id = ${events[0]}`.execute(database);
  }
  for (const event of events) {
    const { deliveries } = await claimAll({ room: { ...room, total: 3 } });
    assert.equal(new Set(deliveries.map(({ webhookId }) => webhookId)).size, 3);
    const { rows } = await sql<{ event_id: string }>`
      select distinct event_id from pending_deliveries where id = any(${deliveries.map(({ id }) => id)}::uuid[])
    `.execute(database);
    assert.deepEqual(rows, [{ event_id: event }]);
  }
});

test('in a crowded process, each webhook without a running attempt still gets one', async () => {
  await clear();
  const [busy, calm] = [await register(), await register()];
  for (let index = 0; index < 5; index += 1) await publish();
  await fanOut(database);
  const { deliveries } = await claimAll({
    room: { ...room, perWebhook: 1 },
    inFlight: new Map([[busy, 1]]),
  });
  assert.deepEqual(
    deliveries.map(({ webhookId }) => webhookId),
    [calm],
  );
});

test('failing webhooks get at most their share', async () => {
  await clear();
  const [failing, healthy] = [await register(), await register()];
  await sql`update webhooks set last_success_at = now() - interval '1 minute', last_failure_at = now()
    where id = ${failing}`.execute(database);
  for (let index = 0; index < 6; index += 1) await publish();
  await fanOut(database);
  const { deliveries } = await claimAll({ room: { ...room, failing: 2 } });
  const claimedBy = (id: string) => deliveries.filter(({ webhookId }) => webhookId === id);
  assert.deepEqual([claimedBy(failing).length, claimedBy(healthy).length], [2, 6]);
  assert.ok(claimedBy(failing).every((delivery) => delivery.failing));
});

test('a claim returns when the next delivery is due', async () => {
  await clear();
  await register();
  await publish();
  await fanOut(database);
  await sql`update pending_deliveries set due_at = queue_now() + interval '1 hour'`.execute(
    database,
  );
  const { deliveries, nextDueMs } = await claimAll();
  assert.equal(deliveries.length, 0);
  assert.ok(nextDueMs !== null && nextDueMs > 3_500_000 && nextDueMs <= 3_600_000);
});

test('a claim returns the data of an event once and sets it in each delivery', async () => {
  await clear();
  await Promise.all([register(), register(), register()]);
  await publish();
  await publish();
  await fanOut(database);
  const { deliveries } = await claimAll();
  assert.equal(deliveries.length, 6);
  for (const { data } of deliveries) assert.equal(JSON.parse(data).slug, 'acme');
});

test('a delivery whose secret cannot be read is postponed without counting an attempt', async () => {
  await clear();
  await register();
  await publish();
  await fanOut(database);
  for (let turn = 0; turn < 8; turn += 1) {
    await sql`update pending_deliveries set due_at = now()`.execute(database);
    const { deliveries } = await claimAll();
    assert.deepEqual([deliveries[0]?.number, deliveries[0]?.cycleAttempt], [1, 1]);
    const unsent = outcome(deliveries[0] as Deliverable, 200, { kind: 'postponed', waitMs: 1 });
    await recordAttempts(database, [{ ...unsent, statusCode: null }], {
      deactivateAfter,
      endedLeases: [unsent.leaseToken],
    });
    assert.deepEqual(await attemptsOf(unsent.deliveryId), []);
  }
});

test('many webhooks make a batch of events smaller, and each event still goes to all of them', async () => {
  await clear();
  const count = 5_001;
  await sql`
    insert into webhooks (id, app_id, url, secret)
    select uuid_v7(), ${service.appId}, 'https://example.org/', '' from generate_series(1, ${count})
  `.execute(database);
  for (let index = 0; index < 12; index += 1) await publish();
  const batches = [await fanOut(database), await fanOut(database), await fanOut(database)];
  assert.deepEqual(batches, [
    { events: 9, deliveries: 9 * count },
    { events: 3, deliveries: 3 * count },
    { events: 0, deliveries: 0 },
  ]);
});

test('an expired lease is an interrupted attempt, and a worker that wakes too late records nothing', async () => {
  await clear();
  await register();
  await publish();
  await fanOut(database);
  const {
    deliveries: [frozen],
  } = await claimAll({ leaseMs: 0 });
  assert.ok(frozen);
  const { recorded } = await recoverLeases(database, backoff, deactivateAfter);
  assert.deepEqual(
    recorded.map(({ deliveryId }) => deliveryId),
    [frozen.id],
  );
  assert.deepEqual(await attemptsOf(frozen.id), [{ number: 1, error: 'interrupted' }]);
  await recordAttempts(database, [outcome(frozen, 200, { kind: 'succeeded' })], noLease);
  assert.deepEqual(await attemptsOf(frozen.id), [{ number: 1, error: 'interrupted' }]);
  const { rows } = await sql<{
    count: number;
  }>`select count(*) from pending_deliveries where id = ${frozen.id}`.execute(database);
  assert.equal(rows[0]?.count, 1, 'the delivery goes on');
});

/** A delivery that a frozen worker claimed, and that was claimed again after its lease expired. */
async function claimTwice(): Promise<{ late: Deliverable; fresh: Deliverable }> {
  await clear();
  await register();
  await publish();
  await fanOut(database);
  const [late] = (await claimAll({ leaseMs: 0 })).deliveries;
  await recoverLeases(database, backoff, deactivateAfter);
  await sql`update pending_deliveries set due_at = now()`.execute(database);
  const [fresh] = (await claimAll()).deliveries;
  assert.ok(late && fresh);
  return { late, fresh };
}

test('a batch distinguishes a late attempt from the one that replaced it', async () => {
  const { late, fresh } = await claimTwice();
  await recordAttempts(
    database,
    [outcome(late, 500, { kind: 'retry', waitMs: 1 }), outcome(fresh, 200, { kind: 'succeeded' })],
    noLease,
  );
  assert.deepEqual(await attemptsOf(fresh.id), [
    { number: 1, error: 'interrupted' },
    { number: 2, error: null },
  ]);
});

test('a lease with open deliveries stays, even if the batch has late attempts of it', async () => {
  const { late, fresh } = await claimTwice();
  await recordAttempts(database, [outcome(late, 500, { kind: 'retry', waitMs: 1 })], {
    deactivateAfter,
    endedLeases: [late.leaseToken, fresh.leaseToken],
  });
  const { rows } = await sql<{ token: string }>`
    select token from leases where token in (${late.leaseToken}, ${fresh.leaseToken})
  `.execute(database);
  assert.deepEqual(rows, [{ token: fresh.leaseToken }]);
});

test('a delivery whose event was dropped is cancelled', async () => {
  await clear();
  await register();
  const event = await publish();
  await fanOut(database);
  await sql`delete from events where id = ${event}`.execute(database);
  const { deliveries, cancelled } = await claimAll();
  assert.deepEqual([deliveries, cancelled], [[], 1]);
});

for (const [name, codes, after, expected] of [
  ['a final 410 deactivates', [410, 200], 5, 'gone'],
  ['enough exhausted deliveries in a row deactivate', [500, 500, 200], 2, 'failing'],
  ['enough of them after a success deactivate', [500, 200, 500, 500, 200], 2, 'failing'],
  ['too few in a row do not', [500, 200, 500, 200], 2, null],
] as const) {
  test(`${name}, whatever follows in the same batch`, async () => {
    await clear();
    const webhook = await register();
    for (const _ of codes) await publish();
    await fanOut(database);
    const { deliveries } = await claimAll();
    const attempts = deliveries.map((delivery, index) =>
      outcome(delivery, codes[index] ?? 0, {
        kind: codes[index] === 200 ? 'succeeded' : 'failed',
      }),
    );
    await recordAttempts(database, attempts, { deactivateAfter: after, endedLeases: [] });
    const { body } = await service.call(`/webhooks/${webhook}`);
    assert.equal(body.data.deactivatedReason, expected);
  });
}

test('crashes never cause a seventh attempt or a deactivation', async () => {
  await clear();
  const webhook = await register();
  await publish();
  await fanOut(database);
  let id = '';
  for (let crash = 1; crash <= 6; crash += 1) {
    await sql`update pending_deliveries set due_at = now()`.execute(database);
    const {
      deliveries: [delivery],
    } = await claimAll({ leaseMs: 0 });
    assert.equal(delivery?.number, crash);
    id = delivery?.id ?? '';
    await recoverLeases(database, backoff, deactivateAfter);
  }
  assert.equal((await claimAll()).deliveries.length, 0);
  const { rows } = await sql<{ status: string; exhausted: number }>`
    select d.status, w.exhausted_in_a_row as exhausted from deliveries d, webhooks w where d.id = ${id} and w.id = ${webhook}
  `.execute(database);
  assert.deepEqual(rows, [{ status: 'failed', exhausted: 0 }]);
  assert.equal((await attemptsOf(id)).length, 6);
});

test('workers that record for the same webhooks wait for each other', async () => {
  await clear();
  await Promise.all([register(), register(), register()]);
  for (let index = 0; index < 8; index += 1) await publish();
  await fanOut(database);
  const { deliveries } = await claimAll();
  assert.equal(deliveries.length, 24);
  const shuffled = [0, 1, 2, 3].map((worker) =>
    deliveries.filter((_, index) => index % 4 === worker),
  );
  await Promise.all(
    shuffled.map((part, worker) =>
      recordAttempts(
        database,
        (worker % 2 ? part.toReversed() : part).map((each) =>
          outcome(each, 200, { kind: 'succeeded' }),
        ),
        noLease,
      ),
    ),
  );
  const { rows } = await sql<{ count: number }>`select count(*) from pending_deliveries`.execute(
    database,
  );
  assert.equal(rows[0]?.count, 0);
});

test('expired days are dropped as a whole, unless a pending delivery needs one', async () => {
  await clear();
  await register();
  await publish();
  await fanOut(database);
  // Forty days ago, by moving what is there: ids hold the time.
  await sql`select ensure_partitions(current_date - 41, current_date - 39)`.execute(database);
  await sql`
    with old as (select uuid_v7(now() - interval '40 days') as id),
    event as (insert into events (id, name, audience, data, created_at, position)
      select id, 'org.created', 'global', '{}', now() - interval '40 days', nextval('event_positions') from old returning id)
    update pending_deliveries set event_id = event.id from event
  `.execute(database);
  const held: string[] = [];
  const kept = await rotatePartitions(database, 30, (each) => held.push(each));
  const day = (
    await sql<{
      day: string;
    }>`select to_char((now() - interval '40 days') at time zone 'utc', 'YYYYMMDD') as day`.execute(
      database,
    )
  ).rows[0]?.day;
  assert.ok(!kept.includes(`events_${day}`), 'the event of a pending delivery stays');
  assert.equal(held.length, 1);
  assert.ok(kept.length > 0);
  await sql`delete from pending_deliveries`.execute(database);
  assert.ok((await rotatePartitions(database, 30)).includes(`events_${day}`));
  assert.deepEqual(await rotatePartitions(database, 30), []);
});

test('expired days stay while one of their events waits for fan-out', async () => {
  await clear();
  await sql`select ensure_partitions(current_date - 41, current_date - 39)`.execute(database);
  const { rows } = await sql<{ day: string }>`
    insert into events (id, name, audience, data)
    select uuid_v7(old.at), 'org.created', 'global', '{}' from (select now() - interval '40 days' as at) old
    returning to_char((now() - interval '40 days') at time zone 'utc', 'YYYYMMDD') as day
  `.execute(database);
  const partition = `events_${rows[0]?.day}`;
  assert.ok(!(await rotatePartitions(database, 30)).includes(partition));
  assert.equal((await fanOut(database)).events, 1);
  assert.ok((await rotatePartitions(database, 30)).includes(partition));
});
