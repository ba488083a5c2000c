/** Tests how events leave the outbox: once, in order, and with a lease for each delivery that has room. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../../src/database/database.ts';
import { countRows } from '../../support/count-rows.ts';
import { announce, put } from '../../support/directory.ts';
import {
  failed,
  fanOutWith,
  newLease,
  recordNew,
  room,
  succeeded,
} from '../../support/queue-steps.ts';
import { updateWebhookHealth } from '../../../src/webhooks/queue/health/update-webhook-health.ts';
import { startTestService } from '../../support/service.ts';

const service = await startTestService();
const { database } = service;
await put(database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);

const publish = () => announce(database);
const fanOut = (options: Parameters<typeof fanOutWith>[1] = {}) => fanOutWith(database, options);

async function register(): Promise<string> {
  const json = { url: 'https://example.org/' };
  return (await service.call('/webhooks', { method: 'POST', json })).body.data.id;
}

async function clear(): Promise<void> {
  await sql`delete from pending_deliveries`.execute(database);
  await sql`delete from webhooks`.execute(database);
  await sql`delete from outbox`.execute(database);
}

type Pending = {
  webhookId: string;
  parked: boolean;
  token: string | null;
  attempts: number;
  cycle: number;
  waitMs: number;
};

async function pending(): Promise<Pending[]> {
  const { rows } = await sql<Pending>`
    select webhook_id as "webhookId", parked, lease_token as token, attempt_count as attempts, cycle_attempts as cycle,
      (extract(epoch from due_at - created_at) * 1000)::int as "waitMs"
    from pending_deliveries order by id
  `.execute(database);
  return rows;
}

async function positions(ids: string[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from events where id = any(${ids}::uuid[]) order by position
  `.execute(database);
  return rows.map(({ id }) => id);
}

const waitingEvents = () => countRows(database, sql`outbox`);

test('an event is fanned out once, however many processes try, and positions follow the order of commit', async () => {
  await clear();
  await Promise.all([register(), register()]);
  const ids = [await publish(), await publish(), await publish()];
  const done = await Promise.all([fanOut(), fanOut(), fanOut(), fanOut()]);
  const rest = await fanOut();
  const sum = [...done, rest].reduce((total, { deliveries }) => total + deliveries, 0);
  assert.equal(sum, 6);
  assert.equal((await pending()).length, 6);
  assert.deepEqual(await positions(ids), ids);
  assert.equal(await waitingEvents(), 0);
});

test('events that were published after a large transaction do not wait for all of it', async () => {
  await clear();
  await register();
  await sql`
    insert into outbox (id, name, audience, org_id, data)
    select uuid_v7(), 'org.created', 'global', id, '{}' from orgs, generate_series(1, 1000)
  `.execute(database);
  const later = [await publish(), await publish()];
  const { events, more } = await fanOut();
  assert.ok(more && events < 1_000, `${events} events`);
  assert.deepEqual(await positions(later), later);
  while ((await fanOut()).more);
  assert.equal(await waitingEvents(), 0);
});

test('while one process fans out, another one looks at nothing', async () => {
  await clear();
  await register();
  await publish();
  await database.transaction().execute(async (tx) => {
    assert.equal((await fanOutWith(tx)).deliveries, 1);
    await publish();
    const { busy, events, floor } = await fanOut();
    assert.deepEqual({ busy, events, floor }, { busy: true, events: 0, floor: null });
  });
  const { busy, events } = await fanOut();
  assert.deepEqual({ busy, events }, { busy: false, events: 1 });
});

test('an event whose fan-out is rolled back stays in the outbox', async () => {
  await clear();
  await register();
  const event = await publish();
  const rolledBack = database.transaction().execute(async (tx) => {
    await fanOutWith(tx);
    throw new Error('rolled back');
  });
  await assert.rejects(rolledBack, /rolled back/);
  assert.deepEqual([await waitingEvents(), await pending(), await positions([event])], [1, [], []]);
  assert.equal((await fanOut()).deliveries, 1);
});

test('a delivery with room is inserted with its lease, and its first attempt is counted', async () => {
  await clear();
  const webhookId = await register();
  const eventId = await publish();
  const lease = newLease(45_000);
  const { leased, parked } = await fanOut({ lease });
  assert.equal(leased.length, 1);
  const { number, cycleAttempt, leaseToken, trigger, ...delivery } =
    leased[0] as (typeof leased)[0];
  assert.deepEqual(
    { number, cycleAttempt, leaseToken, trigger },
    {
      number: 1,
      cycleAttempt: 1,
      leaseToken: lease.token,
      trigger: 'event',
    },
  );
  assert.deepEqual([delivery.webhookId, delivery.eventId], [webhookId, eventId]);
  assert.deepEqual(parked, []);
  assert.deepEqual(await pending(), [
    { webhookId, parked: false, token: lease.token, attempts: 1, cycle: 1, waitMs: 45_000 },
  ]);
});

test('leased deliveries have the data of their event and the health of their webhook', async () => {
  await clear();
  const [sick] = await Promise.all([register(), register()]);
  await recordNew(database, { webhookId: sick, ...failed });
  await updateWebhookHealth(database, 5);
  await publish();
  await publish();
  const { leased } = await fanOut();
  assert.equal(leased.length, 4);
  for (const one of leased) {
    assert.equal(JSON.parse(one.data).slug, 'acme');
    assert.ok(Date.parse(one.eventCreatedAt) > 0);
    assert.match(one.owner, /@example\.org$/);
  }
});

test('deliveries of a webhook without room are parked, and those of others are not', async () => {
  await clear();
  const [busy, calm] = [await register(), await register()];
  for (let index = 0; index < 3; index += 1) await publish();
  const { leased, parked } = await fanOut({ room: { ...room, full: [busy] } });
  const count = (id: string) => leased.filter(({ webhookId }) => webhookId === id).length;
  assert.deepEqual([count(busy), count(calm), parked], [0, 3, [busy]]);
  const rows = (await pending()).filter((row) => row.parked);
  assert.deepEqual(
    rows.map(({ webhookId, token, attempts, waitMs }) => ({ webhookId, token, attempts, waitMs })),
    Array.from({ length: 3 }, () => ({ webhookId: busy, token: null, attempts: 0, waitMs: 0 })),
  );
});

test('deliveries of a slow webhook are parked, and a webhook that has not been called gets a few', async () => {
  await clear();
  const [slow, quick, unknown] = [await register(), await register(), await register()];
  await recordNew(
    database,
    { webhookId: slow, ...succeeded, durationMs: 1_001 },
    { webhookId: quick, ...succeeded, durationMs: 1_000 },
  );
  await updateWebhookHealth(database, 5);
  for (let index = 0; index < 3; index += 1) await publish();
  const { leased, parked } = await fanOut({ room: { ...room, atFirst: 2 } });
  const latencies = leased.map(({ webhookId, latencyMs }) => ({ webhookId, latencyMs }));
  const of = (webhookId: string, latencyMs: number | null, count: number) =>
    Array.from({ length: count }, () => ({ webhookId, latencyMs }));
  assert.deepEqual(
    latencies.toSorted((x, y) => x.webhookId.localeCompare(y.webhookId)),
    [...of(quick, 1_000, 3), ...of(unknown, null, 2)],
  );
  assert.deepEqual(parked.toSorted(), [slow, unknown].toSorted());
});

test('webhooks that have not been called have a room of their own', async () => {
  await clear();
  await Promise.all([register(), register(), register()]);
  await publish();
  const { leased, parked } = await fanOut({ room: { ...room, unknown: 1 } });
  assert.deepEqual([leased.length, parked.length], [1, 2]);
});

test('a process leases its share of each webhook', async () => {
  await clear();
  const webhooks = [await register(), await register(), await register()];
  for (let index = 0; index < 4; index += 1) await publish();
  const { leased } = await fanOut({ room: { ...room, place: 1, workers: 5 } });
  const { rows } = await sql<{ id: string; share: number }>`
    select id, webhook_share(id, 8, 1, 5) as share from webhooks
  `.execute(database);
  for (const { id, share } of rows)
    assert.equal(leased.filter(({ webhookId }) => webhookId === id).length, share);
  assert.equal(rows.length, webhooks.length);
});

test('deliveries for which only the process has no room are parked, the oldest leased first', async () => {
  await clear();
  const webhooks = await Promise.all([register(), register(), register()]);
  for (const webhookId of webhooks) await recordNew(database, { webhookId, ...succeeded });
  await updateWebhookHealth(database, 5);
  await publish();
  const { leased, parked, floor } = await fanOut({ room: { ...room, total: 2 } });
  assert.deepEqual([leased.length, parked.length], [2, 1]);
  assert.notEqual(floor, null);
  const waiting = (await pending()).filter(({ token }) => token === null);
  assert.deepEqual(
    waiting.map((row) => [row.parked, row.attempts, row.waitMs]),
    [[true, 0, 0]],
  );
});

test('a fan-out takes as many events as there is room for, and at least one', async () => {
  await clear();
  await Promise.all([register(), register()]);
  const ids: string[] = [];
  for (let index = 0; index < 5; index += 1) ids.push(await publish());
  const first = await fanOut({ room: { ...room, total: 3 } });
  assert.deepEqual([first.events, first.leased.length, first.more], [1, 2, true]);
  assert.deepEqual(await positions(ids), ids.slice(0, 1));
  const second = await fanOut({ room: { ...room, total: 1, unknown: 1 } });
  assert.deepEqual([second.events, second.leased.length], [1, 1]);
  assert.equal((await fanOut()).events, 3);
});

test('a process that was not notified leaves young events to the one that was', async () => {
  await clear();
  await publish();
  const { events, floor } = await fanOut({ minAgeMs: 60_000 });
  assert.deepEqual([events, floor, await waitingEvents()], [0, null, 1]);
  await sql`update outbox set created_at = created_at - interval '1 minute'`.execute(database);
  assert.equal((await fanOut({ minAgeMs: 60_000 })).events, 1);
});

test('the floor moves past what was taken, also while a backlog waits', async () => {
  await clear();
  await register();
  for (let index = 0; index < 4; index += 1) await publish();
  let floor = '0';
  const taken: number[] = [];
  for (let turn = 0; turn < 3; turn += 1) {
    const done = await fanOut({ floor, room: { ...room, total: 2 } });
    taken.push(done.events);
    // Transactions of others hold it back.
    assert.ok(done.floor !== null && BigInt(done.floor) >= BigInt(floor));
    floor = done.floor;
  }
  assert.deepEqual(taken, [2, 2, 0]);
});

test('the floor stays below a transaction that publishes and commits late', async () => {
  await clear();
  let late = '';
  let floor: string | null = null;
  const early = await database.transaction().execute(async (tx) => {
    const { rows } = await sql<{ id: string }>`
      insert into outbox (id, name, audience, data) values (uuid_v7(), 'org.created', 'global', '{}') returning id
    `.execute(tx);
    late = rows[0]?.id ?? '';
    const other = await publish();
    const done = await fanOut();
    assert.equal(done.events, 1);
    floor = done.floor;
    return other;
  });
  assert.ok(floor !== null);
  const done = await fanOut({ floor });
  assert.equal(done.events, 1);
  assert.deepEqual(await positions([late, early]), [early, late]);
  assert.ok(done.floor !== null && BigInt(done.floor) >= BigInt(floor));
});

test('an entry that another session has locked is skipped, and is found again from the bottom', async () => {
  await clear();
  const [locked, free] = [await publish(), await publish()];
  const floor = await database.transaction().execute(async (tx) => {
    await sql`select from outbox where id = ${locked} for update`.execute(tx);
    const done = await fanOut();
    assert.equal(done.events, 1);
    return done.floor;
  });
  assert.ok(floor !== null);
  // Transactions of others decide whether the short look includes it.
  const short = await fanOut({ floor });
  assert.equal(short.events + (await fanOut()).events, 1);
  assert.deepEqual(await positions([locked, free]), [free, locked]);
});

test('an event whose day has no partition gets one, even after retention', async () => {
  await clear();
  await register();
  const { rows } = await sql<{ id: string }>`
    insert into outbox (id, name, audience, data, created_at)
    select uuid_v7(old.at), 'org.created', 'global', '{}', old.at
    from unnest(array[now() - interval '9 days', now() - interval '400 days']) as old(at) returning id
  `.execute(database);
  const { events, leased } = await fanOut();
  assert.deepEqual([events, leased.length, await waitingEvents()], [2, 2, 0]);
  assert.equal((await positions(rows.map(({ id }) => id))).length, 2);
});
