import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDatabase, sql } from '../../../src/database/database.ts';
import { dropOldSetAside, setAside, take } from '../../../src/events/set-aside.ts';
import { findOverdueDay, rotatePartitions } from '../../../src/webhooks/history/retention.ts';
import { renewProbes } from '../../../src/webhooks/queue/health/healing.ts';
import { queueSettings } from '../../../src/webhooks/queue/worker.ts';
import { openTestDatabase } from '../../support/database.ts';
import { fanOutWith } from '../../support/queue-steps.ts';

const { database, connection } = await openTestDatabase();

const { rows: days } = await sql<{ day: string }>`
  select to_char((now() - interval '40 days') at time zone 'utc', 'YYYYMMDD') as day
`.execute(database);
const partition = `events_${days[0]?.day}`;

test('expired days are dropped as a whole, unless a pending delivery needs one', async () => {
  await sql`select ensure_partitions(current_date - 41, current_date - 39)`.execute(database);
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
  const dropped = await rotatePartitions(database, 30, ({ day }) => kept.push(day));
  assert.ok(!dropped.includes(partition), 'the event of a pending delivery stays');
  assert.equal(kept.length, 1);
  assert.equal(await findOverdueDay(database, 30), null, 'it is not late');
  assert.ok(dropped.length > 0);
  await setAside(database, {
    source: 'pending_deliveries',
    stage: 'claim',
    error: new Error('refused'),
    moved: take('pending_deliveries', sql`true`),
  });
  assert.deepEqual(await rotatePartitions(database, 30), [], 'so does that of one set aside');
  assert.equal(await dropOldSetAside(database, 30), 1, 'its webhook is gone');
  assert.ok((await rotatePartitions(database, 30)).includes(partition));
  assert.deepEqual(await rotatePartitions(database, 30), []);
});

test('an event that waits for fan-out survives the end of its day', async () => {
  await sql`
    insert into outbox (id, name, audience, data, created_at)
    select uuid_v7(old.at), 'org.created', 'global', '{}', old.at from (select now() - interval '40 days' as at) old
  `.execute(database);
  await rotatePartitions(database, 30);
  assert.equal((await fanOutWith(database)).events, 1);
  assert.ok((await rotatePartitions(database, 30)).includes(partition));
});

test('a probe that waits keeps no expired day, and stays due at its time', async () => {
  await sql`select ensure_partitions(current_date - 41, current_date - 39)`.execute(database);
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
  await sql`select ensure_partitions(current_date - 41, current_date - 39)`.execute(database);
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
