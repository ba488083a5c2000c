/** Causes every problem that the doctor checks, and finds it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomBytes, randomUUID } from 'node:crypto';
import { after, describe, test } from 'node:test';
import { openClient, sql } from '../../src/database/database.ts';
import { checkFreeSpace } from '../../src/doctor/check-host.ts';
import { checkNode, runChecks } from '../../src/doctor/doctor.ts';
import { checkUsable } from '../../src/doctor/check-server.ts';
import type { Finding } from '../../src/doctor/finding.ts';
import { createSecretBox } from '../../src/runtime/secret-box.ts';
import { headersOwner } from '../../src/webhooks/sending/own-headers.ts';
import { joinWorkers } from '../../src/webhooks/queue/workers.ts';
import {
  embeddedOnly,
  newDataDir,
  newMigratedDataDir,
  removeDataDir,
  runCommand,
  serverPid,
} from '../support/command.ts';
import { openCuttableDatabase } from '../support/cuttable-database.ts';
import { openTestDatabase, testServer, toUrl, withName } from '../support/database.ts';
import { put } from '../support/directory.ts';
import { freePort } from '../support/free-port.ts';
import { runHere } from '../support/run-here.ts';
import { smtpUser, startSmtpServer } from '../support/smtp-server.ts';
import { startTestService } from '../support/service.ts';

const folder = await mkdtemp(join(tmpdir(), 'orgdir-doctor-'));
after(() => rm(folder, { recursive: true }));
const key = randomBytes(32);
const { database, connection } = await openTestDatabase();
const healthy: Record<string, string> = {
  DATABASE_URL: toUrl(connection),
  SECRET_KEY: key.toString('base64'),
  DATA_DIR: join(folder, 'none'),
  PORT: '0',
  INTERNAL_PORT: '0',
};

/** Everything that was ever said here, for the test that no secret is in it. */
const said: string[] = [];

async function look(
  env: Record<string, string> = {},
  offsetMs = 0,
): Promise<(check: string) => Finding[]> {
  const findings = await runChecks({
    env: { ...healthy, ...env },
    nodeVersion: '24.0.0',
    now: () => Date.now() + offsetMs,
  });
  said.push(JSON.stringify(findings));
  for (const { status, advice } of findings)
    assert.equal(
      advice !== null,
      status === 'warning' || status === 'failed',
      'advice where something is wrong',
    );
  return (check) => findings.filter((each) => each.check === check);
}

/** The first finding, which is the only one of most checks. */
async function outcome(
  check: string,
  env: Record<string, string> = {},
  offsetMs = 0,
): Promise<[string, string]> {
  const [finding] = (await look(env, offsetMs))(check);
  return [finding?.status ?? 'none', `${finding?.message} ${finding?.advice ?? ''}`];
}

/** Looks for the first finding of a check, with this in its message or advice. */
async function expect(
  check: string,
  status: Finding['status'],
  env: Record<string, string> = {},
  words = /^/,
  offsetMs = 0,
): Promise<void> {
  const [found, text] = await outcome(check, env, offsetMs);
  assert.equal(found, status, `${check}: ${text}`);
  assert.match(text, words);
}

async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => server.close());
  return String((server.address() as AddressInfo).port);
}

test('it reports hosts that are gone, and replicas that are none', async () => {
  const { opened } = await openCuttableDatabase({ database, connection });
  const { host, port, user, password, database: name } = opened.connection;
  const dead = `127.0.0.1:${await freePort()}`;
  const address = (hosts: string) =>
    `postgres://${user}:${encodeURIComponent(String(password ?? ''))}@${hosts}/${name}`;
  const findings = await look({
    DATABASE_URL: address(`${dead},${host}:${port}`),
    DATABASE_READ_URLS: `${address(dead)}, ${address(`${host}:${port}`)}`,
  });
  assert.equal(findings('database')[0]?.status, 'ok');
  const [gone, commits] = findings('servers').toReversed();
  assert.match(gone?.message ?? '', /^127.0.0.1:\d+ cannot be reached: connect ECONNREFUSED/);
  assert.match(commits?.message ?? '', /^commits do not wait for a standby/);
  const [unread, unused] = findings('replicas');
  assert.match(unread?.message ?? '', /cannot be read: connect ECONNREFUSED/);
  assert.match(unused?.message ?? '', /is not a standby, so nothing is read from it$/);
});

test('every check is ok or skipped on a healthy installation', async () => {
  const findings = await runChecks({
    env: healthy,
    nodeVersion: process.versions.node,
    now: Date.now,
  });
  assert.deepEqual(
    findings.filter(({ status }) => status !== 'ok').map(({ check, status }) => [check, status]),
    [
      ['data_dir', 'skipped'],
      ['mail', 'skipped'],
    ],
  );
});

test('an old Node.js fails', () => {
  assert.equal(checkNode('20.19.2').status, 'failed');
  assert.equal(checkNode('24.0.0').status, 'ok');
});

test('every invalid variable is reported, and checks that depend on it are skipped', async () => {
  const found = await look({
    PORT: '99999',
    LOG_LEVEL: 'loud',
    CHAT_TOKEN: 'Bot token-of-the-bot',
    SECRET_KEY: 'short-secret-key',
    SMTP_URL: 'smtp://half:sesame@mail.example.org/path',
  });
  const names = found('config').map(({ status, message }) => [status, message.split(' ')[0]]);
  assert.deepEqual(
    new Set(names.map(([, name]) => name)),
    new Set(['PORT', 'LOG_LEVEL', 'CHAT_TOKEN', 'SECRET_KEY', 'SMTP_URL']),
  );
  assert.ok(names.every(([status]) => status === 'failed'));
  for (const check of ['public_port', 'secret_key', 'stored_secrets', 'mail'])
    assert.deepEqual(
      found(check).map(({ status }) => status),
      ['skipped'],
      check,
    );
  assert.equal(found('database')[0]?.status, 'ok', 'the rest is');
  const [status] = await outcome('database', { DATABASE_URL: 'mysql://orgdir:sesame@127.0.0.1/x' });
  assert.equal(status, 'skipped', 'not the embedded one instead');
  assert.equal((await look({ PORT: '3001', INTERNAL_PORT: '' }))('config')[0]?.status, 'failed');
});

test('a path that is not a folder, a full disk and readable secret files are reported', async () => {
  const file = join(folder, 'file');
  await writeFile(file, '');
  const embedded = { DATABASE_URL: '', SECRET_KEY: '' };
  await expect('data_dir', 'failed', { ...embedded, DATA_DIR: file });
  await expect('secret_key', 'skipped', { ...embedded, DATA_DIR: file });
  await expect('disk_space', 'ok', embedded);
  assert.equal(checkFreeSpace(100 * 1024 ** 2, '/').status, 'failed');
  assert.equal(checkFreeSpace(500 * 1024 ** 2, '/').status, 'warning');
  await writeFile(join(folder, 'secret-key'), `${key.toString('base64')}\n`, { mode: 0o600 });
  const here = { ...embedded, DATA_DIR: folder };
  await expect('file_modes', 'ok', here);
  await expect('secret_key', 'ok', here);
  await chmod(join(folder, 'secret-key'), 0o644);
  await expect('file_modes', 'warning', here, /mode 0644.* chmod 600/);
  await writeFile(join(folder, 'secret-key'), 'cut of');
  await expect('secret_key', 'failed', here);
  await rm(join(folder, 'secret-key'));
});

test('a folder that cannot be created is the fault, not the disk', async () => {
  const file = join(folder, 'not-a-folder');
  await writeFile(file, '');
  for (const DATA_DIR of [
    join(file, 'data'),
    ...(process.platform === 'linux' ? ['/proc/data'] : []),
  ]) {
    const found = await look({ DATABASE_URL: '', SECRET_KEY: '', DATA_DIR });
    const [data, space] = [found('data_dir')[0], found('disk_space')[0]];
    assert.deepEqual([data?.status, space?.status], ['failed', 'skipped'], DATA_DIR);
    assert.match(data?.message ?? '', /does not exist and cannot be created/);
  }
});

test('a database requires a SECRET_KEY that decrypts its secrets', async () => {
  await expect('secret_key', 'failed', { SECRET_KEY: '' });
  await sql`insert into apps (id, name) values (uuid_v7(), 'Herald')`.execute(database);
  const {
    rows: [hook],
  } = await sql<{ id: string }>`select uuid_v7() as id`.execute(database);
  const id = hook?.id ?? '';
  const sealed = createSecretBox([key]).seal('whsec_stored', id);
  await sql`insert into webhooks (id, app_id, url, secret) select ${id}, id, 'https://example.org', ${sealed} from apps`.execute(
    database,
  );
  await expect('stored_secrets', 'ok');
  const other = randomBytes(32).toString('base64');
  await expect('stored_secrets', 'failed', { SECRET_KEY: other }, /secrets of 1 of 1 webhooks/);
  const both = `${other},${healthy['SECRET_KEY']}`;
  await expect('stored_secrets', 'ok', { SECRET_KEY: both });
  const headers = createSecretBox([key]).seal('{}', headersOwner(id));
  await sql`update webhooks set own_headers = ${headers}`.execute(database);
  await expect('stored_secrets', 'ok');
  // Opens as a secret only.
  await sql`update webhooks set own_headers = secret`.execute(database);
  await expect('stored_secrets', 'failed', {}, /set the headers again/);
  // The URL of a chat channel, with the secret of its webhook readable.
  const foreign = createSecretBox([randomBytes(32)]).seal('https://discord.com/', `${id}/url`);
  await sql`update webhooks set own_headers = null, format = 'discord', sealed_url = ${foreign}`.execute(
    database,
  );
  await expect('stored_secrets', 'failed', {}, /paste the URL/);
  await sql`delete from apps`.execute(database);
});

test('a SECRET_KEY that does not decrypt the secrets of authenticator apps is reported', async () => {
  const { rows } = await sql<{ id: string }>`
    insert into users (id, name, email, email_verified) values (uuid_v7(), 'Ada', 'ada@example.org', true) returning id
  `.execute(database);
  const [{ id }] = rows as [{ id: string }];
  const sealed = createSecretBox([key]).seal('stored', id);
  await sql`insert into authenticators (user_id, secret) values (${id}, ${sealed})`.execute(
    database,
  );
  await expect('stored_secrets', 'ok', {}, /and 1 authenticator apps/);
  const other = randomBytes(32).toString('base64');
  await expect('stored_secrets', 'failed', { SECRET_KEY: other }, /1 of 1 authenticator apps/);
  await sql`delete from users`.execute(database);
});

test('an unavailable or missing database fails with a reason and advice', async () => {
  const away = await look({ DATABASE_URL: 'postgres://orgdir:sesame@127.0.0.1:1/orgdir' });
  assert.deepEqual(
    away('database').map(({ status }) => status),
    ['failed'],
  );
  assert.match(
    away('database')[0]?.message ?? '',
    /127\.0\.0\.1:1\/orgdir cannot be used \(ECONNREFUSED\)/,
  );
  const [status, words] = await outcome('database', {
    DATABASE_URL: toUrl(withName(testServer(), 'no_such_database')),
  });
  assert.deepEqual([status, /3D000.*create database/.test(words)], ['failed', true]);
});

test('a wrong password is reported without showing it', { skip: embeddedOnly }, async () => {
  const url = new URL(toUrl(connection));
  url.searchParams.set('password', 'wrong-sesame');
  await expect('database', 'failed', { DATABASE_URL: url.href }, /28P01/);
});

test('an old server, a read-only one and another encoding fail', async () => {
  const good = { number: 150_004, version: '15.4', encoding: 'UTF8', readOnly: false };
  assert.equal(checkUsable(good), null);
  for (const fault of [{ number: 140_000 }, { encoding: 'LATIN1' }, { readOnly: true }])
    assert.equal(checkUsable({ ...good, ...fault })?.status, 'failed');
  const name = `orgdir_test_ascii_${randomBytes(6).toString('hex')}`;
  const onServer = async (statement: string) => {
    const client = openClient(testServer(), { applicationName: 'test' });
    await client.connect();
    try {
      await client.query(statement);
    } finally {
      await client.end();
    }
  };
  await onServer(
    `create database ${name} template template0 encoding 'SQL_ASCII' locale_provider libc locale 'C'`,
  );
  after(() => onServer(`drop database ${name} with (force)`));
  const found = await look({ DATABASE_URL: toUrl(withName(testServer(), name)) });
  assert.equal(found('database')[0]?.status, 'failed');
  assert.match(found('database')[0]?.message ?? '', /SQL_ASCII/);
});

test('too few connections for the worker processes are a warning', async () => {
  await expect('connections', 'ok', { WORKERS: '2' });
  await expect(
    'connections',
    'warning',
    { WORKERS: '64' },
    /up to 727 connections.* lower WORKERS/,
  );
});

test('too few connections for the database alone are a warning too', async () => {
  const other = await openTestDatabase();
  await sql`alter database ${sql.id(other.connection.database ?? '')} connection limit 20`.execute(
    other.database,
  );
  await expect(
    'connections',
    'warning',
    { DATABASE_URL: toUrl(other.connection) },
    /the server accepts 20\b.* limit of its role or database/,
  );
});

test('a small clock difference is a warning, a large one a failure', async () => {
  await expect('clock', 'ok');
  await expect('clock', 'warning', {}, /behind this machine/, 60_000);
  await expect('clock', 'failed', {}, /^/, -600_000);
});

test('missing, changed and newer migrations are reported', async () => {
  const other = await openTestDatabase();
  const env = { DATABASE_URL: toUrl(other.connection) };
  await sql`insert into migrations (name, checksum) values ('9999_later.sql', 'x')`.execute(
    other.database,
  );
  await expect('migrations', 'warning', env, /can still run: 9999_later\.sql/);
  await sql`update migrations set name = '9999_contract_9998_later.sql' where name like '9999%'`.execute(
    other.database,
  );
  await expect('migrations', 'failed', env, /9999_contract_9998_later/);
  await sql`delete from migrations where name like '9999%'`.execute(other.database);
  await sql`update migrations set checksum = 'x' where name like '0001%'`.execute(other.database);
  await expect('migrations', 'failed', env, /changed.*0001_baseline_directory\.sql/);
  await sql`delete from migrations`.execute(other.database);
  const found = await look(env);
  assert.equal(found('migrations')[0]?.status, 'warning');
  assert.equal(found('content')[0]?.status, 'skipped');
  const empty = await openTestDatabase();
  await sql`drop schema orgdir cascade`.execute(empty.database);
  await expect('migrations', 'warning', { DATABASE_URL: toUrl(empty.connection) });
});

test('a database of before 1.0.0 fails', async () => {
  const other = await openTestDatabase();
  await sql`update migrations set name = replace(name, 'baseline_', '')`.execute(other.database);
  const found = await look({ DATABASE_URL: toUrl(other.connection) });
  const [finding] = found('migrations');
  assert.deepEqual([found('migrations').length, finding?.status], [1, 'failed']);
  assert.match(finding?.message ?? '', /made by a version before 1\.0\.0/);
  assert.match(finding?.advice ?? '', /use an empty database/);
  assert.equal(found('content')[0]?.status, 'skipped');
});

test('a missing partition fails', async () => {
  const other = await openTestDatabase();
  const {
    rows: [tomorrow],
  } = await sql<{ name: string }>`
    select 'events_' || to_char((now() at time zone 'utc')::date + 1, 'YYYYMMDD') as name
  `.execute(other.database);
  await sql`drop table ${sql.table(tomorrow?.name ?? '')}`.execute(other.database);
  const [status, words] = await outcome('partitions', { DATABASE_URL: toUrl(other.connection) });
  assert.equal(status, 'failed');
  assert.match(words, new RegExp(`missing: ${tomorrow?.name}`));
});

test('a day past retention that a lock keeps fails with who holds it, unless pending deliveries need it', async () => {
  const other = await openTestDatabase();
  const find = () => outcome('retention', { DATABASE_URL: toUrl(other.connection) });
  assert.equal((await find())[0], 'ok');
  await sql`select ensure_partitions(current_date - 35, current_date - 35)`.execute(other.database);
  const [status, words] = await other.database.transaction().execute(async (tx) => {
    await sql`lock table attempts in access share mode`.execute(tx);
    return find();
  });
  assert.equal(status, 'failed');
  assert.match(words, /locked by \d+ \(test, idle in transaction, .* pg_terminate_backend/);
  await sql`
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, due_at)
    select uuid_v7(at), uuid_v7(at), 'org.created', uuid_v7(), 'event', at from (select now() - interval '35 days' as at) old
  `.execute(other.database);
  assert.equal((await find())[0], 'ok');
});

test('rows that were set aside and events that were rejected are a warning', async () => {
  const other = await openTestDatabase();
  const find = () => outcome('set_aside', { DATABASE_URL: toUrl(other.connection) });
  assert.equal((await find())[0], 'ok');
  await put(other.database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
  await sql`select publish_event('application.created', '{}'::text, 'acme')`.execute(
    other.database,
  );
  await sql`update published_events set rejected_at = now(), reason = 'a test'`.execute(
    other.database,
  );
  const [rejected, why] = await find();
  assert.equal(rejected, 'warning');
  assert.match(why, /^rows were refused and wait: 1 by intake /);
  await sql`
    insert into set_aside (source, stage, original, reason) values ('outbox', 'fan-out', '{}', 'refused')
  `.execute(other.database);
  const [status, words] = await find();
  assert.equal(status, 'warning');
  assert.match(words, /^rows were refused and wait: 1 by fan-out, 1 by intake /);
});

test('a delivery that has long been due is a warning, unless it is parked', async () => {
  const other = await openTestDatabase();
  await sql`
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, parked, due_at)
    values (uuid_v7(), uuid_v7(), 'org.created', uuid_v7(), 'event', true, now() - interval '2 hours')
  `.execute(other.database);
  const find = () => outcome('queue', { DATABASE_URL: toUrl(other.connection) });
  const [parked, parkedWords] = await find();
  assert.deepEqual([parked, parkedWords.startsWith('1 deliveries are due')], ['ok', true]);
  await sql`update pending_deliveries set parked = false`.execute(other.database);
  const [due, dueWords] = await find();
  assert.deepEqual([due, dueWords.startsWith('1 deliveries are due')], ['warning', true]);
});

test('a mail server is greeted and signed in to, and no mail is sent', async () => {
  const { port, mails } = await startSmtpServer({
    options: { authOptional: false, allowInsecureAuth: true },
  });
  const from = { MAIL_FROM: 'no-reply@example.org' };
  const as = (password: string) =>
    `smtp://${smtpUser.user}:${encodeURIComponent(password)}@127.0.0.1:${port}`;
  await expect('mail', 'ok', { ...from, SMTP_URL: as(smtpUser.password) });
  await expect(
    'mail',
    'failed',
    { ...from, SMTP_URL: as('wrong-sesame') },
    /\(auth, status 535\).*user and password/,
  );
  await expect('mail', 'failed', { ...from, SMTP_URL: 'smtp://127.0.0.1:1' });
  const [tls, tlsWords] = await outcome('mail', { ...from, SMTP_URL: `smtps://127.0.0.1:${port}` });
  assert.equal(tls, 'failed', tlsWords);
  assert.equal(mails.length, 0);
});

// Each of these waits for something.
describe('what takes its time', { concurrency: true }, () => {
  test('a server that never responds fails the check', async () => {
    const port = await listening(createServer((socket) => void socket.on('error', () => {})));
    await expect(
      'database',
      'failed',
      {
        DATABASE_URL: `postgres://orgdir:sesame@127.0.0.1:${port}/orgdir`,
      },
      /cannot be used/,
    );
  });

  test('a lock that a check waits for is named, and hides no other check', async () => {
    const other = await openTestDatabase();
    const env = { DATABASE_URL: toUrl(other.connection) };
    const [findings, words] = await other.database.transaction().execute(async (tx) => {
      await sql`lock table pending_deliveries in access exclusive mode`.execute(tx);
      return Promise.all([outcome('migrations', env), outcome('queue', env)]);
    });
    assert.equal(findings[0], 'ok');
    assert.equal(words[0], 'failed');
    assert.match(words[1], /could not be checked: .* \d+ \(test, idle in transaction/);
  });

  test('a queue without a worker is a warning, one that a worker does not touch a failure', async () => {
    const other = await startTestService();
    const env = { DATABASE_URL: toUrl(other.connection), SECRET_KEY: key.toString('base64') };
    await expect('workers', 'ok', env);
    await sql`
      insert into pending_deliveries (id, event_id, event, webhook_id, trigger, lease_token, leased_at, due_at)
      select uuid_v7(), uuid_v7(), 'org.created', uuid_v7(), 'event', token,
        case when token is not null then now() - interval '11 minutes' end, now() - interval '11 minutes'
      from (values (uuid_v7()), (null)) as given(token)
    `.execute(other.database);
    const alone = await look(env);
    assert.deepEqual(
      ['workers', 'queue', 'leases'].map((check) => alone(check)[0]?.status),
      ['warning', 'warning', 'warning'],
    );
    // A worker that is alive, and does nothing.
    await joinWorkers(other.database, randomUUID());
    const beside = await look(env);
    assert.deepEqual(
      ['workers', 'queue'].map((check) => beside(check)[0]?.status),
      ['ok', 'failed'],
    );
    assert.match(beside('queue')[0]?.message ?? '', /the oldest is not sent/);
  });

  test('the first waiting event fails if others could go, and a backlog that shrinks or has no room is a warning', async () => {
    const other = await openTestDatabase();
    const env = { DATABASE_URL: toUrl(other.connection), SECRET_KEY: key.toString('base64') };
    const queue = async () => {
      await joinWorkers(other.database, randomUUID());
      return (await look(env))('queue')[0];
    };
    const distribute = (age: string) =>
      sql`
        insert into events (id, name, audience, data, position, fanned_out_at)
        values (uuid_v7(), 'org.created', 'global', '{}', nextval('event_positions'), now() - ${age}::interval)
      `.execute(other.database);
    await sql`
      insert into outbox (id, name, audience, data, created_at)
      select uuid_v7(), 'org.created', 'global', '{}', now() - interval '20 minutes' from generate_series(1, 1000)
    `.execute(other.database);
    const stuck = await queue();
    assert.deepEqual(
      [stuck?.status, /first waiting event/.test(stuck?.message ?? '')],
      ['failed', true],
    );
    await distribute('10 seconds');
    assert.equal((await queue())?.status, 'warning', 'none has room');
    const shrinking = setInterval(() => {
      void sql`
        delete from outbox where id = (select id from outbox order by xid, id limit 1)
      `.execute(other.database);
    }, 100);
    try {
      assert.equal((await queue())?.status, 'warning');
    } finally {
      clearInterval(shrinking);
    }
    const overtaking = setInterval(() => void distribute('0'), 100);
    try {
      assert.equal((await queue())?.status, 'failed');
    } finally {
      clearInterval(overtaking);
    }
  });

  test('a port is free, used by the service, by another program, or by a silent one', async () => {
    const service = await startTestService();
    const ours = new URL(service.url).port;
    await expect('public_port', 'ok', { PORT: ours }, /the service responds/);
    const web = await listening(createHttpServer((_, response) => response.end('<html>')));
    await expect('public_port', 'failed', { PORT: web });
    const silent = await listening(createServer((socket) => void socket.on('error', () => {})));
    await expect('internal_port', 'failed', { INTERNAL_PORT: silent }, /does not respond/);
    await expect('public_port', 'failed', { HOST: '203.0.113.9', PORT: '8080' });
    await expect('public_port', 'skipped', { ROLES: 'worker' });
  });
});

test('no finding contains a secret', () => {
  assert.ok(said.length > 30);
  const secrets = [
    'sesame',
    'short-secret-key',
    'token-of-the-bot',
    'whsec_',
    smtpUser.password,
    encodeURIComponent(smtpUser.password),
  ];
  const password = testServer().password;
  if (typeof password === 'string') secrets.push(password);
  for (const secret of [...secrets, key.toString('base64')])
    assert.ok(!said.join('\n').includes(secret), secret.slice(0, 4));
});

test('the command exits with 1 if a check failed, and with 0 otherwise', async () => {
  const well = await runHere(['doctor', '--json'], healthy);
  assert.equal(well.code, 0, well.stdout);
  const report = JSON.parse(well.stdout);
  assert.deepEqual([report.status, report.checks[0].check], ['ok', 'node']);
  const ill = await runCommand(['doctor'], { env: { ...healthy, LOG_LEVEL: 'loud' } });
  assert.equal(ill.code, 1);
  assert.match(ill.stdout, /^failed +config +LOG_LEVEL must be one of/m);
  assert.match(ill.stdout, /^ +→ fix the variable/m);
});

test(
  'doctor does not create an embedded database, and leaves none running',
  { skip: embeddedOnly },
  async () => {
    const [none, dataDir] = [await newDataDir(), await newMigratedDataDir()];
    after(() => Promise.all([removeDataDir(none), removeDataDir(dataDir)]));
    const doctor = (DATA_DIR: string) =>
      runHere(['doctor'], { DATA_DIR, PORT: '0', INTERNAL_PORT: '0' });
    const before = await doctor(none);
    assert.equal(before.code, 0, before.stdout);
    assert.match(before.stdout, /^ok +database +none yet/m);
    assert.equal(existsSync(none), false);
    const { code, stdout } = await doctor(dataDir);
    assert.equal(code, 0, stdout);
    assert.match(stdout, /^ok +database +PostgreSQL \d+.*embedded/m);
    assert.equal(await serverPid(dataDir), null);
    await writeFile(join(dataDir, 'postgres/PG_VERSION'), '12\n');
    const ill = await doctor(dataDir);
    assert.equal(ill.code, 1);
    assert.match(ill.stdout, /^failed +database +.*holds a database of PostgreSQL 12/m);
  },
);
