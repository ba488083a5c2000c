/** Moves whole installations between the embedded database, a server of the operator's and files. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import files, { open as openFile, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import { after, mock, test } from 'node:test';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import pg from 'pg';
import {
  openDatabase,
  sql,
  type ConnectionSettings,
  type Database,
  type Executor,
} from '../../src/database/database.ts';
import { listApplied, listMigrations, migrate } from '../../src/database/migrate.ts';
import { createLogger } from '../../src/runtime/log.ts';
import { loadConfig } from '../../src/settings/config.ts';
import { startService, stopParts } from '../../src/start/main.ts';
import { openConfiguredDatabase, type OpenedDatabase } from '../../src/start/open-database.ts';
import { readSecretKeys } from '../../src/database/read-secret-keys.ts';
import {
  connectInto,
  newDataDir,
  newMigratedDataDir,
  removeDataDir,
  serverPid,
  startCommand,
  type Command,
} from '../support/command.ts';
import { countRows } from '../support/count-rows.ts';
import {
  createDatabase,
  dropDatabase,
  openTestDatabase,
  testServer,
  toUrl,
  withName,
} from '../support/database.ts';
import { announce, put } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { makeNextRelease } from '../support/next-release.ts';
import { queueDrained } from '../support/queue.ts';
import { fanOutToQueue, failed, recordNew, succeeded } from '../support/queue-steps.ts';
import { loopbackAllowed, startReceiver, type Receiver } from '../support/receiver.ts';
import { runHere } from '../support/run-here.ts';
import { makeKey, startTestService, type TestService } from '../support/service.ts';

const run = promisify(execFile);
const options = { timeout: 300_000 };
/** An old cluster is far ahead of a new one. */
const olderBy = 900_000_000;
const withTransactions = ['outbox', 'published_events', 'delivery_changes', 'webhook_outcomes'];

test('an installation with a full queue moves to another server and back', options, async () => {
  const first = await newMigratedFolder();
  const receiver = await startReceiver();
  const opened = await openEmbedded(first);
  const secretKeys = await readSecretKeys(
    { secretKeys: null, databaseUrl: null, dataDir: first },
    opened.database,
  );
  const key = await begin(opened, secretKeys, receiver);
  const before = await fillQueue(opened.database, { rows: 5 });
  const source = await readRows(opened.database);
  await opened.close();

  const url = await emptyDatabase();
  const moved = await runHere(['database', 'move', '--to', url], { DATA_DIR: first });
  assert.equal(moved.code, 0, moved.stderr);
  assert.match(moved.stdout, new RegExp(`The key in ${join(first, 'secret-key')} is not copied`));
  const target = { connectionString: url };
  const database = open(target);
  assert.deepEqual(await readRows(database), source);
  await requireOwnTransactions(database);
  const seen = await deliverAll({ database, connection: target }, secretKeys, key, null);
  await requireReceived(database, receiver, seen.events, before);

  // More than the new cluster has had, and a queue again.
  const later = await fillQueue(database, { rows: 7 });
  await database.destroy();
  const secretKey = secretKeys.map((each) => each.toString('base64')).join();
  const env = { DATABASE_URL: url, SECRET_KEY: secretKey };
  const restored = await newFolder();
  const file = join(dirname(restored), 'orgdir.backup');
  const written = await runHere(['backup', file], env);
  assert.equal(written.code, 0, written.stderr);
  const read = await runHere(['restore', file], { DATA_DIR: restored });
  assert.equal(read.code, 0, read.stderr);
  assert.match(
    read.stdout,
    new RegExp(`put the key of .* into ${join(restored, 'secret-key')}, or set SECRET_KEY to it`),
  );

  receiver.received.length = 0;
  const home = await openEmbedded(restored);
  await requireOwnTransactions(home.database);
  const more = await deliverAll(home, secretKeys, key, seen.cursor);
  await requireReceived(home.database, receiver, more.events, later);
  await home.close();
});

test(
  'a restore that waits for another one lets it build indexes, and keeps what somebody writes meanwhile',
  options,
  async () => {
    const source = await openTestDatabase();
    await put(source.database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
    const file = join(dirname(await newFolder()), 'orgdir.backup');
    const secret = { SECRET_KEY: randomKey() };
    const from = { ...secret, DATABASE_URL: toUrl(source.connection) };
    assert.equal((await runHere(['backup', file], from)).code, 0);
    const url = await emptyDatabase();
    const other = new pg.Client(url);
    await other.connect();
    await other.query('select pg_advisory_lock(70420023)');
    const waiting = runHere(['restore', file], { ...secret, DATABASE_URL: url });
    await eventually(async () => {
      const { rowCount } = await other.query(`
      select from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and query like '%advisory_lock%'
    `);
      return rowCount === 1;
    });
    await other.query('create table built (id int)');
    await other.query('create index concurrently on built (id)');
    await other.end();
    const { code, stderr } = await waiting;
    assert.equal(code, 0, stderr);

    const { database, connection } = await openTestDatabase();
    const { restoring } = await database.transaction().execute(async (tx) => {
      await sql`lock table apps in share mode`.execute(tx);
      const started = runHere(['restore', file], { ...secret, DATABASE_URL: toUrl(connection) });
      const query: Query = (text) => sql.raw<{ blocked: boolean }>(text).execute(tx);
      await eventually(() => isBlocked(query, 'apps'));
      await sql`
      insert into published_events (id, name, org_id, data, created_at) values (uuid_v7(), 'event.created', uuid_v7(), '{}', now())
    `.execute(database);
      // Not awaited: it goes on when the lock is gone.
      return { restoring: started };
    });
    const refused = await restoring;
    assert.equal(refused.code, 1);
    assert.match(
      refused.stderr,
      /^somebody has written to published_events of the target meanwhile/,
    );
    assert.equal(await countRows(database, sql`published_events`), 1);
  },
);

test('a cursor from after a backup goes on in what is restored', options, async () => {
  const source = await startTestService({ worker: true });
  await put(source.database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
  const cursorAfter = async (service: TestService, id: string, from = '') =>
    eventually(async () => {
      const { body } = await service.call(`/events?limit=1${from && `&after=${from}`}`);
      assert.ok(body.data.length === 0 || body.data[0].id === id, 'it is the next event');
      return body.data.length > 0 && String(body.pagination.nextCursor);
    });
  const first = await cursorAfter(source, await announce(source.database));
  const file = join(dirname(await newFolder()), 'orgdir.backup');
  const secret = { SECRET_KEY: source.secretKeys.map((each) => each.toString('base64')).join() };
  const env = { ...secret, DATABASE_URL: toUrl(source.connection) };
  const written = await runHere(['backup', file], env);
  assert.equal(written.code, 0, written.stderr);
  const later = await cursorAfter(source, await announce(source.database), first);
  const other = await openTestDatabase();
  const to = { ...secret, DATABASE_URL: toUrl(other.connection) };
  const restored = await runHere(['restore', file], to);
  assert.equal(restored.code, 0, restored.stderr);
  const beside = { ...other, secretKeys: source.secretKeys };
  const target = await startTestService({ beside, worker: true });
  const { key } = source;
  const { body } = await target.call('/events', { key });
  assert.equal(body.data.length, 1);
  const next = await announce(beside.database);
  await eventually(async () => {
    const { body: page } = await target.call(`/events?after=${later}`, { key });
    return page.data.length === 1 && page.data[0].id === next;
  });
});

test(
  'a move, a backup and a restore that are killed half-way leave nothing, and work when repeated',
  options,
  async () => {
    const dataDir = await newMigratedFolder();
    const opened = await openEmbedded(dataDir);
    const secretKeys = await readSecretKeys(
      { secretKeys: null, databaseUrl: null, dataDir },
      opened.database,
    );
    await begin(opened, secretKeys, await startReceiver());
    await fillQueue(opened.database, { rows: 5 });
    const env = { DATA_DIR: dataDir };
    const { database: target, connection: to } = await openTestDatabase();
    const url = toUrl(to);
    const file = join(dirname(dataDir), 'orgdir.backup');
    // The last table waits for this, when the others have been copied.
    const client = await connectInto(dataDir);
    await client.query('begin; lock table webhooks');

    await killOnceWaiting(startCommand(['database', 'move', '--to', url], { env }), client);
    await killOnceWaiting(startCommand(['backup', file], { env }), client);
    await client.end();
    assert.equal(existsSync(file), false);

    assert.equal(await countRows(target, sql`orgs`), 0);
    const source = await readRows(opened.database);
    await opened.close();
    const repeated = await runHere(['database', 'move', '--to', url], env);
    assert.equal(repeated.code, 0, repeated.stderr);
    assert.deepEqual(await readRows(target), source);
    const written = await runHere(['backup', file], env);
    assert.equal(written.code, 0, written.stderr);

    const { database, connection } = await openTestDatabase();
    const restoreEnv = {
      DATABASE_URL: toUrl(connection),
      SECRET_KEY: String(await readFile(join(dataDir, 'secret-key'))),
    };
    await database.transaction().execute(async (tx) => {
      await sql`lock table webhooks in share mode`.execute(tx);
      const restoring = startCommand(['restore', file], { env: restoreEnv });
      await eventually(() => isBlocked((text) => sql.raw<{ blocked: boolean }>(text).execute(tx)));
      restoring.signal('SIGKILL');
      await restoring.ended;
    });
    const again = await runHere(['restore', file], restoreEnv);
    assert.equal(again.code, 0, again.stderr);
    assert.deepEqual(await readRows(database), source);

    // Into the embedded database. The end of the file does not come, so the rows are in a transaction that cannot commit.
    const embedded = await newFolder();
    const pipe = join(dirname(embedded), 'pipe');
    await run('mkfifo', [pipe]);
    const place = { SECRET_KEY: restoreEnv.SECRET_KEY, DATA_DIR: embedded };
    const restoring = startCommand(['restore', pipe], { env: place });
    const writer = await openFile(pipe, 'w');
    await writer.writeFile((await readFile(file)).subarray(0, -9));
    const inside = await eventually(() => connectInto(embedded).catch(() => null));
    await eventually(async () => {
      const { rowCount } = await inside.query(
        `select from pg_locks where relation = to_regclass('orgdir.orgs') and mode = 'RowExclusiveLock'`,
      );
      return rowCount;
    });
    await inside.end();
    restoring.signal('SIGKILL');
    await restoring.ended;
    await writer.close();
    assert.notEqual(await serverPid(embedded), null, 'its server is left behind');
    const restored = await runHere(['restore', file], place);
    assert.equal(restored.code, 0, restored.stderr);
    const home = await openEmbedded(embedded);
    assert.deepEqual(await readRows(home.database), source);
    await home.close();
  },
);

test(
  'a move that is killed after its commit copies again, and a complete copy says that it is complete',
  options,
  async () => {
    const { database: source, connection } = await openTestDatabase();
    await put(source, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
    const env = { DATABASE_URL: toUrl(connection), SECRET_KEY: randomKey() };
    const target = (await openTestDatabase()).connection;
    const database = open(target);
    const args = ['database', 'move', '--to', toUrl(target)];
    await database.connection().execute(async (session) => {
      const moving = await database.transaction().execute(async (tx) => {
        await sql`lock table webhooks in share mode`.execute(tx);
        const command = startCommand(args, { env });
        await eventually(() =>
          isBlocked((text) => sql.raw<{ blocked: boolean }>(text).execute(tx)),
        );
        // What it does after the commit waits for this.
        await sql`select pg_advisory_lock(70420003)`.execute(session);
        return command;
      });
      await eventually(async () => (await countRows(session, sql`orgs`)) > 0);
      moving.signal('SIGKILL');
      await moving.ended;
      await sql`select pg_advisory_unlock(70420003)`.execute(session);
    });

    await put(source, 'orgs', [{ slug: 'globex', name: 'Globex' }]);
    const before = await fingerprint(source);
    const repeated = await runHere(args, env);
    assert.equal(repeated.code, 0, repeated.stderr);
    assert.deepEqual(await fingerprint(source), before, 'the source is unchanged');
    assert.deepEqual(await readRows(database), before.rows);
    const complete = await runHere(args, env);
    assert.equal(complete.code, 1);
    assert.match(complete.stderr, /^the target has a complete copy already/);

    const used = await runHere(['migrate'], { ...env, DATABASE_URL: toUrl(target) });
    assert.equal(used.code, 0, used.stderr);
    const refused = await runHere(args, env);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /^the target is in use: it has rows in .*orgs/);
  },
);

test('a move copies nothing while somebody publishes by SQL into the source', options, async () => {
  const { database, connection } = await openTestDatabase();
  await put(database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
  const publish = (executor: Executor) =>
    sql`select orgdir.publish_event('org.created', org_slug => 'acme')`.execute(executor);
  const env = { DATABASE_URL: toUrl(connection), SECRET_KEY: randomKey() };
  const target = await openTestDatabase();
  const args = ['database', 'move', '--to', toUrl(target.connection)];

  const { moving } = await database.transaction().execute(async (tx) => {
    await sql`lock table webhooks`.execute(tx);
    const started = runHere(args, env);
    await eventually(() => isBlocked((text) => sql.raw<{ blocked: boolean }>(text).execute(tx)));
    await publish(database);
    // Not awaited: it goes on when the lock is gone.
    return { moving: started };
  });
  const meanwhile = await moving;
  const notYetCommitted = await database.transaction().execute(async (tx) => {
    await publish(tx);
    return runHere(args, env);
  });
  for (const refused of [meanwhile, notYetCommitted]) {
    assert.equal(refused.code, 1);
    assert.match(
      refused.stderr,
      /^somebody has written to published_events of the source meanwhile, so nothing was copied/,
    );
  }

  const repeated = await runHere(args, env);
  assert.equal(repeated.code, 0, repeated.stderr);
  assert.equal(await countRows(target.database, sql`published_events`), 2);
});

test('a target in use is refused, and so is a source whose service runs', options, async () => {
  const { database, connection } = await openTestDatabase();
  await makeKey({ database });
  const env = { DATABASE_URL: toUrl(connection), SECRET_KEY: randomKey() };
  const url = await emptyDatabase();
  // As hosts that rent out databases write it.
  const named = `${env.DATABASE_URL}${env.DATABASE_URL.includes('?') ? '&' : '?'}application_name=mine`;
  const config = loadConfig({ ...env, DATABASE_URL: named, PORT: '0', INTERNAL_PORT: '0' });
  const started = { demo: false, onFatal: assert.fail };
  const service = await startService(config, createLogger('silent'), started);
  const beside = await runHere(['database', 'move', '--to', url], env);
  await service.stop();
  assert.deepEqual([beside.code, beside.stdout], [1, '']);
  assert.match(beside.stderr, /^a service still runs on the source \((serve|listener), pid \d+\)/);

  const other = await openTestDatabase();
  await put(other.database, 'orgs', [{ slug: 'other', name: 'Other' }]);
  const used = await readRows(other.database);
  const file = join(dirname(await newFolder()), 'orgdir.backup');
  assert.equal((await runHere(['backup', file], env)).code, 0);
  for (const [args, place] of [
    [['database', 'move', '--to', toUrl(other.connection)], env],
    [['database', 'move', '--to', toUrl(other.connection), '--dry-run'], env],
    [['restore', file], { ...env, DATABASE_URL: toUrl(other.connection) }],
  ] as const) {
    const { code, stderr } = await runHere([...args], place);
    assert.equal(code, 1);
    assert.match(stderr, /^the target is in use: it has rows in .*orgs/);
  }
  assert.deepEqual(await readRows(other.database), used);

  const dry = await runHere(['database', 'move', '--to', url, '--dry-run', '--json'], env);
  assert.equal(dry.code, 0, dry.stderr);
  assert.equal(JSON.parse(dry.stdout).tables.apps, 1);
  const { rows } = await sql<{ made: boolean }>`
    select to_regclass('orgdir.migrations') is not null as made
  `.execute(open({ connectionString: url }));
  assert.equal(rows[0]?.made, false, 'a dry run changes nothing');
});

test(
  'a backup is private, without SECRET_KEY, never overwritten, and refused if damaged',
  options,
  async () => {
    const { database, connection } = await openTestDatabase();
    const secretKeys = [Buffer.alloc(32, 7)];
    await begin({ database, connection }, secretKeys, await startReceiver());
    const secretKey = secretKeys[0]!.toString('base64');
    const env = { DATABASE_URL: toUrl(connection), SECRET_KEY: secretKey };
    const folder = dirname(await newFolder());
    const file = join(folder, 'orgdir.backup');
    const { code, stdout } = await runHere(['backup', file, '--json'], env);
    assert.deepEqual([code, JSON.parse(stdout).tables.webhooks], [0, 1]);
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.deepEqual(await readdir(folder), ['orgdir.backup']);

    const bytes = await readFile(file);
    const plain = gunzipSync(bytes);
    for (const form of [secretKey, secretKeys[0]!, secretKeys[0]!.toString('hex')])
      assert.equal(plain.includes(form), false);
    const second = await runHere(['backup', file], env);
    assert.deepEqual([second.code, second.stderr], [1, `file ${file} exists; name a new one\n`]);
    assert.deepEqual(await readFile(file), bytes);

    const to = { ...env, DATABASE_URL: toUrl((await openTestDatabase()).connection) };
    const flipped = Buffer.from(bytes);
    flipped[bytes.length >> 1]! ^= 0xff;
    for (const damaged of [
      bytes.subarray(0, -9),
      bytes.subarray(0, bytes.length >> 1),
      flipped,
      Buffer.from('text'),
    ]) {
      const name = join(folder, randomUUID());
      await writeFile(name, damaged);
      const refused = await runHere(['restore', name], to);
      assert.equal(refused.code, 1);
      assert.match(refused.stderr, /is no backup, or is damaged/);
    }
    const restored = await runHere(['restore', file], to);
    assert.equal(restored.code, 0, restored.stderr);
  },
);

test('a backup for which the disk has no room leaves nothing, and says so', options, async () => {
  const { database, connection } = await openTestDatabase();
  const orgs = Array.from({ length: 2_000 }, (_each, index) => ({
    slug: `org-${index}`,
    name: `Organisation ${index}`,
    description: randomBytes(500).toString('hex'),
  }));
  await put(database, 'orgs', orgs);
  const env = { DATABASE_URL: toUrl(connection), SECRET_KEY: randomKey() };
  const file = await newFolder();
  const original = files.open;
  const opened = mock.method(files, 'open', async (...args: Parameters<typeof openFile>) => {
    const handle = await original(...args);
    mock.method(handle, 'appendFile', async () => {
      throw Object.assign(new Error('full'), { code: 'ENOSPC', syscall: 'write' });
    });
    return handle;
  });
  syncBuiltinESMExports();
  try {
    for (let times = 0; times < 5; times += 1) {
      const { code, stderr } = await runHere(['backup', file], env);
      assert.deepEqual([code, stderr], [1, `file ${file} cannot be written (ENOSPC)\n`]);
    }
  } finally {
    opened.mock.restore();
    syncBuiltinESMExports();
  }
  assert.deepEqual(await readdir(dirname(file)), []);
});

test(
  'a backup is written where files have no links, and replaces none, there or elsewhere',
  options,
  async () => {
    const { connection } = await openTestDatabase();
    const env = { DATABASE_URL: toUrl(connection), SECRET_KEY: randomKey() };
    const folder = dirname(await newFolder());
    const file = join(folder, 'orgdir.backup');
    const later = join(folder, 'later.backup');
    const raced = join(folder, 'raced.backup');
    const { link: original } = files;
    const link = mock.method(files, 'link', async (from: string, to: string) => {
      // Somebody else writes a file of this name at the last moment.
      if (to === later || to === raced) await writeFile(to, 'theirs');
      if (to === raced) return original(from, to);
      throw Object.assign(new Error('not permitted'), { code: 'EPERM', syscall: 'link' });
    });
    const { rename } = files;
    const failing = join(folder, 'failing.backup');
    const renamed = mock.method(files, 'rename', async (from: string, to: string) => {
      if (to === failing) throw Object.assign(new Error('failed'), { code: 'EIO' });
      return rename(from, to);
    });
    syncBuiltinESMExports();
    try {
      const { code, stderr } = await runHere(['backup', file], env);
      assert.deepEqual([code, stderr], [0, '']);
      assert.equal((await runHere(['backup', failing], env)).code, 1, 'and leaves nothing behind');
      assert.equal((await stat(file)).mode & 0o777, 0o600);
      for (const other of [later, raced]) {
        const refused = await runHere(['backup', other], env);
        assert.equal(refused.code, 1);
        assert.match(refused.stderr, /(later|raced)\.backup exists; name a new one/);
        assert.equal(await readFile(other, 'utf8'), 'theirs');
      }
      const names = ['later.backup', 'orgdir.backup', 'raced.backup'];
      assert.deepEqual((await readdir(folder)).sort(), names);
    } finally {
      link.mock.restore();
      renamed.mock.restore();
      syncBuiltinESMExports();
    }
    const to = { ...env, DATABASE_URL: toUrl((await openTestDatabase()).connection) };
    const restored = await runHere(['restore', file], to);
    assert.equal(restored.code, 0, restored.stderr);
  },
);

test(
  'an installation of an earlier release moves as it is and is migrated there',
  options,
  async () => {
    const next = await makeNextRelease({ '9000_note.sql': 'alter table apps add note text;' });
    const own = await listMigrations();
    const source = { connectionString: await emptyDatabase() };
    const database = open(source);
    await migrate(database);
    await sql`insert into apps (id, name) values (${randomUUID()}, 'Old')`.execute(database);
    const url = await emptyDatabase();
    const { code, stderr } = await next.run(['database', 'move', '--to', url], {
      DATABASE_URL: source.connectionString,
      SECRET_KEY: randomKey(),
    });
    assert.equal(code, 0, stderr);
    assert.deepEqual((await listApplied(database)).sort(), own);
    const target = open({ connectionString: url });
    assert.deepEqual((await listApplied(target)).sort(), [...own, '9000_note.sql']);
    const { rows } = await sql<{ name: string; note: null }>`
      select name, note from apps
    `.execute(target);
    assert.deepEqual(rows, [{ name: 'Old', note: null }]);
  },
);

test('an installation of before 1.0.0 is not moved', options, async () => {
  const { database, connection } = await openTestDatabase();
  await sql`update migrations set name = replace(name, 'baseline_', '')`.execute(database);
  const url = await emptyDatabase();
  const { code, stderr } = await runHere(['database', 'move', '--to', url], {
    DATABASE_URL: toUrl(connection),
    SECRET_KEY: randomKey(),
  });
  assert.deepEqual(
    [code, stderr],
    [1, 'the data was made by a version before 1.0.0, and cannot be upgraded\n'],
  );
});

// --- an installation and its queue ------------------------------------------------------------------

type Home = Pick<OpenedDatabase, 'database' | 'connection'>;
type Queued = { announced: string[]; published: string[] };

/** An organisation, and a webhook for everything. Returns a key of its app. */
async function begin(home: Home, secretKeys: Buffer[], receiver: Receiver): Promise<string> {
  const service = await startTestService({ env: loopbackAllowed, beside: { ...home, secretKeys } });
  await put(home.database, 'orgs', [{ slug: 'acme', name: 'Acme', contactEmail: 'a@example.org' }]);
  const json = { url: receiver.url };
  assert.equal((await service.call('/webhooks', { method: 'POST', json })).status, 201);
  await stopParts(service);
  return service.key;
}

/** Rows in each table of the queue, written by transactions of an older cluster. */
async function fillQueue(database: Database, { rows }: { rows: number }): Promise<Queued> {
  const { rows: webhooks } = await sql<{ id: string }>`select id from webhooks`.execute(database);
  const webhookId = webhooks[0]?.id ?? '';
  const announced: string[] = [];
  const published: string[] = [];
  for (let count = 0; count < rows; count += 1) announced.push(await announce(database));
  await fanOutToQueue(database);
  for (let count = 0; count < rows; count += 1) {
    announced.push(await announce(database));
    const made = await sql<{ id: string }>`
      select orgdir.publish_event('org.created', org_slug => 'acme') as id
    `.execute(database);
    published.push(made.rows[0]?.id ?? '');
    await recordNew(database, { webhookId, ...(count % 2 ? failed : succeeded) });
  }
  for (const table of withTransactions) {
    const { numAffectedRows } = await sql`
      update ${sql.table(table)} set xid = ((xid::text::bigint + ${olderBy})::text)::xid8
    `.execute(database);
    assert.ok(Number(numAffectedRows) > 0, `${table} is empty`);
  }
  return { announced, published };
}

/** Transactions of this cluster that have ended, so that no look passes what they wrote. Other databases may have older ones. */
async function requireOwnTransactions(database: Database): Promise<void> {
  for (const table of withTransactions) {
    const { rows } = await sql<{ ended: boolean; count: number }>`
      select bool_and(pg_visible_in_snapshot(xid, pg_current_snapshot())) as ended, count(*) as count
      from ${sql.table(table)}
    `.execute(database);
    assert.equal(rows[0]?.ended, true, table);
  }
}

/** Runs a worker until nothing waits. Returns what `/events` has after a cursor. */
async function deliverAll(home: Home, secretKeys: Buffer[], key: string, after_: string | null) {
  const service = await startTestService({
    env: loopbackAllowed,
    worker: true,
    beside: { ...home, secretKeys },
  });
  const isEmpty = async (table: string) =>
    (await countRows(home.database, sql`${sql.table(table)}`)) === 0;
  await eventually(() => isEmpty('published_events'));
  await queueDrained(home.database);
  await eventually(() => isEmpty('delivery_changes'));
  assert.equal(await countRows(home.database, sql`set_aside`), 0);
  await requireTotals(home.database);
  const page = await readEvents(service, key, after_);
  await stopParts(service);
  return page;
}

async function readEvents(service: TestService, key: string, from: string | null) {
  const events: string[] = [];
  let cursor = from;
  for (;;) {
    const query = cursor === null ? '' : `&after=${cursor}`;
    const { status, body } = await service.call(`/events?limit=100${query}`, { key });
    assert.equal(status, 200);
    events.push(...body.data.map(({ id }: { id: string }) => id));
    cursor = body.pagination.nextCursor;
    if (!body.pagination.hasMore) return { events, cursor };
  }
}

/** Everything queued was received once, and is in `/events` once. */
async function requireReceived(
  database: Database,
  receiver: Receiver,
  events: string[],
  queued: Queued,
): Promise<void> {
  const expected = [...queued.announced, ...queued.published].sort();
  assert.deepEqual([...events].sort(), expected);
  const received = receiver.received.map(({ body }) => JSON.parse(String(body)).id as string);
  assert.equal(received.length, expected.length);
  const { rows } = await sql<{ eventId: string }>`
    select event_id as "eventId" from deliveries where id = any(${received}::uuid[])
  `.execute(database);
  assert.deepEqual(rows.map(({ eventId }) => eventId).sort(), expected);
}

async function requireTotals(database: Database): Promise<void> {
  const { rows } = await sql<{ totals: number; deliveries: number }>`
    select (select sum(deliveries)::int8 from delivery_totals) as totals, (select count(*) from deliveries) as deliveries
  `.execute(database);
  assert.equal(rows[0]?.totals, rows[0]?.deliveries);
}

// --- databases ----------------------------------------------------------------------------------------

async function newFolder(): Promise<string> {
  const dataDir = await newDataDir();
  after(() => removeDataDir(dataDir));
  return dataDir;
}

async function newMigratedFolder(): Promise<string> {
  const dataDir = await newMigratedDataDir();
  after(() => removeDataDir(dataDir));
  return dataDir;
}

function openEmbedded(dataDir: string): Promise<OpenedDatabase> {
  return openConfiguredDatabase(
    { databaseUrl: null, dataDir },
    { purpose: 'tool', applicationName: 'test' },
  );
}

async function emptyDatabase(): Promise<string> {
  const name = `orgdir_test_${randomUUID().replaceAll('-', '')}`;
  await createDatabase(name, 'template0');
  after(() => dropDatabase(name));
  return toUrl(withName(testServer(), name));
}

function open(connection: ConnectionSettings): Database {
  const database = openDatabase(connection, { applicationName: 'test' });
  after(() => database.destroy());
  return database;
}

function randomKey(): string {
  return Buffer.alloc(32, 1).toString('base64');
}

async function fingerprint(database: Database) {
  const { rows: sequences } = await sql`
    select sequencename, last_value from pg_sequences where schemaname = 'orgdir' order by 1
  `.execute(database);
  return { rows: await readRows(database), migrations: await listApplied(database), sequences };
}

/** All rows as JSON, except the transactions that wrote them, and the mark of a copy. */
async function readRows(database: Database): Promise<Record<string, string[]>> {
  const { rows: tables } = await sql<{ name: string }>`
    select relname as name from pg_class
    where relnamespace = 'orgdir'::regnamespace and relkind in ('r', 'p') and not relispartition and relname <> 'migrations'
  `.execute(database);
  const all: Record<string, string[]> = {};
  for (const { name } of tables) {
    const { rows } = await sql<{ row: string }>`
      select (to_jsonb(t) - 'xid')::text as row from ${sql.table(name)} t
      where to_jsonb(t) ->> 'name' is distinct from 'copy' order by 1
    `.execute(database);
    all[name] = rows.map(({ row }) => row);
  }
  return all;
}

type Query = (text: string) => Promise<{ rows: { blocked: boolean }[] }>;

async function isBlocked(query: Query, table = 'webhooks'): Promise<boolean> {
  const { rows } = await query(
    `select exists (select from pg_locks where not granted and relation = 'orgdir.${table}'::regclass) as blocked`,
  );
  return rows[0]?.blocked === true;
}

async function killOnceWaiting(
  command: Command,
  client: Awaited<ReturnType<typeof connectInto>>,
): Promise<void> {
  await eventually(() => isBlocked((text) => client.query(text)));
  command.signal('SIGKILL');
  await command.ended;
  // The server notices only when it next reads from the connection, and the lock keeps it from that.
  await client.query('select pg_terminate_backend(pid) from pg_locks where not granted');
  await eventually(async () => !(await isBlocked((text) => client.query(text))));
}
