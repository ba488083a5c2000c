/** Tests how one process leases, sends and records deliveries; the tests call its tasks themselves. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test, type TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { loadConfig } from '../../../src/settings/config.ts';
import { sql } from '../../../src/database/database.ts';
import { createLogger } from '../../../src/runtime/log.ts';
import { createMetrics } from '../../../src/runtime/metrics.ts';
import { createSender } from '../../../src/webhooks/sending/attempt.ts';
import { systemClock } from '../../../src/webhooks/sending/clock.ts';
import { Dispatcher } from '../../../src/webhooks/queue/dispatch/dispatcher.ts';
import { startProbes } from '../../../src/webhooks/queue/health/healing.ts';
import { Room } from '../../../src/webhooks/queue/dispatch/room.ts';
import { createSigningKeys } from '../../../src/webhooks/sending/signing-keys.ts';
import { countRows } from '../../support/count-rows.ts';
import { openCuttableDatabase } from '../../support/cuttable-database.ts';
import { announce, put } from '../../support/directory.ts';
import { eventually } from '../../support/eventually.ts';
import { fanOutToQueue, fanOutWith } from '../../support/queue-steps.ts';
import { loopbackAllowed, startReceiver } from '../../support/receiver.ts';
import { startTestService } from '../../support/service.ts';

const service = await startTestService({ env: loopbackAllowed });
const { database } = service;
const { webhooks } = loadConfig({
  ...loopbackAllowed,
  WEBHOOK_RETRY_BASE_MS: '1',
  WEBHOOK_RETRY_FACTOR: '1',
});
await put(database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);

const log = createLogger('silent');

/** Over an empty queue. */
async function startDispatcher(t: TestContext, through = database) {
  await sql`delete from webhooks`.execute(database);
  await sql`delete from pending_deliveries`.execute(database);
  await sql`delete from outbox`.execute(database);
  const room = new Room(webhooks);
  const sender = createSender(webhooks);
  const signals: string[] = [];
  const dispatcher = new Dispatcher({
    database: through,
    sender,
    webhooks,
    room,
    signingKeys: createSigningKeys(service.secretBox),
    clock: systemClock,
    metrics: createMetrics(),
    serviceName: 'Service',
    version: '0',
    log,
    attemptLog: log,
    ingestPublished: async () => assert.fail('nothing is published by SQL'),
    wake: (step) => void signals.push(step),
  });
  t.after(async () => {
    await dispatcher.stop();
    await sender.close();
  });
  return { room, dispatcher, signals, sender };
}

/** Lets time pass for this process only. */
function mockTime(t: TestContext): { pass(ms: number): void } {
  const now = performance.now.bind(performance);
  let passedMs = 0;
  t.mock.method(performance, 'now', () => now() + passedMs);
  return { pass: (ms) => void (passedMs += ms) };
}

/** Parks what is due, and claims what is parked. */
async function claimAll(dispatcher: Dispatcher): Promise<void> {
  await dispatcher.parkAllDue();
  await dispatcher.claimAllParked();
}

async function publish(count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) await announce(database);
}

const waitingEvents = () => countRows(database, sql`outbox`);

async function register(url: string): Promise<string> {
  return (await service.call('/webhooks', { method: 'POST', json: { url } })).body.data.id;
}

type Counts = { leased: number; parked: number; attempts: number };

async function pendingOf(webhookId: string): Promise<Counts> {
  const { rows } = await sql<Counts>`
    select count(*) filter (where lease_token is not null) as leased, count(*) filter (where parked) as parked,
      coalesce(sum(attempt_count), 0)::int as attempts
    from pending_deliveries where webhook_id = ${webhookId}
  `.execute(database);
  return rows[0] ?? assert.fail();
}

async function endedOf(webhookId: string): Promise<{ status: string; by: string | null }[]> {
  const { rows } = await sql<{ status: string; by: string | null }>`
    select status, cancelled_by as by from deliveries where webhook_id = ${webhookId}
  `.execute(database);
  return rows;
}

/** Whether a statement waits for a lock. */
async function isAnyWaiting(): Promise<boolean> {
  const { rows } = await sql`
    select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()
  `.execute(database);
  return rows.length > 0;
}

const allParked = (webhookId: string, count: number) =>
  eventually(async () => {
    const counts = await pendingOf(webhookId);
    return counts.parked === count && counts;
  });

test('an event is sent with its fan-out, and a failed attempt falls due again soon', async (t) => {
  const { dispatcher, signals } = await startDispatcher(t);
  const receiver = await startReceiver((response, _, count) =>
    response.writeHead(count === 1 ? 500 : 200).end(),
  );
  const webhook = await register(receiver.url);
  await publish(1);
  await dispatcher.fanOutAll(0);
  await receiver.waitFor(1);
  await eventually(async () => signals.includes('due'));
  assert.deepEqual(signals.toSorted(), ['due', 'followers', 'health']);
  await eventually(async () => {
    await claimAll(dispatcher);
    return (await endedOf(webhook)).length > 0;
  });
  assert.deepEqual(await endedOf(webhook), [{ status: 'succeeded', by: null }]);
  assert.equal(receiver.received.length, 2);
});

test('leased deliveries of a quick webhook wait for its turn a moment and are then parked, uncounted', async (t) => {
  const { dispatcher, room, signals } = await startDispatcher(t);
  const held: ServerResponse[] = [];
  const receiver = await startReceiver((response, _, count) =>
    count === 1 ? response.end() : held.push(response),
  );
  const webhook = await register(receiver.url);
  await publish(1);
  await dispatcher.fanOutAll(0);
  await eventually(async () => (await endedOf(webhook)).length === 1);
  // Its speed is written with its health, which no task updates here.
  await sql`insert into webhook_health (webhook_id, exhausted_in_a_row, latency_ms) values (${webhook}, 0, 5)`.execute(
    database,
  );
  // However long the first attempt took on a busy machine, the room has seen this webhook answer at once.
  room.release(
    room.takeTest({ webhookId: webhook, owner: '', url: receiver.url }) ?? assert.fail(),
  );
  await publish(16);
  await dispatcher.fanOutAll(0);
  assert.deepEqual(await pendingOf(webhook), { leased: 8, parked: 8, attempts: 8 });
  await dispatcher.claimAllParked();
  await receiver.waitFor(9);
  assert.equal((await pendingOf(webhook)).leased, 16, 'as many as may start, and as many again');
  assert.equal(room.leasable(webhook), 0);
  await allParked(webhook, 8);
  assert.equal(signals.includes('parked'), true);
  for (const response of held) response.end();
  receiver.respond = (response) => response.end();
  await eventually(async () => {
    await dispatcher.claimAllParked();
    return receiver.received.length === 17;
  });
});

test('the end of an attempt wakes the claim of what is parked for its webhook, and only then', async (t) => {
  const { dispatcher, signals } = await startDispatcher(t);
  const waiting: ServerResponse[] = [];
  const receiver = await startReceiver((response) => void waiting.push(response));
  await register(receiver.url);
  await publish(3);
  await dispatcher.fanOutAll(0);
  await receiver.waitFor(2);
  assert.ok(signals.includes('parked'));
  const answer = async () => {
    signals.length = 0;
    const count = waiting.splice(0).map((response) => response.end()).length;
    await eventually(async () => signals.filter((each) => each === 'health').length === count);
  };
  await answer();
  assert.ok(signals.includes('parked'));
  await dispatcher.claimAllParked();
  await receiver.waitFor(3);
  await dispatcher.claimAllParked();
  await answer();
  assert.ok(!signals.includes('parked'), signals.join(' '));
});

test('what cannot wait for its turn is put back at once', async (t) => {
  const { dispatcher, room } = await startDispatcher(t);
  const receiver = await startReceiver();
  const webhook = await register(receiver.url);
  await publish(2);
  const fanningOut = dispatcher.fanOutAll(0);
  // Tests use up what the webhook may have in flight while the statement runs.
  const tests = [1, 2].map(() =>
    room.takeTest({ webhookId: webhook, owner: '', url: receiver.url }),
  );
  await fanningOut;
  assert.deepEqual(await allParked(webhook, 2), { leased: 0, parked: 2, attempts: 0 });
  assert.equal(receiver.received.length, 0);
  for (const each of tests) if (each) room.release(each);
  await eventually(async () => {
    await dispatcher.claimAllParked();
    return receiver.received.length === 2;
  });
});

test('no attempt begins whose lease leaves too little time to record it, so a process that was frozen sends nothing late', async (t) => {
  const time = mockTime(t);
  const { dispatcher } = await startDispatcher(t);
  const receiver = await startReceiver();
  const webhook = await register(receiver.url);
  await publish(3);
  const fanningOut = dispatcher.fanOutAll(0);
  time.pass(webhooks.leaseMarginMs / 2 + 1);
  await fanningOut;
  assert.deepEqual(await allParked(webhook, 3), { leased: 0, parked: 3, attempts: 0 });
  assert.equal(receiver.received.length, 0);
  await eventually(async () => {
    await dispatcher.claimAllParked();
    return receiver.received.length === 3;
  });
});

test('the backlog of a webhook that does not respond delays no other webhook', async (t) => {
  const { dispatcher } = await startDispatcher(t);
  const held: ServerResponse[] = [];
  const stuck = await startReceiver((response) => held.push(response));
  const webhook = await register(stuck.url);
  await publish(300);
  while ((await dispatcher.fanOutAll(0)) === 0);
  await stuck.waitFor(2);
  // All its deliveries are leased or parked; neither task finds any other.
  assert.equal((await pendingOf(webhook)).leased, 2);
  const calm = await startReceiver();
  const other = await register(calm.url);
  await sql`update webhooks set events = '{org.deleted}' where id = ${webhook}`.execute(database);
  await publish(1);
  await dispatcher.fanOutAll(0);
  await calm.waitFor(1);
  await sql`
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, due_at)
    select uuid_v7(), event_id, event, webhook_id, 'redelivery', queue_now() - interval '1 second' from pending_deliveries where webhook_id = ${other}
    union all
    select uuid_v7(), event_id, event, webhook_id, 'redelivery', queue_now() - interval '1 second' from deliveries where webhook_id = ${other}
  `.execute(database);
  await claimAll(dispatcher);
  await calm.waitFor(2);
  await eventually(async () => (await endedOf(other)).length === 2);
  assert.ok(stuck.received.length <= 8);

  stuck.respond = (response) => response.end();
  for (const response of held) response.end();
  await eventually(async () => {
    await Promise.all([claimAll(dispatcher), dispatcher.claimAllParked()]);
    return (await endedOf(webhook)).length === 300;
  });
  assert.equal(stuck.received.length, 300);
});

test('a blocked webhook is sent nothing until it is unblocked', async (t) => {
  const { dispatcher, room } = await startDispatcher(t);
  const receiver = await startReceiver();
  const webhook = await register(receiver.url);
  room.setBlocked([webhook]);
  await publish(2);
  await dispatcher.fanOutAll(0);
  await dispatcher.claimAllParked();
  assert.deepEqual(await pendingOf(webhook), { leased: 0, parked: 2, attempts: 0 });
  room.setBlocked([]);
  await dispatcher.claimAllParked();
  await receiver.waitFor(2);
});

test('deliveries that a fan-out parked are found although its response was lost', async (t) => {
  const behind = await openCuttableDatabase({ database, connection: service.connection });
  const { dispatcher, room } = await startDispatcher(t, behind.opened.database);
  const receiver = await startReceiver();
  const webhook = await register(receiver.url);
  await dispatcher.claimAllParked();
  room.setBlocked([webhook]);
  await publish(2);
  behind.stall();
  const failed = assert.rejects(dispatcher.fanOutAll(0));
  await allParked(webhook, 2);
  behind.cut();
  await failed;
  behind.mend();
  room.setBlocked([]);
  await dispatcher.claimAllParked();
  await receiver.waitFor(2);
});

test('deliveries that a fan-out parks after its connection was lost are found too', async (t) => {
  const time = mockTime(t);
  const behind = await openCuttableDatabase({ database, connection: service.connection });
  const { dispatcher, room } = await startDispatcher(t, behind.opened.database);
  const receiver = await startReceiver();
  const webhook = await register(receiver.url);
  room.setBlocked([webhook]);
  await publish(2);
  await database.transaction().execute(async (tx) => {
    await sql`lock table pending_deliveries in share mode`.execute(tx);
    const failed = assert.rejects(dispatcher.fanOutAll(0));
    await eventually(isAnyWaiting);
    // The server goes on with the statement.
    behind.cut();
    await failed;
    behind.mend();
    await dispatcher.claimAllParked();
  });
  await allParked(webhook, 2);
  room.setBlocked([]);
  time.pass(1_000);
  await dispatcher.claimAllParked();
  assert.equal((await pendingOf(webhook)).parked, 0);
  await receiver.waitFor(2);
});

test('deliveries that a process parks just after its death are found too', async (t) => {
  const time = mockTime(t);
  const { dispatcher, room } = await startDispatcher(t);
  const receiver = await startReceiver();
  const webhook = await register(receiver.url);
  await publish(2);
  room.setShare(0, 2);
  await dispatcher.claimAllParked();
  room.setShare(0, 1);
  await fanOutToQueue(database);
  await sql`update pending_deliveries set parked = true`.execute(database);
  time.pass(1_000);
  await dispatcher.claimAllParked();
  assert.equal((await pendingOf(webhook)).parked, 0);
  await receiver.waitFor(2);
});

test('deliveries that a process parked long ago are found, also when more is parked before they have begun', async (t) => {
  const { dispatcher, room } = await startDispatcher(t);
  const receiver = await startReceiver();
  const webhook = await register(receiver.url);
  await publish(1);
  await fanOutToQueue(database);
  await sql`
    update pending_deliveries set parked = true, due_at = queue_now() - interval '1 hour'
  `.execute(database);
  room.setBlocked([webhook]);
  await claimAll(dispatcher);
  await publish(1);
  await dispatcher.fanOutAll(0);
  await allParked(webhook, 2);
  room.setBlocked([]);
  await dispatcher.claimAllParked();
  await receiver.waitFor(2);
});

test('what a webhook may no longer have is cancelled instead of sent', async (t) => {
  const { dispatcher } = await startDispatcher(t);
  const receiver = await startReceiver();
  const [off, deleted] = [await register(receiver.url), await register(receiver.url)];
  await publish(1);
  await fanOutToQueue(database);
  await sql`
    update webhooks set active = false, deactivated_at = now(), deactivated_reason = 'failing' where id = ${off}
  `.execute(database);
  await sql`delete from webhooks where id = ${deleted}`.execute(database);
  await claimAll(dispatcher);
  await eventually(async () => (await endedOf(off)).length + (await endedOf(deleted)).length === 2);
  assert.deepEqual(await endedOf(off), [{ status: 'cancelled', by: 'deactivation' }]);
  assert.deepEqual(await endedOf(deleted), [{ status: 'cancelled', by: 'deletion' }]);
  assert.equal(receiver.received.length, 0);
});

test('a locked row of what a webhook may no longer have keeps no claim of others waiting', async (t) => {
  const { dispatcher } = await startDispatcher(t);
  const receiver = await startReceiver();
  const webhook = await register(receiver.url);
  await publish(1);
  await fanOutToQueue(database);
  await sql`delete from webhooks where id = ${webhook}`.execute(database);
  await dispatcher.parkAllDue();
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
  let claiming: Promise<number> | undefined;
  let holding: Promise<void> | undefined;
  await database.transaction().execute(async (tx) => {
    // Stops the check that follows the claim.
    await sql`lock table webhooks in access exclusive mode`.execute(tx);
    claiming = dispatcher.claimAllParked();
    await eventually(async () => (await pendingOf(webhook)).leased === 1);
    const locked = Promise.withResolvers<void>();
    holding = database.transaction().execute(async (other) => {
      await sql`select from pending_deliveries for update`.execute(other);
      locked.resolve();
      await held;
    });
    await locked.promise;
  });
  try {
    const isOver = await Promise.race([
      claiming?.then(() => true),
      wait(30_000, false, { ref: false }),
    ]);
    assert.equal(isOver, true);
  } finally {
    letGo();
    await holding;
  }
  await eventually(async () => (await endedOf(webhook)).length === 1);
  assert.deepEqual(await endedOf(webhook), [{ status: 'cancelled', by: 'deletion' }]);
});

test('a late retry for a deactivated webhook is cancelled and leaves its probe', async (t) => {
  const { dispatcher } = await startDispatcher(t);
  const receiver = await startReceiver();
  const webhook = await register(receiver.url);
  await publish(1);
  await fanOutToQueue(database);
  await sql`
    update webhooks set active = false, deactivated_at = now(), deactivated_reason = 'failing' where id = ${webhook}
  `.execute(database);
  await database.transaction().execute((tx) => startProbes(tx, [webhook]));
  await claimAll(dispatcher);
  await eventually(async () => (await endedOf(webhook)).length === 1);
  assert.deepEqual(await endedOf(webhook), [{ status: 'cancelled', by: 'deactivation' }]);
  const { rows } = await sql`
    select trigger from pending_deliveries where webhook_id = ${webhook}
  `.execute(database);
  assert.deepEqual(rows, [{ trigger: 'probe' }]);
});

test('events that come right after a burst share the next fan-out', async (t) => {
  const { dispatcher } = await startDispatcher(t);
  const time = mockTime(t);
  const receiver = await startReceiver();
  await register(receiver.url);
  await publish(8);
  await dispatcher.fanOutAll(0);
  // The end of its pause is further away than what follows takes.
  time.pass(-500);
  const next = dispatcher.fanOutAll(0);
  await publish(2);
  assert.equal(await waitingEvents(), 2);
  await next;
  assert.equal(await waitingEvents(), 0);
});

test('while another process fans out, this one tries again soon', async (t) => {
  const { dispatcher } = await startDispatcher(t);
  const receiver = await startReceiver();
  await register(receiver.url);
  await database.transaction().execute(async (tx) => {
    await fanOutWith(tx);
    await publish(1);
    const waitMs = await dispatcher.fanOutAll(0);
    assert.ok(waitMs !== null && waitMs > 0 && waitMs < 1_000);
  });
  await dispatcher.fanOutAll(0);
  await receiver.waitFor(1);
});

test('an entry that was locked when it was due is found by the next full look', async (t) => {
  const time = mockTime(t);
  const { dispatcher } = await startDispatcher(t);
  const receiver = await startReceiver();
  await register(receiver.url);
  await publish(1);
  await database.transaction().execute(async (tx) => {
    await sql`select from outbox for update`.execute(tx);
    await dispatcher.fanOutAll(0);
  });
  // A short look may skip it: that depends on the transactions of others.
  await dispatcher.fanOutAll(0);
  time.pass(60_000);
  await dispatcher.fanOutAll(0);
  assert.equal(await waitingEvents(), 0);
  await receiver.waitFor(1);
});

test('a delivery that was locked when it was due is found by the next full look', async (t) => {
  const time = mockTime(t);
  const { dispatcher } = await startDispatcher(t);
  const receiver = await startReceiver();
  await register(receiver.url);
  await publish(1);
  await fanOutToQueue(database);
  await sql`update pending_deliveries set due_at = due_at - interval '1 minute'`.execute(database);
  await database.transaction().execute(async (tx) => {
    await sql`select from pending_deliveries for update`.execute(tx);
    await claimAll(dispatcher);
  });
  await claimAll(dispatcher);
  assert.equal(receiver.received.length, 0);
  time.pass(60_000);
  await claimAll(dispatcher);
  await receiver.waitFor(1);
});

test('a delivery that our own code cannot send is set aside, and the others are sent', async (t) => {
  const { dispatcher, sender } = await startDispatcher(t);
  const [bad, good] = [await startReceiver(), await startReceiver()];
  const [badId, goodId] = [await register(bad.url), await register(good.url)];
  const attempt = sender.attempt.bind(sender);
  t.mock.method(sender, 'attempt', (request: Parameters<typeof attempt>[0]) => {
    if (request.url === bad.url) throw new TypeError('a bug');
    return attempt(request);
  });
  await publish(1);
  await dispatcher.fanOutAll(0);
  await eventually(async () => (await endedOf(goodId)).length === 1);
  const setAside = () =>
    sql`select webhook_id as id, stage, reason from set_aside`.execute(database);
  await eventually(async () => (await setAside()).rows.length === 1);
  assert.deepEqual((await setAside()).rows, [{ id: badId, stage: 'attempt', reason: 'a bug' }]);
  assert.deepEqual(await pendingOf(badId), { leased: 0, parked: 0, attempts: 0 });
});

test('a process that only helps leaves a broadcast to the one that has just made a slice of it', async (t) => {
  const { dispatcher } = await startDispatcher(t);
  const webhook = await register((await startReceiver()).url);
  // Nothing is sent, because their secrets are not readable.
  await sql`
    insert into webhooks (id, app_id, url, secret)
    select uuid_v7(), app_id, url, '' from webhooks, generate_series(1, 1100) where id = ${webhook}
  `.execute(database);
  await publish(1);
  assert.equal(await dispatcher.fanOutAll(0), 0, 'the first slice');
  assert.equal(await dispatcher.fanOutAll(60_000), null);
  await eventually(async () => {
    await dispatcher.fanOutAll(0);
    return (await countRows(database, sql`broadcasts`)) === 0;
  });
});

test('a stop waits for deliveries that are being leased, and records them', async (t) => {
  const { dispatcher } = await startDispatcher(t);
  const receiver = await startReceiver();
  const webhook = await register(receiver.url);
  await publish(2);
  const fanningOut = dispatcher.fanOutAll(0);
  dispatcher.stopClaiming();
  await fanningOut;
  await dispatcher.stop();
  assert.deepEqual(
    await endedOf(webhook),
    Array.from({ length: 2 }, () => ({ status: 'succeeded', by: null })),
  );
  assert.equal(receiver.received.length, 2);
});
