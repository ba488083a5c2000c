/** Tests events for many webhooks: their deliveries are made in slices, once for each webhook of one moment. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { unbindApp } from '../../../src/access/bindings.ts';
import { openDatabase, sql } from '../../../src/database/database.ts';
import { countDeliveries } from '../../../src/webhooks/management/find-page.ts';
import type { DeliveryFilter } from '../../../src/webhooks/management/delivery-filter.ts';
import { readDeliveryStats } from '../../../src/webhooks/management/delivery-stats.ts';
import { explainEvent } from '../../../src/webhooks/management/explain.ts';
import { advanceBroadcast, sliceMax } from '../../../src/webhooks/queue/fan-out/fan-out.ts';
import { recordAttempts } from '../../../src/webhooks/queue/record/record.ts';
import { foldDeliveryChanges } from '../../../src/webhooks/history/fold-delivery-changes.ts';
import type { Deliverable } from '../../../src/webhooks/sending/deliverable.ts';
import { loadDeliveries } from '../../../src/webhooks/queue/dispatch/load-deliveries.ts';
import { countReplay, runReplay } from '../../../src/webhooks/replay/replay.ts';
import { rotatePartitions } from '../../../src/webhooks/history/retention.ts';
import { testActor } from '../../support/actor.ts';
import { countRows } from '../../support/count-rows.ts';
import { openTestDatabase } from '../../support/database.ts';
import { announce, put } from '../../support/directory.ts';
import { eventually } from '../../support/eventually.ts';
import {
  attemptOf,
  claimWith,
  fanOutWith,
  newLease,
  room,
  succeeded,
} from '../../support/queue-steps.ts';
import { makeKey, startTestService } from '../../support/service.ts';

const beside = await openTestDatabase();
const service = await startTestService({ beside });
const { database } = service;
await put(database, 'orgs', [
  { slug: 'acme', name: 'Acme' },
  { slug: 'globex', name: 'Globex' },
]);

const many = 2 * sliceMax + 100;

/** An empty queue, and this many webhooks of the app. Returns their ids, in order. */
async function openWith(count: number, appId = service.appId): Promise<string[]> {
  for (const table of ['pending_deliveries', 'broadcasts', 'outbox', 'webhooks'])
    await sql`delete from ${sql.table(table)}`.execute(database);
  return addWebhooks(count, appId);
}

async function addWebhooks(count: number, appId = service.appId): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    insert into webhooks (id, app_id, url, secret)
    select uuid_v7(), ${appId}, 'https://example.org/', '' from generate_series(1, ${count}) returning id
  `.execute(database);
  return rows.map(({ id }) => id).toSorted();
}

const advance = (count = sliceMax) =>
  advanceBroadcast(database, { lease: newLease(), room, count, minAgeMs: 0 });

async function advanceToEnd(): Promise<void> {
  while ((await advance()).broadcasts);
}

type Delivered = { webhookId: string; eventId: string; leased: boolean };

async function deliveries(): Promise<Delivered[]> {
  const { rows } = await sql<Delivered>`
    select webhook_id as "webhookId", event_id as "eventId", lease_token is not null as leased
    from pending_deliveries order by webhook_id, id
  `.execute(database);
  return rows;
}

const webhooksOf = (rows: Delivered[], eventId: string) =>
  rows.filter((row) => row.eventId === eventId).map(({ webhookId }) => webhookId);

test('an event for many webhooks gets its position at once and its deliveries in slices, with other events in between', async () => {
  const webhooks = await openWith(many);
  const large = await announce(database);
  const { events, deliveries: made, broadcasts } = await fanOutWith(database);
  assert.deepEqual([events, made, broadcasts], [1, 0, true]);
  const { leased } = await advance();
  assert.equal(leased.length, sliceMax);
  assert.ok(
    leased.every(({ eventId, data }) => eventId === large && JSON.parse(data).slug === 'acme'),
  );
  await sql`update webhooks set events = '{org.created}' where id <> ${webhooks[0]}`.execute(
    database,
  );
  await sql`
    insert into outbox (id, name, audience, data) values (uuid_v7(), 'chat.sync.completed', 'global', '{}')
  `.execute(database);
  const small = await fanOutWith(database);
  assert.deepEqual([small.events, small.deliveries, small.broadcasts], [1, 1, true]);
  await advanceToEnd();
  assert.deepEqual(webhooksOf(await deliveries(), large), webhooks);
});

test('a slice is made once, whoever makes it, and again if its transaction is rolled back', async () => {
  const webhooks = await openWith(many);
  const event = await announce(database);
  await fanOutWith(database);
  const rolledBack = database.transaction().execute(async (tx) => {
    await advanceBroadcast(tx, { lease: newLease(), room, count: sliceMax, minAgeMs: 0 });
    assert.equal((await advance()).busy, true);
    throw new Error('rolled back');
  });
  await assert.rejects(rolledBack, /rolled back/);
  assert.deepEqual(await deliveries(), []);
  while (
    (await Promise.all([advance(300), advance(300), advance(300)])).some((each) => each.broadcasts)
  );
  assert.deepEqual(webhooksOf(await deliveries(), event), webhooks);
});

test('a slice whose snapshot is older than the slice before it is the next one all the same', async () => {
  const webhooks = await openWith(many);
  const event = await announce(database);
  await fanOutWith(database);
  const name = 'test late';
  const late = openDatabase(beside.connection, { applicationName: name, poolSize: 1 });
  after(() => late.destroy());
  // A slice takes this lock after its snapshot: that of the late one waits in between.
  await sql`
    create function pg_try_advisory_xact_lock(key integer) returns boolean language plpgsql as $$ begin
      if current_setting('application_name') = 'test late' then perform pg_advisory_xact_lock_shared(1); end if;
      return pg_try_advisory_xact_lock(key::bigint);
    end $$
  `.execute(database);
  const { slice } = await database.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(1)`.execute(tx);
    const begun = advanceBroadcast(late, { lease: newLease(), room, count: sliceMax, minAgeMs: 0 });
    await eventually(async () => {
      const { rows } = await sql`
        select from pg_stat_activity where wait_event_type = 'Lock' and application_name = ${name}
          and datname = current_database()
      `.execute(database);
      return rows.length > 0;
    });
    assert.equal((await advance()).leased.length, sliceMax);
    return { slice: begun };
  });
  assert.equal((await slice).leased.length, sliceMax);
  await sql`drop function pg_try_advisory_xact_lock(integer)`.execute(database);
  await advanceToEnd();
  assert.deepEqual(webhooksOf(await deliveries(), event), webhooks);
});

test('the webhooks of a broadcast are those of the moment at which it got its position', async () => {
  const webhooks = await openWith(many);
  const event = await announce(database);
  await fanOutWith(database);
  await advance();
  const [off, moved, deleted] = webhooks.slice(-3) as [string, string, string];
  await sql`
    update webhooks set active = false, deactivated_at = now(), deactivated_reason = 'owner' where id = ${off}
  `.execute(database);
  await sql`update webhooks set events = '{event.created}' where id = ${moved}`.execute(database);
  await sql`delete from webhooks where id = ${deleted}`.execute(database);
  await addWebhooks(3);
  await advanceToEnd();
  const made = await deliveries();
  assert.deepEqual(
    webhooksOf(made, event),
    webhooks.filter((id) => id !== deleted),
  );
  assert.equal(made.find(({ webhookId }) => webhookId === off)?.leased, false);
  // Before an attempt it is cancelled, as if it had waited since then.
  const { leased } = await claimWith(database);
  assert.equal(leased.length, 0, 'it is parked');
});

test("a broadcast reaches webhooks that were changed before the database's clock was put back", async () => {
  const webhooks = await openWith(many);
  await sql`
    update webhook_versions set valid_from = clock_timestamp() + interval '50 minutes' where valid_to is null
  `.execute(database);
  const event = await announce(database);
  await fanOutWith(database);
  await advanceToEnd();
  assert.deepEqual(webhooksOf(await deliveries(), event), webhooks);
});

test('an app that loses its binding during a broadcast is sent nothing more of it', async () => {
  const { rows } = await sql<{ id: string }>`select id from orgs where slug = 'globex'`.execute(
    database,
  );
  const subject = { kind: 'organization', id: rows[0]?.id ?? '' } as const;
  const { appId } = await makeKey(service, { bindTo: subject });
  const webhooks = await openWith(many, appId);
  await sql`
    insert into outbox (id, name, audience, org_id, data)
    values (uuid_v7(), 'application.created', 'organization', ${subject.id}, '{}')
  `.execute(database);
  await fanOutWith(database);
  await advance();
  await database.transaction().execute((tx) => unbindApp(tx, testActor, appId));
  const rest = await advance();
  assert.deepEqual([rest.leased.length, rest.parked.length], [0, sliceMax]);
  await advanceToEnd();
  assert.equal((await deliveries()).length, webhooks.length);
  await sql`update pending_deliveries set parked = false where parked`.execute(database);
  const { leased } = await claimWith(database);
  const { deliverable, refused } = await loadDeliveries(database, leased);
  assert.equal(deliverable.length, 0);
  assert.ok(refused.length > 0 && refused.every(({ cancelledBy }) => cancelledBy === 'permission'));
});

test('until its last slice, a broadcast waits for its other webhooks, and a replay leaves it to them', async () => {
  const webhooks = await openWith(many);
  const [first, off, last] = [webhooks[0], webhooks.at(-2), webhooks.at(-1)] as [
    string,
    string,
    string,
  ];
  await sql`
    update webhooks set active = false, deactivated_at = now(), deactivated_reason = 'owner' where id = ${off}
  `.execute(database);
  const event = await announce(database);
  await fanOutWith(database);
  await advance();
  await sql`
    update webhooks set active = true, deactivated_at = null, deactivated_reason = null where id = ${off}
  `.execute(database);
  const explain = async (webhookId: string) =>
    (await explainEvent(database, { appId: service.appId, webhookId }, event)).result;
  assert.deepEqual([await explain(first), await explain(last)], ['delivered', 'waiting']);
  const range = { since: new Date(Date.now() - 60_000), until: new Date(Date.now() + 60_000) };
  const replayable = async (webhookId: string) =>
    (
      await runReplay(database, service.appId, (tx) =>
        countReplay(tx, { appId: service.appId, webhookId }, range),
      )
    ).missed;
  const before = await replayable(last);
  assert.equal(await replayable(off), 1, 'no slice makes one of a webhook that was inactive');
  await advanceToEnd();
  assert.equal(await replayable(off), 1);
  assert.equal(await explain(last), 'delivered');
  assert.equal(await replayable(last), before);
});

test('totals and statistics have the deliveries of a broadcast that are made, at any moment', async () => {
  const webhooks = await openWith(many);
  const before = new Date(Date.now() - 3_600_000).toISOString();
  const count = async (filter: DeliveryFilter, ids = webhooks) =>
    (await countDeliveries(database, ids, filter)).reduce((sum, each) => sum + each.count, 0);
  const check = async (expected: { pending: number; succeeded: number }) => {
    const { pending, succeeded: ended } = (await readDeliveryStats(database, webhooks, 'day'))
      .total;
    assert.deepEqual({ pending, succeeded: ended }, expected);
    for (const status of ['pending', 'succeeded'] as const)
      assert.equal(await count({ status }), expected[status]);
    for (const filter of [{}, { since: before }, { event: 'org.created' }])
      assert.equal(await count(filter), expected.pending + expected.succeeded);
  };
  const record = (leased: Deliverable[]) =>
    recordAttempts(
      database,
      leased.map((delivery) => attemptOf(delivery, succeeded)),
    );

  await announce(database);
  await fanOutWith(database);
  await check({ pending: 0, succeeded: 0 });
  const first = await advance();
  await check({ pending: sliceMax, succeeded: 0 });
  assert.equal(await count({}, webhooks.slice(sliceMax)), 0);
  await record(first.leased.slice(100));
  await check({ pending: 100, succeeded: sliceMax - 100 });
  await foldDeliveryChanges(database);
  const second = await advance();
  await check({ pending: sliceMax + 100, succeeded: sliceMax - 100 });
  await record([...first.leased.slice(0, 100), ...second.leased]);
  await check({ pending: 0, succeeded: 2 * sliceMax });
  const last = await advance();
  await advanceToEnd();
  await record(last.leased);
  await foldDeliveryChanges(database);
  await check({ pending: 0, succeeded: many });
});

test('retention keeps the event of a broadcast until its last slice', async () => {
  await openWith(many);
  const { rows } = await sql<{ id: string }>`
    insert into outbox (id, name, audience, data, created_at)
    select uuid_v7(at), 'org.created', 'global', '{}', at from (select now() - interval '40 days' as at) as old returning id
  `.execute(database);
  await fanOutWith(database);
  await advance();
  await sql`delete from pending_deliveries`.execute(database);
  const kept: string[] = [];
  await rotatePartitions(database, 30, ({ reason }) => kept.push(reason));
  assert.deepEqual(kept, ['broadcast']);
  const stored = () => countRows(database, sql`events where id = ${rows[0]?.id}`);
  assert.equal(await stored(), 1);
  await advanceToEnd();
  await sql`delete from pending_deliveries`.execute(database);
  await rotatePartitions(database, 30);
  assert.equal(await stored(), 0);
});

test('a broadcast that another session has locked lets the next one go on', async () => {
  await openWith(many);
  const [locked, next] = [await announce(database), await announce(database)];
  await fanOutWith(database);
  await database.transaction().execute(async (tx) => {
    await sql`select from broadcasts where event_id = ${locked} for update`.execute(tx);
    await advance();
    assert.equal(webhooksOf(await deliveries(), next).length, sliceMax);
  });
  await advanceToEnd();
  assert.equal((await deliveries()).length, 2 * many);
});
