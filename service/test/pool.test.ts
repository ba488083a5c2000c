import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDatabase, sql, type Database } from '../src/database/database.ts';
import { openTestDatabase } from './support/database.ts';

const { database: other, connection } = await openTestDatabase();
await sql`create table kept (value int)`.execute(other);
await sql`insert into kept values (1)`.execute(other);

/** Of one connection, so that the next statement meets the last one's. */
async function withOneConnection(run: (database: Database) => Promise<void>): Promise<void> {
  const database = openDatabase(connection, { applicationName: 'test', poolSize: 1 });
  try {
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

test('an invalid statement does not drop the connection', () =>
  withOneConnection(async (database) => {
    const pid = async () =>
      (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(database)).rows[0]?.pid;
    const before = await pid();
    await assert.rejects(sql`select 1 / 0`.execute(database), { code: '22012' });
    assert.equal(await pid(), before);
  }));
