/** Migrations next to running processes: of this version, of the one before, and of sessions that hold locks. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { applyMigration, type MigrationEstimate } from '../../src/database/apply-migration.ts';
import {
  openClient,
  sql,
  type ConnectionSettings,
  type Database,
} from '../../src/database/database.ts';
import { listApplied, migrate } from '../../src/database/migrate.ts';
import { countRows } from '../support/count-rows.ts';
import { openTestDatabase, toUrl } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { runHere } from '../support/run-here.ts';
import { makeNextRelease } from '../support/next-release.ts';

const column = '9000_note.sql';
const index = '9001_index.sql';
const next = await makeNextRelease(
  {
    [column]: 'alter table events add column note text;',
    [index]: 'create index concurrently pending_by_event on pending_deliveries (event);',
  },
  {
    [column]: { events: { blocks: 'reads', work: null } },
    [index]: { pending_deliveries: { blocks: null, work: 'indexes' } },
  },
);

test('migrating again, also concurrently, applies nothing', async () => {
  const { database } = await openTestDatabase();
  assert.deepEqual(await Promise.all([migrate(database), migrate(database)]), [[], []]);
});

test('a process starts on the database of a newer version until a contract step removes what it uses', async () => {
  const { database } = await openTestDatabase();
  const record = (name: string) =>
    sql`insert into migrations (name, checksum) values (${name}, 'x')`.execute(database);
  await record('9000_more.sql');
  await record('9001_contract_0001_less.sql');
  assert.deepEqual(await migrate(database), []);
  await record('9002_contract_9000_less.sql');
  await assert.rejects(
    migrate(database),
    /9002_contract_9000_less\.sql, which removed what this version uses; start a version that has the migration 9000/,
  );
});

test('a database with changed migrations is rejected', async () => {
  const { database } = await openTestDatabase();
  await sql`
    update migrations set checksum = 'x' where name = '0001_baseline_directory.sql'
  `.execute(database);
  await assert.rejects(
    migrate(database),
    /0001_baseline_directory\.sql was changed after it was applied/,
  );
});

test('a database of before 1.0.0 is refused in one line, which says what to do', async () => {
  const { database, connection } = await openTestDatabase();
  await sql`delete from migrations`.execute(database);
  await sql`
    insert into migrations (name, checksum)
    values ('0001_directory.sql', 'x'), ('0002_access.sql', 'x'), ('0047_sign_up_blocks.sql', 'x')
  `.execute(database);
  const reason =
    /^this database was made by a version before 1\.0\.0, and cannot be upgraded; use an empty database, [^\n]+\n$/;
  const before = await listApplied(database);
  for (const words of [['migrate'], ['migrate', '--check'], ['apps', 'list']]) {
    const { code, stdout, stderr } = await runHere(words, { DATABASE_URL: toUrl(connection) });
    assert.deepEqual([code, stdout], [1, ''], words.join(' '));
    assert.match(stderr, reason);
  }
  assert.deepEqual(await listApplied(database), before);
});

test('a migration that waits for a lock lets others read and write meanwhile', async (t) => {
  const { database, connection } = await openTestDatabase();
  const release = await holdEvents(t, connection);
  let isOver = false;
  const migrating = next.migrate(database).finally(() => (isOver = true));
  await untilWaiting(database);
  for (let times = 0; times < 20; times += 1) {
    await sql`select from events limit 1`.execute(database);
    await sql`update events set data = data`.execute(database);
  }
  assert.equal(isOver, false);
  await release();
  assert.deepEqual(await migrating, [column, index]);
});

test('a migration that gets no lock in time names the session that holds it', async (t) => {
  const { database, connection } = await openTestDatabase();
  await holdEvents(t, connection);
  await assert.rejects(
    next.migrate(database, { lockPatienceMs: 0 }),
    /9000_note\.sql does not get its locks.*\(forgotten psql, idle in transaction, /,
  );
});

test('migrate --check says what pending migrations lock, and changes nothing', async () => {
  const { database, connection } = await openTestDatabase();
  const env = { DATABASE_URL: toUrl(connection) };
  const check = (...words: string[]) => next.run(['migrate', '--check', ...words], env);
  const { code, stdout } = await check('--json');
  assert.equal(code, 0);
  const { pending } = JSON.parse(stdout) as { pending: MigrationEstimate[] };
  assert.deepEqual(
    pending.map(({ name }) => name),
    [column, index],
  );
  assert.deepEqual(pending[1]?.tables, [
    { table: 'pending_deliveries', bytes: 8_192, blocks: null, work: 'indexes' },
  ]);
  assert.ok(pending.every(({ ms }) => ms > 0));
  assert.match(
    (await check()).stdout,
    /9000_note\.sql: about \d+ ms\n +table +size +meanwhile +work\n +events +\d+\.\d MB +no reads, no writes +none\n/,
  );
  assert.ok(!(await listApplied(database)).includes(column));
  await next.migrate(database);
  // For this release, too: its processes go on.
  const done = await runHere(['migrate', '--check'], env);
  assert.equal(done.stdout, 'The schema is up to date.\n');
  const empty = await openTestDatabase();
  await sql`drop schema orgdir cascade`.execute(empty.database);
  const here = await runHere(['migrate', '--check'], { DATABASE_URL: toUrl(empty.connection) });
  assert.match(here.stdout, /^0001_baseline_directory\.sql: about 10 ms\n0002_/);
});

test('an index is created on every partition while others write, also after an interruption', async (t) => {
  const { database, connection } = await openTestDatabase();
  const writer = openClient(connection, { applicationName: 'writer' });
  const interrupted = openClient(connection, { applicationName: 'interrupted' });
  for (const client of [writer, interrupted]) {
    client.on('error', () => {});
    await client.connect();
    t.after(() => client.end());
  }
  const text = '-- Why.\ncreate index concurrently events_by_name on events (name, id);\n';
  const file = { name: '9000_index.sql', text, checksum: 'x' };
  const { rows: partitions } = await sql<{ name: string }>`
    select max(inhrelid::regclass::text) as name from pg_inherits where inhparent = 'events'::regclass
  `.execute(database);
  const partition = partitions[0]?.name ?? '';
  await writer.query(`begin; update ${partition} set data = data`);
  await sql`create index events_by_name on only events (name, id)`.execute(database);
  const part = partition.replace('events', 'events_by_name');
  const { rows: sessions } = await interrupted.query('select pg_backend_pid() as pid');
  const cancelled = assert.rejects(
    interrupted.query(`create index concurrently ${part} on ${partition} (name, id)`),
    { code: '57014' },
  );
  await untilWaiting(database, 'virtualxid');
  await sql`select pg_cancel_backend(${sessions[0].pid})`.execute(database);
  await cancelled;
  const applying = database.connection().execute((own) => applyMigration(own, file, 60_000));
  await untilWaiting(database, 'virtualxid');
  await sql`update events set data = data`.execute(database);
  await writer.query('rollback');
  await applying;
  const { rows } = await sql`
    select indisvalid as is_valid, (select count(*) from pg_inherits where inhparent = indexrelid) > 2 as has_parts
    from pg_index where indexrelid = 'events_by_name'::regclass
  `.execute(database);
  assert.deepEqual(rows, [{ is_valid: true, has_parts: true }]);
  assert.equal(await countRows(database, sql`migrations where name = '9000_index.sql'`), 1);
});

test('an index that waits for a transaction of somebody names it after a while', async (t) => {
  const { database, connection } = await openTestDatabase();
  const release = await holdEvents(t, connection, 'begin isolation level repeatable read');
  const text = 'create index concurrently events_by_name on events (name, id);\n';
  const file = { name: '9000_index.sql', text, checksum: 'x' };
  const apply = (patienceMs: number) =>
    database.connection().execute((own) => applyMigration(own, file, patienceMs));
  await assert.rejects(
    apply(50),
    /9000_index\.sql does not get its locks.*\(forgotten psql, idle in transaction, /,
  );
  await release();
  await apply(60_000);
});

/** A session that has read `events` in a transaction and left it open. Returns how to end it. */
async function holdEvents(t: TestContext, connection: ConnectionSettings, begin = 'begin') {
  const holder = openClient(connection, { applicationName: 'forgotten psql' });
  // Dropping the database may end it first.
  holder.on('error', () => {});
  await holder.connect();
  t.after(() => holder.end());
  await holder.query(`${begin}; select from events limit 0`);
  return () => holder.query('rollback');
}

/** Resolves when a session waits for the exclusive lock of a table, or for the end of a transaction. */
async function untilWaiting(
  database: Database,
  kind: 'relation' | 'virtualxid' = 'relation',
): Promise<void> {
  await eventually(async () => {
    const { rows } = await sql`
      select from pg_locks l join pg_stat_activity a on a.pid = l.pid
      where a.datname = current_database() and not l.granted and l.locktype = ${kind}
    `.execute(database);
    return rows.length > 0;
  });
}
