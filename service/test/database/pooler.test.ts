/** A database behind a pooler, without one: scale/pooler.test.ts has PgBouncer. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, test } from 'node:test';
import {
  openClient,
  openDatabase,
  sql,
  type DatabaseOptions,
} from '../../src/database/database.ts';
import { connectQuery, findPoolerFault } from '../../src/database/pooler.ts';
import { sessionSettings } from '../../src/database/session-settings.ts';
import { checkPooler } from '../../src/doctor/check-servers.ts';
import { Session } from '../../src/database/session.ts';
import { openConfiguredDatabase } from '../../src/start/open-database.ts';
import { performRun } from '../../src/sync/perform-run.ts';
import { queueSettings } from '../../src/webhooks/queue/worker.ts';
import { startBarePooler } from '../support/bare-pooler.ts';
import { openTestDatabase, toUrl } from '../support/database.ts';
import { runHere } from '../support/run-here.ts';

const { connection } = await openTestDatabase();
const url = toUrl(connection);
const otherUrl = toUrl((await openTestDatabase()).connection);
const dead = { connectionString: 'postgres://orgdir:hunter2@127.0.0.1:1/orgdir' };

async function readSettings(options: Partial<DatabaseOptions>) {
  const pooled = { ...connection, direct: connection };
  const database = openDatabase(pooled, { applicationName: 'test', ...options });
  const names = [
    'application_name',
    'search_path',
    'statement_timeout',
    'idle_in_transaction_session_timeout',
    'jit',
  ];
  const query = sql<{ name: string; value: string }>`
    select name, current_setting(name) as value from unnest(${names}::text[]) as wanted (name)
  `;
  const toObject = ({ rows }: { rows: { name: string; value: string }[] }) =>
    Object.fromEntries(rows.map(({ name, value }) => [name, value]));
  const outside = toObject(await query.execute(database));
  const inside = toObject(await database.transaction().execute((tx) => query.execute(tx)));
  await database.destroy();
  return { outside, inside };
}

test('a pooled connection has one name for all, and makes other settings than the pooler in each transaction', async () => {
  const usual = await readSettings({ idleInTransactionMs: 5_000 });
  assert.deepEqual(usual.inside, usual.outside);
  assert.equal(usual.outside['application_name'], 'orgdir');
  assert.notEqual(usual.outside['search_path'], 'orgdir, public');
  const { outside, inside } = await readSettings({
    statementTimeoutMs: 60_000,
    idleInTransactionMs: 30_000,
  });
  assert.deepEqual(outside, usual.outside);
  assert.deepEqual(inside, {
    ...outside,
    statement_timeout: '1min',
    idle_in_transaction_session_timeout: '30s',
  });
});

test("behind a pooler that lets statements be compiled, a worker's are not", async () => {
  const { outside, inside } = await readSettings({ settings: queueSettings });
  assert.deepEqual([outside['jit'], inside['jit']], ['on', 'off']);
});

test('listening and syncs do not use the pooler', async () => {
  const behind = { ...dead, direct: connection };
  const { promise: connected, resolve } = Promise.withResolvers<void>();
  const listener = new Session(behind).createListener(['news'], () => resolve());
  listener.start();
  await connected;
  await listener.stop();
  const request = {
    kind: 'chat',
    source: 'test',
    publicSource: 'test',
    trigger: 'cli',
    signal: new AbortController().signal,
  } as const;
  const outcome = await performRun(behind, request, (session, complete) =>
    session.transaction().execute((tx) =>
      complete(tx, {
        counts: { orgs: 0, updated: 0, unchanged: 0, failed: 0, members: 0 },
        version: null,
        problems: [],
        validators: null,
      }),
    ),
  );
  assert.equal(outcome.kind, 'succeeded');
});

test('a command does not use the pooler', async () => {
  const config = { databaseUrl: dead.connectionString, databaseDirectUrl: url, dataDir: '' };
  const opened = await openConfiguredDatabase(config, {
    purpose: 'tool',
    applicationName: 'test',
  });
  await sql`select from migrations`.execute(opened.database);
  await opened.close();
});

/** The address of a pooler that makes these settings, as pgbouncer.ini has them. */
async function poolerWith(settings: string): Promise<string> {
  const { host, port, user, password, database } = openClient(connection, {
    applicationName: 'test',
  });
  const pooler = await startBarePooler({ host, port }, settings.replaceAll("''", "'"));
  after(pooler.close);
  const address = new URL(`postgres://127.0.0.1:${pooler.port}/${database}`);
  address.username = user ?? '';
  address.password = password ?? '';
  return address.href;
}

const without = (name: string) =>
  connectQuery
    .split('; ')
    .filter((each) => !each.startsWith(`set ${name} `))
    .join('; ');
const findFault = async (settings: string) =>
  findPoolerFault({ connectionString: await poolerWith(settings), direct: connection });

test('a pooler that lacks settings is refused with their names, also if the server has the right values', async () => {
  const names = Object.keys(sessionSettings).join(', ');
  const fault = `the pooler in DATABASE_URL does not set ${names}; add to the database in pgbouncer.ini: connect_query='${connectQuery}'`;
  assert.equal(await findFault('select'), fault);
  assert.equal(await findFault(connectQuery), null);
});

test('a pooler of an earlier release, which lets statements be compiled, starts, and the doctor warns of it', async () => {
  assert.equal(await findFault(without('jit')), null);
  const [finding] = await checkPooler(connection, await poolerWith(without('jit')));
  assert.equal(finding?.status, 'warning');
  assert.match(finding.message, /^the pooler in DATABASE_URL does not set jit; add /);
  const [complete] = await checkPooler(connection, await poolerWith(connectQuery));
  assert.equal(complete?.status, 'ok');
});

test('a pooler that makes other settings is refused with the names of all of them', async () => {
  const other = connectQuery.replace('ISO, MDY', 'SQL, DMY').replace('UTC', 'CET');
  assert.match(
    (await findFault(other)) ?? '',
    /^the pooler in DATABASE_URL does not set timezone, datestyle; add /,
  );
});

const refusals: [string, Record<string, string>, RegExp][] = [
  [
    'a server that cannot be reached',
    { DATABASE_URL: url, DATABASE_DIRECT_URL: dead.connectionString },
    /^DATABASE_DIRECT_URL points to a database that cannot be used \(ECONNREFUSED\): .*\n$/,
  ],
  [
    'a pooler that cannot be reached',
    { DATABASE_URL: dead.connectionString, DATABASE_DIRECT_URL: url },
    /^DATABASE_URL points to a database that cannot be used \(ECONNREFUSED\): .*\n$/,
  ],
  [
    'another database behind the pooler',
    { DATABASE_URL: url, DATABASE_DIRECT_URL: otherUrl },
    /^DATABASE_DIRECT_URL points to another database \(orgdir_test_\w+\) than DATABASE_URL \(orgdir_test_\w+\); .*\n$/,
  ],
  [
    'no pooler',
    { DATABASE_URL: url, DATABASE_DIRECT_URL: url },
    /^DATABASE_URL does not lead to a pooler, so DATABASE_DIRECT_URL is of no use; remove it\n$/,
  ],
  [
    'a pooler without a setting',
    { DATABASE_URL: await poolerWith(without('datestyle')), DATABASE_DIRECT_URL: url },
    /^the pooler in DATABASE_URL does not set datestyle; add to the database in pgbouncer\.ini: connect_query='.*'\n$/,
  ],
];
for (const [name, addresses, line] of refusals)
  test(`${name} stops the start with one line, and the doctor reports it`, async () => {
    const env = {
      ...addresses,
      SECRET_KEY: randomBytes(32).toString('base64'),
      PORT: '0',
      INTERNAL_PORT: '0',
    };
    const { code, stderr } = await runHere(['serve'], env);
    assert.equal(code, 1);
    assert.match(stderr, line);
    assert.doesNotMatch(stderr, /hunter2/);
    const { code: unhealthy, stdout } = await runHere(['doctor', '--json'], env);
    assert.equal(unhealthy, 1);
    assert.match(stdout, /"check":"(pooler|database)","status":"failed"/);
    assert.doesNotMatch(stdout, /hunter2/);
  });
