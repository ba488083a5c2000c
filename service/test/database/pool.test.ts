import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDatabase, sql, type Database, type Executor } from '../../src/database/database.ts';
import { openTestDatabase } from '../support/database.ts';

const { database: other, connection } = await openTestDatabase();
await sql`create table kept (value int)`.execute(other);
await sql`insert into kept values (1)`.execute(other);

/** Of one connection, so that the next statement meets the last one's. */
async function withOneConnection(
  run: (database: Database) => Promise<void>,
  options: { settings?: Record<string, string>; pooled?: boolean } = {},
): Promise<void> {
  const { settings, pooled } = options;
  const target = pooled ? { ...connection, direct: connection } : connection;
  const database = openDatabase(target, {
    applicationName: 'test',
    poolSize: 1,
    ...(settings && { settings }),
  });
  try {
    // As a pooler's `connect_query` does.
    if (pooled) await sql`set search_path = orgdir, public`.execute(database);
    await run(database);
  } finally {
    await database.destroy();
  }
}

async function read(database: Database): Promise<unknown> {
  const { rows } = await sql<{ value: unknown; pid: number }>`
    -- prepared: read_kept
    select *, pg_backend_pid() as pid from kept
  `.execute(database);
  return rows[0]?.value;
}

const preparedCount = async (database: Database) =>
  (await sql<{ n: number }>`select count(*) as n from pg_prepared_statements`.execute(database))
    .rows[0]?.n;

test('a marked statement is prepared once per connection, others are not', () =>
  withOneConnection(async (database) => {
    await read(database);
    await read(database);
    assert.equal(await preparedCount(database), 1);
  }));

test('a prepared statement whose result has changed fails once, and then runs on a new connection', () =>
  withOneConnection(async (database) => {
    assert.equal(await read(database), 1);
    await sql`alter table kept alter column value type text`.execute(other);
    await assert.rejects(read(database), { code: '0A000' });
    assert.equal(await read(database), '1');
  }));

test('a prepared statement that the server has lost fails once, and then runs on a new connection', () =>
  withOneConnection(async (database) => {
    await read(database);
    await sql`deallocate all`.execute(database);
    await assert.rejects(read(database), { code: '26000' });
    assert.equal(await read(database), '1');
  }));

test('a connection on which a write was refused as read-only is replaced', () =>
  withOneConnection(async (database) => {
    await sql`set default_transaction_read_only = on`.execute(database);
    await assert.rejects(sql`insert into kept values (8)`.execute(database), { code: '25006' });
    await sql`insert into kept values (8)`.execute(database);
  }));

const pid = async (database: Executor) =>
  (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(database)).rows[0]?.pid;

const settings = { enable_seqscan: 'off', lock_timeout: '500' };
const behindPooler = { settings, pooled: true };
for (const options of [{}, behindPooler])
  test(`an invalid statement does not drop the connection, ${'settings' in options ? 'with' : 'without'} settings of the transaction`, () =>
    withOneConnection(async (database) => {
      const before = await pid(database);
      await assert.rejects(sql`select 1 / 0`.execute(database), { code: '22012' });
      assert.equal(await pid(database), before);
    }, options));

/** Not prepared. */
const readSeqscan = async (database: Executor) =>
  (
    await sql<{ seqscan: string }>`
      select current_setting('enable_seqscan') as seqscan
    `.execute(database)
  ).rows[0]?.seqscan;

const readSettings = async (database: Executor) =>
  (
    await sql<{ seqscan: string; lockTimeout: string }>`
      -- prepared: read_settings
      select current_setting('enable_seqscan') as seqscan, current_setting('lock_timeout') as "lockTimeout"
    `.execute(database)
  ).rows[0];

test('settings are those of the connection', () =>
  withOneConnection(
    async (database) => {
      assert.deepEqual(await readSettings(database), { seqscan: 'off', lockTimeout: '500ms' });
      assert.equal(await readSeqscan(database), 'off');
    },
    { settings },
  ));

test('behind a pooler settings hold in each prepared statement and each transaction, and not in the session', () =>
  withOneConnection(async (database) => {
    const expected = { seqscan: 'off', lockTimeout: '500ms' };
    assert.deepEqual(await readSettings(database), expected);
    await database.transaction().execute(async (tx) => {
      assert.deepEqual(await readSettings(tx), expected);
      assert.deepEqual(await readSettings(tx), expected);
      assert.equal(await readSeqscan(tx), 'off');
    });
    await assert.rejects(
      database.transaction().execute(async (tx) => {
        await sql`insert into kept values (7)`.execute(tx);
        throw new Error('no');
      }),
    );
    assert.deepEqual(await readSettings(database), expected);
    assert.equal(await readSeqscan(database), 'on');
    const { rows } = await sql<{ inTransaction: number; session: string }>`
      select (select count(*) from kept where value::int = 7)::int as "inTransaction",
        (select reset_val from pg_settings where name = 'enable_seqscan') as session
    `.execute(database);
    assert.deepEqual(rows[0], { inTransaction: 0, session: 'on' });
  }, behindPooler));

test('behind a pooler, a prepared statement that fails when it is committed is refused and leaves nothing', () =>
  withOneConnection(async (database) => {
    await sql`create table once (value int unique deferrable initially deferred)`.execute(other);
    const insert = (value: number) =>
      sql`
        -- prepared: insert_twice
        insert into once values (${value}), (2)
      `.execute(database);
    await insert(1);
    await assert.rejects(insert(3), { code: '23505' });
    const { rows } = await sql<{ value: number }>`select value from once`.execute(database);
    assert.deepEqual(rows, [{ value: 1 }, { value: 2 }]);
  }, behindPooler));

test('behind a pooler, a connection that the server ends is replaced', () =>
  withOneConnection(async (database) => {
    const first = await pid(database);
    await sql`select pg_terminate_backend(${first})`.execute(other);
    let next = first;
    while (next === first) next = await pid(database).catch(() => first);
    assert.equal(await pid(database), next);
  }, behindPooler));
