/** Clocks that are wrong: those of processes by 30 days, and the database's, which steps by an hour. */
import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { sql, type Transaction } from '../../src/database/database.ts';
import { recordEvents } from '../../src/events/record-event.ts';
import { fullLookMs } from '../../src/runtime/floor.ts';
import { announce, put } from '../support/directory.ts';
import { within } from '../support/eventually.ts';
import { fanOutToQueue } from '../support/queue-steps.ts';
import { loopbackAllowed, startReceiver } from '../support/receiver.ts';
import { startTestService } from '../support/service.ts';

const service = await startTestService({
  env: {
    ...loopbackAllowed,
    WEBHOOK_TIMEOUT_MS: '1000',
    WEBHOOK_LEASE_MARGIN_MS: '1000',
    WEBHOOK_RETRY_BASE_MS: '1',
    WEBHOOK_RETRY_FACTOR: '1',
  },
  worker: true,
});
const { database, publisher } = service;
await put(database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
const receiver = await startReceiver();
const register = async (events?: string[]) =>
  (await service.call('/webhooks', { method: 'POST', json: { url: receiver.url, events } })).body
    .data;
const webhook = await register();
/** Of other events than the tests': a test is refused while too many deliveries to its webhook are in flight. */
const quiet = await register(['alliance.created']);

const dayMs = 86_400_000;

for (const days of [30, -30])
  test(`ids follow the database's clock if a process's is ${days} days off`, async () => {
    mock.timers.enable({ apis: ['Date'], now: Date.now() + days * dayMs });
    try {
      const name = 'org.created';
      const data = { since: '2026-11-20T12:00:00.000Z', endedAt: '2026-11-20T12:00:00.000Z' };
      const event = { name: 'system.maintenance.disabled', data } as const;
      const recorded = await database
        .transaction()
        .execute(async (tx) => [
          ...(await recordEvents(tx, [event, event, event])),
          ...(await recordEvents(tx, [event, event])),
        ]);
      const publication = { name, org: 'acme', alliance: null, data: null, publicUrl: '' };
      const published = await publisher.publish([
        { ...publication, key: null },
        { ...publication, key: `key ${days}` },
      ]);
      const tested = await service.call(`/webhooks/${quiet.id}/test`, { method: 'POST' });
      assert.equal(tested.status, 200, JSON.stringify(tested.body));
      const ids = [...recorded, ...published.map((each) => ('id' in each ? each.id : ''))];
      assert.deepEqual(ids, ids.toSorted());
      const { rows } = await sql<{ count: number }>`
        select count(*) as count from unnest(${[...ids, tested.body.data.id]}::uuid[]) as id
        where id between uuid_v7_floor(now() - interval '1 minute') and uuid_v7_floor(now() + interval '1 minute')
      `.execute(database);
      assert.equal(rows[0]?.count, 8);
    } finally {
      mock.timers.reset();
    }
  });

test('ids are in the order in which one session makes them, whatever its search path', async () => {
  const ids = await database.transaction().execute(async (tx) => {
    await sql`set local search_path = pg_catalog`.execute(tx);
    const { rows } = await sql<{ id: string }>`
      select orgdir.uuid_v7() as id from generate_series(1, 1000)
    `.execute(tx);
    return rows.map(({ id }) => id);
  });
  // Two may have the same microsecond.
  const times = ids.map((id) => id.slice(0, 18));
  assert.deepEqual(times, times.toSorted());
  assert.equal(new Set(ids).size, 1000);
  assert.ok(ids.every((id) => /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-/.test(id)));
});

test('events with ids of wrong clocks are delivered, and delay no others', async () => {
  const before = receiver.received.length;
  // As processes of earlier versions insert them.
  await sql`
    insert into outbox (id, name, audience, data)
    select uuid_v7(now() + days * interval '1 day'), 'org.created', 'global', '{}'
    from unnest(array[30, -30, 90, 300]) as days
  `.execute(database);
  await announce(database);
  await receiver.waitFor(before + 5);
});

/** Puts the queue's clock so far ahead of the real one, in the transaction of `act`. */
async function stepTo(offset: string, act: (tx: Transaction) => Promise<unknown> = async () => {}) {
  await database.transaction().execute(async (tx) => {
    await act(tx);
    await sql`
      create or replace function queue_now() returns timestamptz language sql parallel safe as
        ${sql.lit(`select clock_timestamp() + interval '${offset}'`)}
    `.execute(tx);
  });
}

/** A look that covers everything would find them, too. */
const withoutFullLookMs = fullLookMs / 2;

type State = 'due' | 'parked' | 'leased';

/** Deliveries of an earlier event, due now or with a lease from now on. Returns their ids. */
async function insertPending(tx: Transaction, state: State, count: number): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, parked, due_at, lease_token, leased_at,
      cycle_attempts, attempt_count)
    select uuid_v7(), (select id from events where name = 'org.created' limit 1), 'org.created', ${webhook.id}, 'redelivery',
      ${state} = 'parked', case ${state} when 'leased' then queue_now() + interval '2 seconds' else queue_now() end,
      case ${state} when 'leased' then gen_random_uuid() end, case ${state} when 'leased' then queue_now() end,
      (${state} = 'leased')::int, (${state} = 'leased')::int
    from generate_series(1, ${count}) returning id
  `.execute(tx);
  return rows.map(({ id }) => id);
}

async function delivered(ids: string[], limitMs = Infinity): Promise<void> {
  await within(limitMs, async () => {
    const { rows } = await sql`
      select from deliveries where id = any(${ids}::uuid[]) and status = 'succeeded'
    `.execute(database);
    return rows.length === ids.length;
  });
}

/** Without a step: a claim has looked, and ended, at the clock as it is. */
const claimed = async () => {
  await delivered(await database.transaction().execute((tx) => insertPending(tx, 'due', 1)));
};

for (const [how, to] of [
  ['ahead', '1 hour'],
  ['back', '-1 hour'],
] as const)
  for (const state of ['due', 'parked', 'leased'] as const)
    test(`deliveries that are ${state} are sent when the clock of the database steps ${how}`, async () => {
      await claimed();
      let ids: string[] = [];
      await stepTo(to, async (tx) => {
        ids = await insertPending(tx, state, 5);
      });
      // Leases begin again, and take two seconds.
      await delivered(ids, withoutFullLookMs);
      const published = receiver.received.length;
      await announce(database);
      await receiver.waitFor(published + 1);
      await claimed();
      await stepTo('0');
    });

test('what was due is sent if all processes died before the clock was put back', async () => {
  const restarted = await startTestService({ env: loopbackAllowed });
  await put(restarted.database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
  await restarted.call('/webhooks', { method: 'POST', json: { url: receiver.url } });
  await announce(restarted.database);
  await fanOutToQueue(restarted.database);
  await sql`
    with seen as (
      insert into workers (id, seen_at) values (gen_random_uuid(), queue_now() + interval '1 hour')
    )
    update pending_deliveries set due_at = queue_now() + interval '50 minutes'
  `.execute(restarted.database);
  const before = receiver.received.length;
  restarted.worker.start();
  await receiver.waitFor(before + 1);
});
