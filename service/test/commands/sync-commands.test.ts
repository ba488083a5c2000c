/** `orgdir sync` as operators use it: beside a running service, without one, and killed in the middle. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { sql } from '../../src/database/database.ts';
import { listRuns } from '../../src/sync/runs.ts';
import {
  embeddedOnly,
  newMigratedDataDir,
  removeDataDir,
  runCommand,
  serverPid,
  startCommand,
} from '../support/command.ts';
import { toUrl } from '../support/database.ts';
import { blueprint, put } from '../support/directory.ts';
import { startDiscord } from '../support/discord-server.ts';
import { eventually } from '../support/eventually.ts';
import { loopbackAllowed, startReceiver } from '../support/receiver.ts';
import { runHere } from '../support/run-here.ts';
import { startTestService } from '../support/service.ts';
import { eventsOf, stateOf } from '../support/syncs.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const service = await startTestService({ worker: true, env: loopbackAllowed });
const { database } = service;
const folder = await temporaryFolder();
const env = { DATABASE_URL: toUrl(service.connection), DATA_DIR: folder };
const run = (args: string[], more: Record<string, string> = {}) =>
  runHere(['sync', ...args], { ...env, ...more });

const rows = Array.from({ length: 5 }, () => blueprint());
const text = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
const file = join(folder, 'blueprints.ndjson');
await writeFile(file, text);

test('a sync from a file updates blueprints, webhooks and /status', async () => {
  const receiver = await startReceiver();
  await service.call('/webhooks', {
    method: 'POST',
    json: { url: receiver.url, events: ['blueprint.sync.completed'] },
  });
  const { code, stdout, stderr } = await run(['blueprints', file]);
  assert.deepEqual([code, stderr], [0, '']);
  assert.equal(stdout, '5 total, 5 created, 0 updated, 0 retired, 0 unchanged, 0 failed.\n');
  const [delivery] = await receiver.waitFor(1);
  const { data } = JSON.parse(String(delivery?.body));
  assert.deepEqual([data.source, data.counts.created], ['blueprints.ndjson', 5]);
  await eventually(async () => {
    const { body } = await service.call('/status', { key: null });
    return body.data.components.blueprintSync.lastCompletedAt === data.finishedAt;
  });
  const { body } = await service.call('/blueprints?limit=1');
  assert.equal(body.pagination.total, 5);
});

test('a failed run exits with 1 and is listed with its reason', async () => {
  const small = join(folder, 'small.ndjson');
  await writeFile(small, `${JSON.stringify(rows[0])}\n`);
  const failed = await run(['blueprints', small, '--json']);
  const { status, reason, source } = JSON.parse(failed.stdout);
  assert.deepEqual(
    [failed.code, failed.stderr, status, reason, source],
    [1, '', 'failed', 'shrunk', small],
  );
  const listed = await run(['list', '--kind', 'blueprints']);
  assert.equal(listed.code, 0);
  assert.match(
    listed.stdout,
    /^STARTED +SYNC +SOURCE +BY +STATUS +SECONDS\n.* failed .*shrunk: .*--force\n.* succeeded .* 5 created/,
  );
});

test('a URL of another scheme is rejected', async () => {
  const before = await lastRun();
  const ended = await run(['blueprints', 'ftp://example.org/blueprints.ndjson']);
  assert.equal(ended.code, 2);
  assert.match(ended.stderr, /'source'\. It must be a file, or an http or https address\./);
  assert.deepEqual(await lastRun(), before);
});

test('bad rows are reported, and skipped with --skip-bad', async () => {
  const bad = join(folder, 'bad.ndjson');
  await writeFile(bad, `${text}{"key":"half"}\n`);
  const skipped = await run(['blueprints', bad, '--skip-bad']);
  assert.equal(skipped.code, 0);
  assert.match(skipped.stderr, /^line 6: name is required/);
  assert.match(skipped.stdout, /^6 total, .* 5 unchanged, 1 failed\.\n$/);
});

test('the source defaults to the configured one', async () => {
  const receiver = await startReceiver((response) => response.end(text));
  const configured = await run(['blueprints', '--json'], {
    SYNC_BLUEPRINTS_URL: receiver.url,
  });
  assert.deepEqual([configured.code, configured.stderr], [0, '']);
  assert.equal(JSON.parse(configured.stdout).source, receiver.url);
  const none = await run(['blueprints']);
  assert.deepEqual(
    [none.code, none.stderr],
    [1, 'source is required if SYNC_BLUEPRINTS_URL is not set\n'],
  );
});

test('chat servers are read with the configured token, which is never shown', async () => {
  const discord = await startDiscord();
  discord.guilds.set('11', 42);
  await put(database, 'orgs', [
    { slug: 'acme', name: 'Acme', chatServerId: '11' },
    { slug: 'lost', name: 'Lost', chatServerId: '12' },
  ]);
  const variables = {
    CHAT_TOKEN: discord.token,
    CHAT_BASE_URL: discord.baseUrl,
  };
  const well = await run(['chat'], variables);
  assert.deepEqual(
    [well.code, well.stdout, well.stderr],
    [
      0,
      '2 orgs, 1 updated, 0 unchanged, 1 failed, 42 members.\n',
      'lost: Discord knows no such server (404)\n',
    ],
  );
  const wrong = await run(['chat'], { ...variables, CHAT_TOKEN: 'wrong-token' });
  assert.deepEqual(
    [wrong.code, wrong.stderr],
    [1, 'Nothing was changed: Discord does not accept the token (401).\n'],
  );
});

async function lastRun() {
  const { runs } = await listRuns(database, { kind: null, page: 1, limit: 1 });
  return runs[0] ?? assert.fail('there is no run');
}

/** A server that has sent half of it, and waits. */
async function serveHalf() {
  const { promise: sent, resolve: isSent } = Promise.withResolvers<void>();
  const receiver = await startReceiver((response) => {
    response.writeHead(200, { 'content-length': String(text.length) });
    response.write(text.slice(0, text.length / 2), () => isSent());
  });
  return { url: receiver.url, sent };
}

test('a killed run changes nothing, is listed as interrupted, and the next one works', async () => {
  const before = await stateOf(database, 'blueprints');
  const announced = await eventsOf(database, 'blueprint.sync.completed');
  const half = await serveHalf();
  const killed = startCommand(['sync', 'blueprints', half.url], { env, input: '' });
  await half.sent;
  const beside = await run(['blueprints', file]);
  assert.equal(beside.code, 1);
  assert.match(beside.stderr, /^Another sync of blueprints is running/);
  killed.signal('SIGKILL');
  await killed.ended;
  await eventually(async () => {
    const { status, reason } = await lastRun();
    return status === 'failed' && reason === 'interrupted';
  });
  assert.deepEqual(await stateOf(database, 'blueprints'), before);
  assert.deepEqual(await eventsOf(database, 'blueprint.sync.completed'), announced);
  assert.equal((await run(['blueprints', file])).code, 0);
});

test('a run that is killed while it writes changes nothing', async () => {
  const before = await stateOf(database, 'blueprints');
  const changed = join(folder, 'changed.ndjson');
  await writeFile(changed, text.replaceAll('"materials"', '"tools"'));
  const pidOf = async () =>
    (
      await sql<{ pid: number }>`
        select pid from pg_stat_activity
        where application_name like 'orgdir sync%' and datname = current_database() and wait_event_type = 'Lock'
      `.execute(database)
    ).rows[0]?.pid;
  await database.transaction().execute(async (tx) => {
    // The last of the rows that it writes.
    await sql`select from blueprints order by key desc limit 1 for update`.execute(tx);
    const killed = startCommand(['sync', 'blueprints', changed], { env, input: '' });
    await eventually(pidOf);
    killed.signal('SIGKILL');
    await killed.ended;
    // PostgreSQL notices that nobody waits for it, and ends it while the row is still locked.
    await eventually(async () => (await pidOf()) === undefined);
  });
  assert.deepEqual(await stateOf(database, 'blueprints'), before);
  const again = await run(['blueprints', changed, '--json']);
  assert.equal(JSON.parse(again.stdout).counts.updated, 5);
});

test('Ctrl-C ends a run, which is recorded as stopped', async () => {
  const half = await serveHalf();
  const stopped = startCommand(['sync', 'blueprints', half.url], { env, input: '' });
  await half.sent;
  // The terminal sends it, and npm forwards it.
  stopped.signal('SIGINT', 'group');
  stopped.signal('SIGINT', 'group');
  assert.deepEqual(await stopped.ended, { code: 130, signal: null });
  assert.equal(stopped.stderr, 'Nothing was changed: the process that ran it was stopped.\n');
  const { status, reason } = await lastRun();
  assert.deepEqual([status, reason], ['failed', 'stopped']);
});

test('Ctrl-C ends a command that still waits for its turn to migrate', async () => {
  await database.connection().execute(async (session) => {
    await sql`select pg_advisory_lock(70420003)`.execute(session);
    const waiting = startCommand(['migrate'], { env, input: '' });
    await eventually(async () => {
      const { rows: waits } = await sql`
        select from pg_stat_activity where query like '%pg_try_advisory_lock%' and pid <> pg_backend_pid()
          and application_name = ${`orgdir tool, pid ${waiting.pid}`}
      `.execute(session);
      return waits.length > 0;
    });
    waiting.signal('SIGINT', 'group');
    assert.deepEqual(await waiting.ended, { code: 130, signal: null });
    await sql`select pg_advisory_unlock(70420003)`.execute(session);
  });
});

test('a running service follows its schedule, and ends a run cleanly when it is stopped', async () => {
  const half = await serveHalf();
  await sql`
    insert into sync_schedules (kind, cron, due_at) values ('blueprints', '@yearly', now() - interval '1 day')
  `.execute(database);
  const serving = startCommand(['serve'], {
    env: {
      ...env,
      SECRET_KEY: Buffer.alloc(32, 1).toString('base64'),
      SYNC_BLUEPRINTS_URL: half.url,
      SYNC_BLUEPRINTS_CRON: '@yearly',
    },
    input: '',
  });
  await half.sent;
  serving.signal('SIGTERM');
  assert.deepEqual(await serving.ended, { code: 0, signal: null });
  const { status, reason, trigger } = await lastRun();
  assert.deepEqual([status, reason, trigger], ['failed', 'stopped', 'schedule']);
  assert.match(serving.stdout, /"sync\.failed"/);
});

test(
  'without a running service it starts the database and stops it again',
  { skip: embeddedOnly },
  async () => {
    const dataDir = await newMigratedDataDir();
    after(() => removeDataDir(dataDir));
    const done = await runCommand(['sync', 'blueprints', file], { env: { DATA_DIR: dataDir } });
    assert.deepEqual(
      [done.code, done.stdout],
      [0, '5 total, 5 created, 0 updated, 0 retired, 0 unchanged, 0 failed.\n'],
    );
    assert.equal(await serverPid(dataDir), null);
  },
);
