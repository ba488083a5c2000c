/** Chooses and follows the primary among several hosts. A real standby is promoted in `npm run test:scale`. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { isConnectionFault, openClient, openDatabase, sql } from '../../src/database/database.ts';
import { choosePrimary, followPrimary, type ServerState } from '../../src/database/primary.ts';
import { openCuttableDatabase, type CuttableDatabase } from '../support/cuttable-database.ts';
import { openTestDatabase } from '../support/database.ts';
import { freePort } from '../support/free-port.ts';

const direct = await openTestDatabase();

function server(name: string, state: Partial<ServerState['state']>): ServerState {
  const defaults = { kind: 'writable', system: '1', startedAt: name, timeline: 1 };
  return { name, url: `postgres://${name}/orgdir`, state: { ...defaults, ...state } as never };
}

const refusals: [string, ServerState[], RegExp][] = [
  [
    'servers that all refuse writes or connections',
    [
      server('a', { kind: 'read-only' }),
      server('b', { kind: 'unreachable', reason: 'connect ECONNREFUSED' }),
    ],
    /^no host in DATABASE_URL accepts writes \(a is read-only; b: connect ECONNREFUSED\); /,
  ],
  ['two primaries', [server('a', {}), server('b', {})], /names two primaries, a and b; /],
  [
    'a standby of another cluster',
    [server('a', {}), server('b', { kind: 'read-only', system: '2' })],
    /names servers of different clusters, a and b; /,
  ],
];
for (const [name, servers, message] of refusals)
  test(`${name} stop the start with one line`, () => {
    assert.throws(() => choosePrimary(servers, 'DATABASE_URL'), { name: 'StartError', message });
  });

const choices: [string, ServerState[]][] = [
  [
    'the next host if the first is a standby',
    [server('a', { kind: 'read-only' }), server('b', {})],
  ],
  [
    'the newest timeline if an old primary came back',
    [server('a', {}), server('b', { timeline: 2 })],
  ],
  [
    'one server that has two names',
    [server('b', { startedAt: '1' }), server('a', { startedAt: '1' })],
  ],
];
for (const [name, servers] of choices)
  test(`the primary is ${name}`, () => {
    assert.equal(choosePrimary(servers, 'DATABASE_URL').name, 'b');
  });

/** The address of the test's database, through a proxy. */
async function through({ opened }: Pick<CuttableDatabase, 'opened'>): Promise<string> {
  const { host, port, user, password, database } = openClient(opened.connection, {
    applicationName: 'test',
  });
  const credentials = `${user}:${encodeURIComponent(password ?? '')}`;
  return `postgres://${credentials}@${host}:${port}/${database}?target_session_attrs=read-write`;
}

async function follow(t: TestContext, urls: string[]) {
  const { promise: movedTo, resolve: moved } = Promise.withResolvers<string>();
  const primary = await followPrimary(urls, 'DATABASE_URL', ({ to }) => moved(to));
  const connection = { connectionString: urls[0] ?? '', primary };
  const database = openDatabase(connection, { applicationName: 'test' });
  t.after(async () => {
    await database.destroy();
    primary.stop();
  });
  return { database, movedTo };
}

const portOf = (url: string) => new URL(url).port;
const ping = sql`select 1`;

test('a host that refuses connections is passed over', async (t) => {
  const url = await through(await openCuttableDatabase(direct));
  const dead = url.replace(portOf(url), String(await freePort()));
  const { database } = await follow(t, [dead, url]);
  await ping.execute(database);
});

test('a host that accepts connections and never responds is passed over', async (t) => {
  const silent = await openCuttableDatabase(direct);
  silent.freeze();
  const url = await through(await openCuttableDatabase(direct));
  const { database } = await follow(t, [await through(silent), url]);
  await ping.execute(database);
});

for (const fault of ['cut', 'freeze'] as const)
  test(`connections move when a host is ${fault === 'cut' ? 'gone' : 'silent'}`, async (t) => {
    const [first, second] = [
      await openCuttableDatabase(direct),
      await openCuttableDatabase(direct),
    ];
    const [old, next] = [await through(first), await through(second)];
    const { database, movedTo } = await follow(t, [old, next]);
    await ping.execute(database);
    first[fault]();
    const interrupted = ping.execute(database).then(
      () => null,
      (error: Error) => error.message,
    );
    assert.equal(portOf(`http://${await movedTo}`), portOf(next));
    assert.ok(await interrupted);
    await ping.execute(database);
  });

test('a connection that breaks while it is checked is an error, and does not end the process', async (t) => {
  const { opened } = await openCuttableDatabase(direct);
  const url = await through({ opened });
  let isCut = false;
  const proxy = createServer((near) => {
    const far = connect(Number(portOf(url)), '127.0.0.1');
    near.on('error', () => {}).on('close', () => far.destroy());
    far.on('error', () => {}).pipe(near);
    near.on('data', (data) =>
      isCut && data.includes('transaction_read_only') ? near.destroy() : far.write(data),
    );
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.after(() => proxy.close());
  const { port } = proxy.address() as AddressInfo;
  const { database } = await follow(t, [url.replace(portOf(url), String(port))]);
  isCut = true;
  await assert.rejects(ping.execute(database), isConnectionFault);
  isCut = false;
  await ping.execute(database);
});

test('a server that has become read-only gets no new connections', async (t) => {
  const own = await openTestDatabase();
  const { database } = await follow(t, [await through(await openCuttableDatabase(own))]);
  const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(database);
  await sql`alter database ${sql.ref(rows[0]?.name ?? '')} set default_transaction_read_only = on`.execute(
    direct.database,
  );
  // Connections from before keep their setting.
  await sql`set default_transaction_read_only = on`.execute(database);
  await assert.rejects(sql`create table refused ()`.execute(database), { code: '25006' });
  await assert.rejects(ping.execute(database), { code: '25006', message: /is not the primary/ });
});

test('faults of names, networks and servers are connection faults, and those of statements are not', () => {
  const withCode = (code: string) => Object.assign(new Error(code), { code });
  for (const code of [
    'ENOTFOUND',
    'EAI_AGAIN',
    'ECONNREFUSED',
    'EHOSTUNREACH',
    '25006',
    '57P01',
    '08006',
  ]) {
    assert.equal(isConnectionFault(withCode(code)), true, code);
    assert.equal(isConnectionFault(new Error('failed', { cause: withCode(code) })), true, code);
  }
  for (const code of ['23505', '42601', 'EACCES'])
    assert.equal(isConnectionFault(withCode(code)), false, code);
});
