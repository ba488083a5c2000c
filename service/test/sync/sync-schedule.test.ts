/** When syncs run by themselves: each due time once, over all processes, and none is lost or run for ever. */
import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { loadConfig } from '../../src/settings/config.ts';
import { sql } from '../../src/database/database.ts';
import { createLogger } from '../../src/runtime/log.ts';
import { createMetrics, type Metrics } from '../../src/runtime/metrics.ts';
import type { SyncRun } from '../../src/contract/sync-run.ts';
import { listRuns } from '../../src/sync/runs.ts';
import { Session } from '../../src/database/session.ts';
import { createSyncs, type Syncs } from '../../src/sync/syncs.ts';
import { testActor } from '../support/actor.ts';
import { openTestDatabase } from '../support/database.ts';
import { blueprint, put } from '../support/directory.ts';
import { startDiscord } from '../support/discord-server.ts';
import { eventually } from '../support/eventually.ts';
import { startReceiver, type Respond } from '../support/receiver.ts';
import { testPublicUrl } from '../support/service.ts';

const opened = await openTestDatabase();
const { database } = opened;
const yearly = '0 0 1 1 *';
const text = `${JSON.stringify(blueprint())}\n`;
const ok: Respond = (response) => response.end(text);

beforeEach(async () => {
  await sql`truncate blueprints, orgs, outbox, sync_runs, sync_schedules cascade`.execute(database);
  await sql`update list_totals set entries = 0`.execute(database);
});

type Process = Syncs & { metrics: Metrics };

/** The syncs of one process, as its configuration has them. */
function startProcess(env: Record<string, string>): Process {
  const metrics = createMetrics();
  const config = loadConfig({ PUBLIC_URL: testPublicUrl, ...env });
  const log = createLogger('silent');
  const session = new Session(opened.connection);
  const syncs = createSyncs({ ...opened, session, config, version: '0.0.0-test', metrics, log });
  syncs.start();
  after(() => syncs.stop());
  return { ...syncs, metrics };
}

async function sourceOf(respond: Respond, cron = yearly) {
  const receiver = await startReceiver(respond);
  return { receiver, env: { SYNC_BLUEPRINTS_URL: receiver.url, SYNC_BLUEPRINTS_CRON: cron } };
}

/** As a process left it that was here before. */
async function makeDue(kind = 'blueprints', { due = '-3 days', tries = 0, cron = yearly } = {}) {
  await sql`
    insert into sync_schedules (kind, cron, due_at, tries)
    values (${kind}, ${cron}, clock_timestamp() + ${due}::interval, ${tries})
  `.execute(database);
}

async function planOf(kind = 'blueprints') {
  const { rows } = await sql<{ due_at: Date; tries: number; cron: string; ahead: boolean }>`
    select *, due_at > clock_timestamp() as ahead from sync_schedules where kind = ${kind}
  `.execute(database);
  return rows[0];
}

async function runs(): Promise<SyncRun[]> {
  return (await listRuns(database, { kind: null, page: 1, limit: 100 })).runs;
}

const isPlanned = (kind?: string) => eventually(async () => (await planOf(kind))?.ahead);

test('a new schedule waits for its next time in UTC', async () => {
  const { receiver, env } = await sourceOf(ok);
  const worker = startProcess(env);
  await isPlanned();
  await worker.stop();
  assert.match((await planOf())?.due_at.toISOString() ?? '', /^\d{4}-01-01T00:00:00\.000Z$/);
  assert.deepEqual([await runs(), receiver.received], [[], []]);
});

test('a missed time is caught up once, by one of several processes, and one without a schedule has none of its last success', async () => {
  const { receiver, env } = await sourceOf(ok);
  await makeDue();
  const processes = [1, 2, 3, 4].map(() => startProcess(env));
  await isPlanned();
  await Promise.all(processes.map((each) => each.stop()));
  const [run, ...others] = await runs();
  assert.deepEqual([run?.status, run?.trigger, others], ['succeeded', 'schedule', []]);
  assert.equal(receiver.received.length, 1);
  const again = startProcess(env);
  await again.stop();
  assert.equal((await runs()).length, 1);
  const without = startProcess({ ...env, SYNC_BLUEPRINTS_CRON: '', CHAT_TOKEN: 'token' });
  assert.doesNotMatch(await without.metrics.render(), /^orgdir_sync_last_success/m);
});

test('a due time runs once over several processes', async () => {
  const { receiver, env } = await sourceOf(ok);
  await makeDue('blueprints', { due: '300 milliseconds' });
  const processes = [1, 2].map(() => startProcess(env));
  await receiver.waitFor(1);
  await isPlanned();
  await Promise.all(processes.map((each) => each.stop()));
  assert.equal((await runs()).length, 1);
});

test('a failed run is repeated at the next time, not before', async () => {
  const { receiver, env } = await sourceOf((response) => response.writeHead(503).end());
  await makeDue();
  const worker = startProcess(env);
  await isPlanned();
  await worker.stop();
  assert.equal(receiver.received.length, 1);
  assert.deepEqual(
    (await runs()).map(({ status, reason }) => [status, reason]),
    [['failed', 'refused']],
  );
  const shown = await worker.metrics.render();
  assert.match(shown, /orgdir_sync_runs_total\{kind="blueprints",outcome="failed"\} 1/);
  // An alert on the age of the last success finds a sync that never had one.
  assert.deepEqual(shown.match(/^orgdir_sync_last_success_timestamp_seconds\{.*$/gm), [
    'orgdir_sync_last_success_timestamp_seconds{kind="blueprints"} 0',
  ]);
});

test('a run that a stop ends is recorded as stopped and repeated at the next start', async () => {
  const { receiver, env } = await sourceOf(() => {});
  await makeDue();
  const first = startProcess(env);
  await receiver.waitFor(1);
  await first.stop();
  assert.deepEqual(
    (await runs()).map(({ reason }) => reason),
    ['stopped'],
  );
  assert.equal((await planOf())?.ahead, false);
  receiver.respond = ok;
  const second = startProcess(env);
  await isPlanned();
  const run = (await runs())[0];
  assert.equal(run?.status, 'succeeded');
  const finished = Date.parse(run.finishedAt ?? '') / 1000;
  await eventually(async () =>
    (await second.metrics.render()).includes(
      `orgdir_sync_last_success_timestamp_seconds{kind="blueprints"} ${finished}`,
    ),
  );
});

test('a run that crashed its process three times waits for its next time', async () => {
  const { receiver, env } = await sourceOf(ok);
  await makeDue('blueprints', { tries: 3 });
  const worker = startProcess(env);
  await isPlanned();
  await worker.stop();
  assert.deepEqual([(await planOf())?.tries, receiver.received.length], [0, 0]);
});

test('a changed schedule is planned again', async () => {
  const { receiver, env } = await sourceOf(ok, '0 0 1 2 *');
  await makeDue();
  const worker = startProcess(env);
  await isPlanned();
  await worker.stop();
  assert.match((await planOf())?.due_at.toISOString() ?? '', /-02-01T00:00:00\.000Z$/);
  assert.equal(receiver.received.length, 0);
});

test('a due run waits for a manual run and then starts', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { receiver, env } = await sourceOf((response, _received, count) => {
    if (count > 1) response.end(text);
    else void released.then(() => response.end(text));
  });
  const asked = createSyncs({
    ...opened,
    session: new Session(opened.connection),
    config: loadConfig({ ...env, SYNC_BLUEPRINTS_CRON: '' }),
    version: '0.0.0-test',
    metrics: createMetrics(),
    log: createLogger('silent'),
  });
  after(() => asked.stop());
  const begun = await asked.begin('blueprints', { force: false, skipBad: false }, testActor);
  assert.equal(begun.kind, 'started');
  await receiver.waitFor(1);
  await makeDue();
  startProcess(env);
  release();
  await isPlanned();
  assert.deepEqual(
    (await runs()).map(({ trigger, status }) => [trigger, status]),
    [
      ['schedule', 'succeeded'],
      ['api', 'succeeded'],
    ],
  );
});

test('both syncs have separate schedules', async () => {
  const discord = await startDiscord();
  discord.guilds.set('11', 42);
  await put(database, 'orgs', [{ slug: 'acme', name: 'Acme', chatServerId: '11' }]);
  const { env } = await sourceOf(ok);
  await makeDue('blueprints');
  await makeDue('chat');
  startProcess({
    ...env,
    CHAT_TOKEN: discord.token,
    CHAT_BASE_URL: discord.baseUrl,
    SYNC_CHAT_CRON: yearly,
  });
  await isPlanned();
  await isPlanned('chat');
  assert.deepEqual((await runs()).map(({ kind, status }) => `${kind} ${status}`).sort(), [
    'blueprints succeeded',
    'chat succeeded',
  ]);
});

test('a process with one schedule follows it beside a process with the other', async () => {
  const { env } = await sourceOf(ok);
  startProcess(env);
  await isPlanned();
  startProcess({ CHAT_TOKEN: 'token', SYNC_CHAT_CRON: yearly });
  await isPlanned('chat');
});
