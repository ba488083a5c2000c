/** Replays over HTTP: what they queue, in which order and how fast, and what they leave out. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { bindApp, unbindApp } from '../../../src/access/bindings.ts';
import { isConnectionFault, openDatabase, sql } from '../../../src/database/database.ts';
import { findOrg } from '../../../src/directory/orgs.ts';
import { publishEvent } from '../../../src/directory/publish-in-groups.ts';
import type { ServiceError } from '../../../src/errors.ts';
import { fanOutLock } from '../../../src/events/queue-channel.ts';
import { readDeliveryStats } from '../../../src/webhooks/management/delivery-stats.ts';
import {
  countReplay,
  listHealed,
  replayHealed,
  replaysPerSecond,
  runReplay,
} from '../../../src/webhooks/replay/replay.ts';
import { testActor } from '../../support/actor.ts';
import { put } from '../../support/directory.ts';
import { eventually } from '../../support/eventually.ts';
import { fanOutParked } from '../../support/queue.ts';
import { makeKey, startTestService, testPublicUrl } from '../../support/service.ts';

const service = await startTestService();
const { database } = service;
await put(database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
const acme = { kind: 'organization', id: (await findOrg(database, 'acme'))!.id } as const;

async function makeWebhook(json: { events?: string[] } = {}) {
  const { key, appId, owner } = await makeKey(service, { bindTo: acme });
  const { body } = await service.call('/webhooks', {
    method: 'POST',
    key,
    json: { url: 'https://example.org/', ...json },
  });
  return { id: body.data.id as string, key, appId, owner };
}
type Webhook = Awaited<ReturnType<typeof makeWebhook>>;

async function publish(name?: string): Promise<string> {
  const id = await queueEvent(name);
  await fanOutParked(database);
  return id;
}

/** Publishes an event that waits for fan-out. */
async function queueEvent(name = 'application.created'): Promise<string> {
  const application = {
    id: randomBytes(4).toString('hex'),
    applicantHandle: 'wanderer',
    submittedAt: '2026-11-20T12:00:00.000Z',
  };
  const data = name === 'application.created' ? application : null;
  return database
    .transaction()
    .execute((tx) =>
      publishEvent(tx, { name, org: 'acme', alliance: null, data, publicUrl: testPublicUrl }),
    );
}

const patch = ({ id, key }: Webhook, json: object) =>
  service.call(`/webhooks/${id}`, { method: 'PATCH', key, json });
const since = new Date(Date.now() - 3_600_000).toISOString();
async function replay({ id, key }: Webhook, json: object = {}) {
  const options = { method: 'POST', key, json: { since, ...json } };
  return service.call(`/webhooks/${id}/replay`, options);
}

async function pendingOf({ id }: Webhook) {
  const { rows } = await sql<{ eventId: string; dueAt: Date }>`
    select event_id as "eventId", due_at as "dueAt" from pending_deliveries where webhook_id = ${id} order by due_at
  `.execute(database);
  return rows;
}

async function end({ id }: Webhook, eventId: string, status: string): Promise<void> {
  await sql`
    with ended as (
      delete from pending_deliveries where webhook_id = ${id} and event_id = ${eventId} returning *
    )
    insert into deliveries (id, event_id, event, webhook_id, status, attempt_count, created_at, cancelled_by)
    select id, event_id, event, webhook_id, ${status}, 6, created_at, case when ${status} = 'cancelled' then 'permission' end
    from ended
  `.execute(database);
}

test('a replay queues what failed, was cancelled or was missed, in the order of the events', async () => {
  const webhook = await makeWebhook({ events: ['application.created'] });
  const [succeeded, failed, forbidden] = [await publish(), await publish(), await publish()];
  await end(webhook, succeeded, 'succeeded');
  await end(webhook, failed, 'failed');
  await end(webhook, forbidden, 'cancelled');
  const cancelled = await publish();
  await patch(webhook, { active: false });
  const missed = [await publish(), await publish()];
  // Not subscribed to it.
  await publish('org.created');
  assert.equal((await replay(webhook)).status, 409);
  await patch(webhook, { active: true });

  const counts = { failed: 1, cancelled: 1, missed: 2, more: false };
  assert.deepEqual((await replay(webhook, { dryRun: true })).body.data, counts);
  assert.deepEqual(await pendingOf(webhook), []);
  assert.deepEqual((await replay(webhook)).body.data, counts);
  const pending = await pendingOf(webhook);
  assert.deepEqual(
    pending.map(({ eventId }) => eventId),
    [failed, cancelled, ...missed],
  );
  const [first] = pending;
  assert.deepEqual(
    pending.map(({ dueAt }) => dueAt.getTime() - (first?.dueAt.getTime() ?? 0)),
    pending.map((_, place) => (place * 1000) / replaysPerSecond),
  );
  assert.equal((await replay(webhook)).body.data.missed, 0);
  const explained = await service.call(`/webhooks/${webhook.id}/explain/${missed[0]}`, {
    key: webhook.key,
  });
  assert.equal(explained.body.data.result, 'delivered');
});

test('what a replay makes of missed events changes no statistics of the past', async () => {
  const webhook = await makeWebhook({ events: ['application.created'] });
  await patch(webhook, { active: false });
  const missed = await publish();
  await patch(webhook, { active: true });
  await replay(webhook);
  const counts = async (range: 'hour' | 'day') => {
    const { total } = await readDeliveryStats(database, [webhook.id], range);
    return [total.pending, total.succeeded];
  };
  assert.deepEqual(
    [await counts('hour'), await counts('day')],
    [
      [1, 0],
      [0, 0],
    ],
  );
  await end(webhook, missed, 'succeeded');
  assert.deepEqual(
    [await counts('hour'), await counts('day')],
    [
      [0, 1],
      [0, 0],
    ],
  );
});

test('a replay brings nothing from before the present binding', async () => {
  const webhook = await makeWebhook({ events: ['application.created'] });
  await patch(webhook, { active: false });
  await publish();
  await database.transaction().execute((tx) => unbindApp(tx, testActor, webhook.appId));
  await patch(webhook, { active: true });
  assert.equal((await replay(webhook, { dryRun: true })).body.data.missed, 0);
  await database.transaction().execute((tx) => bindApp(tx, testActor, webhook.appId, acme));
  assert.equal((await replay(webhook)).body.data.missed, 0);
  assert.deepEqual(await pendingOf(webhook), []);
});

test("a replay without until ends now, by the database's clock", async (t) => {
  const webhook = await makeWebhook();
  await patch(webhook, { active: false });
  await publish();
  await patch(webhook, { active: true });
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() - 1_800_000 });
  const range = { since: new Date(since) };
  const { appId, id: webhookId } = webhook;
  const { missed } = await runReplay(database, appId, (tx) =>
    countReplay(tx, { appId, webhookId }, range),
  );
  assert.equal(missed, 1);
});

test('a replay ends before until, and begins at most 14 days ago', async () => {
  const webhook = await makeWebhook();
  await patch(webhook, { active: false });
  const until = new Date().toISOString();
  await publish();
  await patch(webhook, { active: true });
  assert.equal((await replay(webhook, { until })).body.data.missed, 0);
  const early = new Date(Date.now() - 15 * 86_400_000).toISOString();
  assert.equal((await replay(webhook, { since: early })).status, 400);
});

test("another app's webhook looks like a missing one", async () => {
  const [webhook, other] = [await makeWebhook(), await makeWebhook()];
  assert.equal((await replay({ ...webhook, key: other.key })).status, 404);
});

test('an app has one replay or count at a time, and one that waits for a lock says so', async () => {
  const [webhook, other] = [await makeWebhook(), await makeWebhook()];
  await database.transaction().execute(async (tx) => {
    await sql`lock table webhook_versions in access exclusive mode`.execute(tx);
    const slow = replay(webhook, { dryRun: true });
    await lockAwaited();
    for (const dryRun of [true, false]) {
      const { status, headers, body } = await replay(webhook, { dryRun });
      assert.deepEqual([status, headers.get('retry-after')], [409, '1']);
      assert.match(body.error.message, /Another replay/);
    }
    const { status, headers, body } = await slow;
    assert.deepEqual([status, headers.get('retry-after')], [503, '5']);
    assert.match(body.error.message, /has locked what this needs/);
  });
  assert.equal((await replay(other)).status, 202);
});

test('a replay that takes too long is no fault of the connection, and says what to do', async () => {
  const { appId } = await makeWebhook();
  const slow = runReplay(database, appId, (tx) => sql`select pg_sleep(60)`.execute(tx));
  await assert.rejects(slow, (error: ServiceError) => {
    assert.deepEqual([error.code, isConnectionFault(error)], ['conflict', false]);
    assert.match(error.message, /more than 5 seconds\. Choose a shorter time range/);
    return true;
  });
});

test('replays that wait leave connections to other requests, and too many are refused', async () => {
  const webhooks = await Promise.all(Array.from({ length: 34 }, () => makeWebhook()));
  const [webhook] = webhooks as [Webhook];
  let replays: ReturnType<typeof replay>[] = [];
  await database.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(${fanOutLock})`.execute(tx);
    replays = webhooks.map((each) => replay(each));
    const first = await Promise.race(replays);
    assert.deepEqual([first.status, first.headers.get('retry-after')], [503, '5']);
    assert.equal((await patch(webhook, { description: 'beside them' })).status, 200);
  });
  const statuses = (await Promise.all(replays)).map(({ status }) => status);
  assert.deepEqual(statuses.toSorted(), [...Array.from({ length: 33 }, () => 202), 503]);
});

test('a replay returns what it queued, even if less than it chose', async () => {
  const webhook = await makeWebhook();
  await end(webhook, await publish(), 'failed');
  const replaying = await database.transaction().execute(async (tx) => {
    await sql`select from webhooks where id = ${webhook.id} for no key update`.execute(tx);
    const started = replay(webhook);
    await lockAwaited();
    await sql`delete from deliveries where webhook_id = ${webhook.id}`.execute(tx);
    return { started };
  });
  assert.equal((await replaying.started).body.data.failed, 0);
});

/** As if probes had activated the webhook. */
const heal = ({ id }: Webhook) =>
  sql`insert into webhook_healing (webhook_id, replay_since) values (${id}, ${since}::timestamptz)`.execute(
    database,
  );

test('after self-healing, a replay follows if the owner wants it, once', async () => {
  const webhook = await makeWebhook();
  await patch(webhook, { active: false, replayAfterHealing: true });
  const missed = await publish();
  await patch(webhook, { active: true });
  await heal(webhook);
  assert.deepEqual(await listHealed(database), [webhook.id]);
  await Promise.all([1, 2].map(() => replayHealed(database, webhook.id)));
  assert.deepEqual(await listHealed(database), []);
  assert.deepEqual(
    (await pendingOf(webhook)).map(({ eventId }) => eventId),
    [missed],
  );
});

test('a replay after self-healing that takes too long fails, and stays listed', async () => {
  const webhook = await makeWebhook();
  await heal(webhook);
  const impatient = openDatabase(service.connection, {
    applicationName: 'test',
    statementTimeoutMs: 100,
  });
  await database.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(${fanOutLock})`.execute(tx);
    assert.match((await replayHealed(impatient, webhook.id)) ?? '', /statement timeout/);
  });
  await impatient.destroy();
  assert.deepEqual(await listHealed(database), [webhook.id]);
  assert.equal(await replayHealed(database, webhook.id), null);
});

test('a replay after self-healing waits for no lock of the webhook, and stays listed', async () => {
  const webhook = await makeWebhook();
  await heal(webhook);
  await database.transaction().execute(async (tx) => {
    await sql`select from webhooks where id = ${webhook.id} for no key update`.execute(tx);
    assert.match((await replayHealed(database, webhook.id)) ?? '', /lock timeout/);
  });
  assert.deepEqual(await listHealed(database), [webhook.id]);
  assert.equal(await replayHealed(database, webhook.id), null);
});

for (const by of ['its owner', 'a probe'])
  test(`an event is replayed whose fan-out is running when ${by} activated the webhook`, async () => {
    const webhook = await makeWebhook();
    await patch(webhook, { active: false });
    let fanOut: Promise<unknown> = Promise.resolve();
    let replaying: Promise<unknown> = Promise.resolve();
    const event = await queueEvent();
    await database.transaction().execute(async (tx) => {
      // An event with the same id keeps the fan-out waiting after it has read the webhooks.
      await sql`
        insert into events (id, name, audience, data) values (${event}, 'webhook.test', 'webhook', '{}')
      `.execute(tx);
      fanOut = fanOutParked(database);
      await lockAwaited();
      await patch(webhook, { active: true });
      if (by === 'a probe') await heal(webhook);
      replaying = by === 'a probe' ? replayHealed(database, webhook.id) : replay(webhook);
      await lockAwaited(2);
      await sql`delete from events where id = ${event}`.execute(tx);
    });
    await fanOut;
    await replaying;
    assert.deepEqual(
      (await pendingOf(webhook)).map(({ eventId }) => eventId),
      [event],
    );
  });

/** Returns once that many sessions of this database wait for a lock. */
async function lockAwaited(sessions = 1): Promise<void> {
  await eventually(async () => {
    const { rows } = await sql<{ count: number }>`
      select count(*) as count from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()
    `.execute(database);
    return (rows[0]?.count ?? 0) >= sessions;
  });
}
