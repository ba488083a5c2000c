import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { openDatabase, sql } from '../../../src/database/database.ts';
import { dropOldSetAside, setAside, take } from '../../../src/events/set-aside.ts';
import { findOverdueDay, rotatePartitions } from '../../../src/webhooks/history/retention.ts';
import { renewProbes } from '../../../src/webhooks/queue/health/healing.ts';
import { queueSettings } from '../../../src/webhooks/queue/worker.ts';
import { countRows } from '../../support/count-rows.ts';
import { openTestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { startTestService } from '../../support/service.ts';

const { database, connection } = await openTestDatabase();

const { rows: days } = await sql<{ day: string }>`
  select to_char((now() - interval '40 days') at time zone 'utc', 'YYYYMMDD') as day
`.execute(database);
const partition = `events_${days[0]?.day}`;
const makeDays = () =>
  sql`select ensure_partitions(current_date - 41, current_date - 39)`.execute(database);

test('expired days are dropped as a whole, unless a pending delivery needs one', async () => {
  await makeDays();
  await sql`
    with old as (select uuid_v7(now() - interval '40 days') as id),
    event as (
      insert into events (id, name, audience, data, created_at, position)
      select id, 'org.created', 'global', '{}', now() - interval '40 days', nextval('event_positions') from old returning id
    )
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, due_at)
    select uuid_v7(), id, 'org.created', uuid_v7(), 'event', now() from event
  `.execute(database);
  const kept: string[] = [];
  const rotate = () => rotatePartitions(database, 30, ({ reason }) => kept.push(reason));
  const dropped = await rotate();
  assert.ok(!dropped.includes(partition), 'the event of a pending delivery stays');
  assert.equal(await findOverdueDay(database, 30), null, 'it is not late');
  assert.ok(dropped.length > 0);
  await setAside(database, {
    source: 'pending_deliveries',
    stage: 'claim',
    error: new Error('refused'),
    moved: take('pending_deliveries', sql`true`),
  });
  assert.deepEqual(await rotate(), [], 'so does that of one set aside');
  assert.deepEqual(kept, ['pending', 'set_aside']);
  assert.equal(await dropOldSetAside(database, 30), 1, 'its webhook is gone');
  assert.ok((await rotatePartitions(database, 30)).includes(partition));
  assert.deepEqual(await rotatePartitions(database, 30), []);
});

test('a change of totals that was set aside keeps its day', async () => {
  await makeDays();
  await sql`
    insert into delivery_changes (webhook_id, event, status, hour, id_hour, deliveries)
    select uuid_v7(), 'org.created', 'succeeded', hour, hour, 1 from date_trunc('hour', now() - interval '39 days') as hour
  `.execute(database);
  await setAside(database, {
    source: 'delivery_changes',
    stage: 'totals',
    error: new Error('refused'),
    moved: take('delivery_changes', sql`true`),
  });
  const kept: string[] = [];
  const rotate = () => rotatePartitions(database, 30, ({ reason }) => kept.push(reason));
  await rotate();
  assert.deepEqual(kept, ['set_aside']);
  await sql`delete from set_aside`.execute(database);
  assert.ok((await rotate()).includes(partition));
});

test('a probe that waits keeps no expired day, and stays due at its time', async () => {
  await makeDays();
  const { rows: made } = await sql<{ dueAt: Date }>`
    with app as (insert into apps (id, name) values (uuid_v7(), 'Herald') returning id),
    webhook as (
      insert into webhooks (id, app_id, url, secret)
      select uuid_v7(), id, 'https://example.org/', '\\x00' from app returning id
    ),
    event as (
      insert into events (id, name, audience, data)
      select uuid_v7(now() - interval '40 days'), 'webhook.probe', 'webhook', '{}' returning id
    )
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, due_at)
    select uuid_v7(now() - interval '40 days'), event.id, 'webhook.probe', webhook.id, 'probe', now() + interval '2 days'
    from event, webhook returning due_at as "dueAt"
  `.execute(database);
  await renewProbes(database, 30);
  assert.ok((await rotatePartitions(database, 30)).includes(partition));
  const { rows } = await sql`
    select due_at as "dueAt", e.name from pending_deliveries p join events e on e.id = p.event_id where trigger = 'probe'
  `.execute(database);
  assert.deepEqual(rows, [{ ...made[0], name: 'webhook.probe' }]);
});

test('a large queue is not read to drop a day', async (t) => {
  await makeDays();
  await sql`
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, due_at)
    select uuid_v7(), uuid_v7(), 'org.created', uuid_v7(), 'event', now() from generate_series(1, 5000)
  `.execute(database);
  const worker = openDatabase(connection, {
    applicationName: 'test',
    poolSize: 1,
    settings: queueSettings,
  });
  t.after(() => worker.destroy());
  const readRows = async () => {
    await sql`select pg_stat_force_next_flush()`.execute(worker);
    const { rows } = await sql<{ count: number }>`
      select seq_tup_read + idx_tup_fetch as count from pg_stat_user_tables where relname = 'pending_deliveries'
    `.execute(worker);
    return rows[0]?.count ?? assert.fail();
  };
  const before = await readRows();
  assert.ok((await rotatePartitions(worker, 30)).includes(partition));
  const read = (await readRows()) - before;
  assert.ok(read < 100, `${read} rows of 5,000 were read`);
});

type Line = { msg: string; reason?: string; rows?: number };

/** A service whose worker starts with `start`, and the lines that it logs. */
async function openService() {
  const lines: Line[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line) as Line);
  const service = await startTestService({ log: pino({ level: 'info' }, { write }) });
  const logged = (name: string) => eventually(async () => lines.find((line) => line.msg === name));
  return { ...service, start: () => service.worker.start(), logged };
}

test('the worker drops and logs what nobody has retried within the retention period', async () => {
  const { database: own, start, logged } = await openService();
  await sql`
    insert into set_aside (source, stage, original, reason, set_aside_at)
    select 'outbox', 'fan-out', '{}', days::text, queue_now() - days * interval '1 day' from unnest(array[31, 29]) as days
  `.execute(own);
  await sql`
    insert into published_events (id, name, org_id, created_at, rejected_at, reason)
    select uuid_v7(), 'org.created', uuid_v7(), now(), queue_now() - days * interval '1 day', days::text
    from unnest(array[31, 29]) as days
  `.execute(own);
  start();
  assert.equal((await logged('set_aside.dropped')).rows, 2);
  const { rows } =
    await sql`select reason from set_aside union all select reason from published_events`.execute(
      own,
    );
  assert.deepEqual(rows, [{ reason: '29' }, { reason: '29' }]);
});

for (const [what, code] of [
  ['takes too long', '57014'],
  ['finds no memory for its locks', '53200'],
] as const)
  test(`a step that ${what} keeps no other from its turn`, async () => {
    const { database: own, start, logged } = await openService();
    await sql`
    create function refuse() returns trigger language plpgsql as $$
    begin raise exception 'refused' using errcode = ${sql.lit(code)}; end $$
  `.execute(own);
    await sql`create trigger refuse before delete on operational_events execute function refuse()`.execute(
      own,
    );
    await sql`
    insert into webhook_stats (webhook_id, hour, status, bucket, deliveries)
    values (uuid_v7(), now() - interval '20 days', 'succeeded', 1, 1)
  `.execute(own);
    start();
    await logged('worker.failed');
    await eventually(async () => (await countRows(own, sql`webhook_stats`)) === 0);
  });

test('the totals of a dropped day go with it, and those of the next stay', async () => {
  await makeDays();
  const at = (day: number) =>
    sql`(current_date - ${day}::int)::timestamp at time zone 'utc' + hour * interval '1 hour'`;
  for (const day of [40, 39, 20])
    await sql`
      insert into delivery_totals (webhook_id, hour, id_hour, event, status, deliveries)
      select uuid_v7(), ${at(day)}, ${at(day)}, 'org.created', 'succeeded', 1 from generate_series(0, 23) hour
    `.execute(database);
  await rotatePartitions(database, 30);
  const { rows } = await sql<{ days: number; count: number }>`
    select current_date - (id_hour at time zone 'utc')::date as days, count(*) as count from delivery_totals group by 1
  `.execute(database);
  assert.deepEqual(rows, [{ days: 20, count: 24 }]);
});

test('a day that another session has locked is dropped within a minute after it has ended', async (t) => {
  const { database: own, start, logged } = await openService();
  await sql`select ensure_partitions(current_date - 32, current_date - 32)`.execute(own);
  const waits = setTimeout;
  // Waits of half a minute and a minute end soon. The next turn after a day that needs no other is in an hour.
  t.mock.method(globalThis, 'setTimeout', (run: () => void, ms = 0) =>
    waits(run, ms >= 30_000 && ms <= 60_000 ? 100 : ms),
  );
  await own.transaction().execute(async (tx) => {
    await sql`lock table attempts in access share mode`.execute(tx);
    start();
    assert.equal((await logged('partitions.kept')).reason, 'locked');
  });
  await logged('partitions.dropped');
});
