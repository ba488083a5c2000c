/** WORKERS=n: the service runs its worker as several processes, and none outlives it. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createServer, type AddressInfo } from 'node:net';
import type { ServerResponse } from 'node:http';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { sql } from '../../src/database/database.ts';
import { publishEvent } from '../../src/directory/publish-in-groups.ts';
import {
  connectInto,
  embeddedOnly,
  isAlive,
  newMigratedDataDir,
  ready,
  removeDataDir,
  runCommand,
  startCommand,
  type Command,
} from '../support/command.ts';
import { openCuttableDatabase } from '../support/cuttable-database.ts';
import { toUrl } from '../support/database.ts';
import { put } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { loopbackAllowed, startReceiver, type Receiver } from '../support/receiver.ts';
import { startTestService, testPublicUrl } from '../support/service.ts';

const service = await startTestService({ env: loopbackAllowed });
const { database } = service;
await put(database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
const env = {
  ...loopbackAllowed,
  DATABASE_URL: toUrl(service.connection),
  SECRET_KEY: service.secretKeys.map((key) => key.toString('base64')).join(','),
  PUBLIC_URL: testPublicUrl,
  WORKERS: '2',
};

function serve(more: Record<string, string> = {}): Command {
  const command = startCommand(['serve'], { env: { ...env, ...more } });
  after(async () => {
    if (isAlive(command.pid)) command.signal('SIGKILL');
    await command.ended;
  });
  return command;
}

type Line = { pid: number; msg: string; worker?: number; workerPid?: number };

/** Fails if a line of the log is not whole. */
function logLines({ stdout }: Command, msg: string): Line[] {
  const lines = stdout.split('\n').filter((line) => line.startsWith('{'));
  return lines.map((line) => JSON.parse(line) as Line).filter((line) => line.msg === msg);
}

/** The process ids of the worker processes, in the order of their last starts. */
async function workersOf(command: Command, starts = 2): Promise<number[]> {
  await command.waitFor(new RegExp(`(worker_process\\.started"}\\n[^]*){${starts}}`));
  return logLines(command, 'worker_process.started').map(({ pid }) => pid);
}

async function metricsOf(command: Command): Promise<string> {
  const [, address = ''] = await command.waitFor(/^Metrics: +(\S+)$/m);
  return (await fetch(address)).text();
}

async function addWebhook({ url }: Receiver): Promise<string> {
  const { body } = await service.call('/webhooks', { method: 'POST', json: { url } });
  return body.data.id as string;
}

async function removeWebhook(id: string): Promise<void> {
  await service.call(`/webhooks/${id}`, { method: 'DELETE' });
}

async function publish(): Promise<void> {
  const event = { name: 'org.created', org: 'acme', alliance: null, data: null };
  await database
    .transaction()
    .execute((tx) => publishEvent(tx, { ...event, publicUrl: testPublicUrl }));
}

async function attemptsOf(webhookId: string) {
  const { rows } = await sql<{ status_code: number | null; error: string | null }>`
    select a.status_code, a.error from deliveries d join attempts a on a.delivery_id = d.id
    where d.webhook_id = ${webhookId} order by a.number
  `.execute(database);
  return rows.map(({ status_code: status, error }) => status ?? error);
}

/** A receiver that holds requests open until `respond` is called. */
async function startHoldingReceiver() {
  const held: ServerResponse[] = [];
  const receiver = await startReceiver((response) => void held.push(response));
  return {
    ...receiver,
    respond() {
      for (const response of held.splice(0)) response.writeHead(200).end();
    },
  };
}

async function childrenOf(pid: number): Promise<string[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'ppid=,args=']);
  const rows = stdout.split('\n').map((row) => /^ *(\d+) (.*)$/.exec(row));
  return rows.flatMap((row) => (row && Number(row[1]) === pid ? [row[2] ?? ''] : []));
}

test('each worker process delivers, and the metrics show both; SIGTERM ends them after their attempts, which are recorded', async () => {
  const receiver = await startHoldingReceiver();
  const webhook = await addWebhook(receiver);
  const command = serve();
  const workers = await workersOf(command);
  assert.equal(new Set([command.pid, ...workers]).size, 3);
  for (const [index, frozen] of workers.entries()) {
    process.kill(frozen, 'SIGSTOP');
    await publish();
    await receiver.waitFor(index + 1);
    receiver.respond();
    process.kill(frozen, 'SIGCONT');
  }
  const metrics = await eventually(async () => {
    const text = await metricsOf(command);
    return (
      /attempts_total{outcome="succeeded".*worker="1"} 1$[^]*worker="2"} 1$/m.test(text) && text
    );
  });
  assert.match(metrics, /^orgdir_events_fanned_out_total 0$/m);
  assert.match(metrics, /^orgdir_events_fanned_out_total{worker="1"} 1$/m);
  assert.match(metrics, /^orgdir_database_up 1$/m);
  assert.doesNotMatch(metrics, /orgdir_(database_up|deliveries_due){/);
  await publish();
  await receiver.waitFor(3);
  command.signal('SIGTERM');
  await command.waitFor(/service\.stopping/);
  receiver.respond();
  assert.deepEqual(await command.ended, { code: 0, signal: null }, command.stderr);
  assert.deepEqual(workers.filter(isAlive), []);
  assert.deepEqual(await attemptsOf(webhook), [200, 200, 200]);
  const attempted = logLines(command, 'delivery.attempted').map(({ pid }) => pid);
  assert.equal(attempted.length, 3);
  assert.deepEqual(attempted.slice(0, 2).sort(), workers.sort());
  assert.equal(command.stderr, '');
  await removeWebhook(webhook);
});

test('a worker process that is killed is started again, and its delivery arrives; a second signal ends all at once', async () => {
  const receiver = await startHoldingReceiver();
  const webhook = await addWebhook(receiver);
  const command = serve({
    ROLES: 'worker',
    WEBHOOK_RETRY_BASE_MS: '1',
    WEBHOOK_TIMEOUT_MS: '30000',
  });
  await workersOf(command);
  await publish();
  await receiver.waitFor(1);
  const [, number] = await eventually(async () =>
    /in_flight{worker="(\d)"} 1$/m.exec(await metricsOf(command)),
  );
  const started = logLines(command, 'worker_process.started');
  const killed = started.find(({ worker }) => worker === Number(number))?.pid ?? 0;
  process.kill(killed, 'SIGKILL');
  const again = (await workersOf(command, 3)).at(-1);
  const [ended] = logLines(command, 'worker_process.ended');
  assert.deepEqual([ended?.worker, ended?.workerPid], [Number(number), killed]);
  assert.notEqual(again, killed);
  // Its lease ends now.
  await sql`
    update pending_deliveries set due_at = queue_now() where webhook_id = ${webhook} and lease_token is not null
  `.execute(database);
  await receiver.waitFor(2);
  receiver.respond();
  const attempts = await eventually(async () => {
    const found = await attemptsOf(webhook);
    return found.at(-1) === 200 && found;
  });
  assert.equal(attempts[0], 'interrupted');
  await publish();
  await receiver.waitFor(3);
  command.signal('SIGTERM');
  await eventually(async () => {
    if (isAlive(command.pid)) command.signal('SIGTERM');
    return !isAlive(command.pid);
  });
  // The worker processes share its standard error, so it closes when they have ended too.
  assert.deepEqual(await command.ended, { code: 143, signal: null });
  assert.deepEqual(await attemptsOf(webhook), attempts);
  await removeWebhook(webhook);
});

test('worker processes record their attempts and end if the service is killed', async () => {
  const receiver = await startHoldingReceiver();
  const webhook = await addWebhook(receiver);
  const command = serve({ ROLES: 'worker' });
  await workersOf(command);
  await publish();
  await receiver.waitFor(1);
  command.signal('SIGKILL');
  receiver.respond();
  // The worker processes share its standard error, so it closes when they have ended too.
  assert.deepEqual(await command.ended, { code: null, signal: 'SIGKILL' });
  assert.deepEqual(await attemptsOf(webhook), [200]);
  await removeWebhook(webhook);
});

test('a worker process that finds no database ends, and is started again until it finds one', async () => {
  const { opened, cut, mend } = await openCuttableDatabase(service);
  const command = serve({ DATABASE_URL: toUrl(opened.connection) });
  const [first = 0] = await workersOf(command);
  cut();
  process.kill(first, 'SIGKILL');
  await command.waitFor(/(worker_process\.ended"[^]*){2}/);
  mend();
  await workersOf(command, 3);
  command.signal('SIGTERM');
  assert.deepEqual(await command.ended, { code: 0, signal: null }, command.stderr);
});

test('a start that fails leaves no worker process', async () => {
  const holder = createServer().listen(0, '127.0.0.1');
  after(() => holder.close());
  await once(holder, 'listening');
  const { port } = holder.address() as AddressInfo;
  const { code, stdout, stderr } = await runCommand(['serve'], {
    env: { ...env, PORT: `${port}` },
  });
  assert.equal(code, 1);
  assert.match(stderr, /^PORT \d+ on 127\.0\.0\.1 is used by another program/);
  // One may have begun to start. The command shares its standard error with it, so both have ended.
  const started = [...stdout.matchAll(/"pid":(\d+),"worker":/g)].map(([, pid]) => Number(pid));
  assert.deepEqual(started.filter(isAlive), []);
});

test('one worker runs in the process of the service', async () => {
  const command = serve({ WORKERS: '1' });
  await command.waitFor(/service\.started/);
  assert.deepEqual(await childrenOf(command.pid), []);
  assert.doesNotMatch(await metricsOf(command), /worker="/);
  command.signal('SIGTERM');
  await command.ended;
});

test(
  'worker processes use the embedded database of the service',
  { skip: embeddedOnly },
  async () => {
    const dataDir = await newMigratedDataDir();
    const receiver = await startReceiver();
    const embedded = { ...loopbackAllowed, DATA_DIR: dataDir };
    const command = startCommand(['serve'], { env: { ...embedded, WORKERS: '2' } });
    after(async () => {
      if (isAlive(command.pid)) command.signal('SIGKILL');
      await command.ended;
      await removeDataDir(dataDir);
    });
    const { url, key } = await ready(command);
    const workers = await workersOf(command);
    const commandLines = (await childrenOf(command.pid)).filter((line) => !/postgres/.test(line));
    assert.equal(commandLines.length, 2);
    for (const line of commandLines) assert.match(line, /orgdir\.js serve --worker-process \d$/);
    const client = await connectInto(dataDir);
    const { rows } = await client.query<{ name: string }>(
      `select distinct application_name as name from pg_stat_activity
     where application_name like 'orgdir worker, pid %' order by 1`,
    );
    await client.end();
    assert.deepEqual(
      rows.map(({ name }) => name),
      workers.map((pid) => `orgdir worker, pid ${pid}`).sort(),
    );
    const created = await fetch(`${url}/api/v1/webhooks`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url: receiver.url, events: ['org.created'] }),
    });
    assert.equal(created.status, 201);
    const args = ['events', 'publish', 'org.created', '--org', 'nokia'];
    assert.equal((await runCommand(args, { env: embedded })).code, 0);
    await receiver.waitFor(1);
    command.signal('SIGTERM');
    assert.deepEqual(await command.ended, { code: 0, signal: null }, command.stderr);
    assert.deepEqual(workers.filter(isAlive), []);
  },
);
