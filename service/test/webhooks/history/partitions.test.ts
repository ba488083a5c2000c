import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  openDatabase,
  sql,
  type Database,
  type Transaction,
} from '../../../src/database/database.ts';
import { ensurePartitions, migrate } from '../../../src/database/migrate.ts';
import { readDelivery } from '../../../src/webhooks/management/deliveries.ts';
import {
  findOverdueDay,
  rotatePartitions,
  type KeptDay,
} from '../../../src/webhooks/history/retention.ts';
import { countRows } from '../../support/count-rows.ts';
import { openTestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';

const { database, connection } = await openTestDatabase();
const retentionDays = 30;

/** `offset` days from today, as the names of partitions have it. */
async function dayOf(offset: number): Promise<string> {
  const { rows } = await sql<{ day: string }>`
    select to_char((now() at time zone 'utc')::date + ${offset}::int, 'YYYYMMDD') as day
  `.execute(database);
  return rows[0]?.day ?? '';
}

async function makeDays(first: number, last: number): Promise<void> {
  await sql`
    select ensure_partitions(today + ${first}::int, today + ${last}::int)
    from (select (now() at time zone 'utc')::date as today) as clock
  `.execute(database);
}

async function exists(name: string): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`
    select to_regclass(${name}) is not null as found
  `.execute(database);
  return rows[0]?.found === true;
}

/** Runs `meanwhile` while another session's transaction has done `first` and is not at its end. */
async function during<T>(
  first: (tx: Transaction) => Promise<unknown>,
  meanwhile: () => Promise<T>,
): Promise<T> {
  const session = openDatabase(connection, { applicationName: 'other session', poolSize: 1 });
  try {
    return await session.transaction().execute(async (tx) => {
      await first(tx);
      return meanwhile();
    });
  } finally {
    await session.destroy();
  }
}

const lock = (table: string, mode: string) => (tx: Transaction) =>
  sql`lock table ${sql.table(table)} in ${sql.raw(mode)} mode`.execute(tx);

/** An ended delivery of noon, `offset` days from today, of an event so many days before it. */
async function insertEnded(offset: number, eventBefore = 0): Promise<{ id: string; app: string }> {
  const { rows } = await sql<{ id: string; webhook: string }>`
    with clock as (
      select ((now() at time zone 'utc')::date + ${offset}::int + time '12:00') at time zone 'utc' as at
    ),
    event as (
      insert into events (id, name, audience, data, created_at, position)
      select uuid_v7(at - ${eventBefore} * interval '1 day'), 'org.created', 'global', '{}',
        at - ${eventBefore} * interval '1 day', nextval('event_positions') from clock returning id
    )
    insert into deliveries (id, event_id, event, webhook_id, status, attempt_count, created_at)
    select uuid_v7(at), event.id, 'org.created', uuid_v7(), 'failed', 1, at from clock, event
    returning id, webhook_id as webhook
  `.execute(database);
  const [row] = rows;
  assert.ok(row);
  return { id: row.id, app: row.webhook };
}

/** As a redelivery does. */
const requeue = (id: string) => async (executor: Transaction | Database) => {
  await sql`
    with ended as (delete from deliveries where id = ${id} returning *)
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, attempt_count, due_at, created_at)
    select id, event_id, event, webhook_id, 'redelivery', attempt_count, queue_now(), created_at from ended
  `.execute(executor);
};

test('partitions are created while a dump reads the tables', async () => {
  const name = `events_${await dayOf(20)}`;
  await during(
    async (tx) => {
      for (const table of ['events', 'deliveries', 'attempts'])
        await lock(table, 'access share')(tx);
    },
    () => makeDays(20, 20),
  );
  assert.ok(await exists(name));
});

test('recording does not wait while partitions are created', async () => {
  const name = `events_${await dayOf(21)}`;
  await during(
    (tx) => sql`select ensure_partitions(current_date + 21, current_date + 21)`.execute(tx),
    async () => {
      assert.ok(!(await exists(name)), 'the transaction that makes it is open');
      await sql`insert into events (id, name, audience, data) values (uuid_v7(), 'org.created', 'webhook', '{}')`.execute(
        database,
      );
    },
  );
  assert.ok(await exists(name));
});

test('a partition has the bounds, checks and indexes of its parent', async () => {
  const { rows } = await sql<{
    parent: string;
    indexes: number;
    partitions: number;
    equal: boolean;
  }>`
    select parent.relname as parent,
      (select count(*) from pg_index where indrelid = parent.oid) as indexes,
      (select count(*) from pg_inherits where inhparent = parent.oid) as partitions,
      (select bool_and(
        (select count(*) from pg_index x join pg_inherits xi on xi.inhrelid = x.indexrelid where x.indrelid = i.inhrelid)
          = (select count(*) from pg_index where indrelid = parent.oid)
        and (select count(*) from pg_index where indrelid = i.inhrelid) = (select count(*) from pg_index where indrelid = parent.oid)
        and (select count(*) from pg_constraint where conrelid = i.inhrelid and contype = 'c')
          = (select count(*) from pg_constraint where conrelid = parent.oid and contype = 'c'))
       from pg_inherits i where i.inhparent = parent.oid) as equal
    from pg_class parent
    where parent.oid in ('events'::regclass, 'deliveries'::regclass, 'attempts'::regclass)
  `.execute(database);
  assert.equal(rows.length, 3);
  for (const { parent, indexes, partitions, equal } of rows) {
    assert.ok(indexes > 0 && partitions > 0, parent);
    assert.ok(equal, parent);
  }
});

test('a busy lock postpones a partition to the next run, and a start does not wait for it', async () => {
  const name = `deliveries_${await dayOf(7)}`;
  await sql`drop table ${sql.table(name)}`.execute(database);
  await during(lock('deliveries', 'access exclusive'), async () => {
    await ensurePartitions(database);
    assert.deepEqual(await migrate(database), []);
  });
  assert.ok(!(await exists(name)));
  await ensurePartitions(database);
  assert.ok(await exists(name));
});

test("a start that cannot create today's partitions fails, and succeeds once it can", async () => {
  const name = `attempts_${await dayOf(0)}`;
  await sql`drop table ${sql.table(name)}`.execute(database);
  await during(lock('attempts', 'share'), () =>
    assert.rejects(migrate(database), new RegExp(`the partitions ${name} cannot be created`)),
  );
  await migrate(database);
  assert.ok(await exists(name));
});

test('a day is dropped as a whole, and its events a day later than its deliveries', async () => {
  await makeDays(-33, -30);
  const { id, app } = await insertEnded(-30, 1);
  const dropped = await rotatePartitions(database, retentionDays);
  const days = await Promise.all([-33, -32, -31].map(dayOf));
  const [first, second, third] = days as [string, string, string];
  assert.deepEqual(dropped, [
    `attempts_${first}`,
    `deliveries_${first}`,
    // Events go with the deliveries of the day after theirs.
    `attempts_${second}`,
    `deliveries_${second}`,
    `events_${first}`,
    `attempts_${third}`,
    `deliveries_${third}`,
    `events_${second}`,
  ]);
  const { eventId } = await readDelivery(database, app, app, id);
  assert.equal(await countRows(database, sql`events where id = ${eventId}`), 1);
});

test('a redelivery keeps a day that is about to be dropped', async () => {
  await makeDays(-31, -31);
  const { id } = await insertEnded(-31);
  const partition = `attempts_${await dayOf(-31)}`;
  // Not committed: the look at the queue does not see it, and the lock is not to be had.
  await during(requeue(id), async () => {
    assert.ok(!(await rotatePartitions(database, retentionDays)).includes(partition));
  });
  assert.ok(!(await rotatePartitions(database, retentionDays)).includes(partition));
  await sql`delete from pending_deliveries where id = ${id}`.execute(database);
  assert.ok((await rotatePartitions(database, retentionDays)).includes(partition));
});

test('a redelivery just before the lock keeps the day too', async () => {
  await makeDays(-31, -31);
  const { id } = await insertEnded(-31);
  const partition = `attempts_${await dayOf(-31)}`;
  // It is committed as soon as the turn waits for the lock, or has given it up.
  const { turning } = await during(requeue(id), async () => {
    let over = false;
    const begun = rotatePartitions(database, retentionDays).finally(() => (over = true));
    await eventually(async () => over || (await waitsForLock()));
    return { turning: begun };
  });
  assert.ok(!(await turning).includes(partition));
  assert.ok(await exists(partition));
  await sql`delete from pending_deliveries where id = ${id}`.execute(database);
});

async function waitsForLock(): Promise<boolean> {
  const { rows } = await sql`
    select from pg_locks where not granted and mode = 'AccessExclusiveLock'
      and database = (select oid from pg_database where datname = current_database())
  `.execute(database);
  return rows.length > 0;
}

test('two workers that rotate partitions concurrently drop each day once', async () => {
  await makeDays(-36, -31);
  const both = await Promise.all([
    rotatePartitions(database, retentionDays),
    rotatePartitions(database, retentionDays),
  ]);
  const names = both.flat();
  const last = `attempts_${await dayOf(-31)}`;
  // What autovacuum has locked at that moment is left to a later turn.
  while (await exists(last)) names.push(...(await rotatePartitions(database, retentionDays)));
  assert.equal(new Set(names).size, names.length);
  assert.ok(names.includes(last));
});

test('nothing is dropped while a dump reads the tables, only at the next run', async () => {
  await makeDays(-33, -32);
  const kept: KeptDay[] = [];
  const { dropped, overdue } = await during(lock('attempts', 'access share'), async () => ({
    dropped: await rotatePartitions(database, retentionDays, (day) => kept.push(day)),
    overdue: await findOverdueDay(database, retentionDays),
  }));
  assert.deepEqual(dropped, []);
  const [{ day, ...why } = assert.fail()] = kept;
  assert.deepEqual([day, why.reason], [await dayOf(-33), 'locked']);
  assert.match(
    'holders' in why ? why.holders : '',
    /\d+ \(other session, idle in transaction, transaction open for \d+ s\)/,
  );
  // It was to be dropped at the first midnight after its thirty days.
  const overdueDays = (overdue?.overdueSeconds ?? 0) / 86_400;
  assert.ok(overdueDays >= 2 && overdueDays < 3, String(overdueDays));
  assert.ok(
    (await rotatePartitions(database, retentionDays)).includes(`attempts_${await dayOf(-33)}`),
  );
  assert.equal(await findOverdueDay(database, retentionDays), null);
});

test('retention follows the clock of the queue', async () => {
  await makeDays(-20, -20);
  const name = `attempts_${await dayOf(-20)}`;
  assert.ok(!(await rotatePartitions(database, retentionDays)).includes(name));
  await sql`create or replace function queue_now() returns timestamptz language sql volatile as $$
    select clock_timestamp() + interval '15 days' $$`.execute(database);
  assert.ok((await rotatePartitions(database, retentionDays)).includes(name));
  await sql`create or replace function queue_now() returns timestamptz language sql volatile as $$
    select clock_timestamp() $$`.execute(database);
});
