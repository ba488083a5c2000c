/** One installation as it runs large: two processes of each role on one PostgreSQL, none of which needs a certain other. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { createPlatformKey } from '../../src/access/keys.ts';
import { sql } from '../../src/database/database.ts';
import { publishEvent } from '../../src/directory/publish-in-groups.ts';
import { testActor } from '../support/actor.ts';
import type { Ended } from '../support/command.ts';
import { openTestDatabase, toUrl } from '../support/database.ts';
import { put } from '../support/directory.ts';
import { eventually, withinASecond } from '../support/eventually.ts';
import { loopbackAllowed, startReceiver } from '../support/receiver.ts';
import { makeKey, testPublicUrl } from '../support/service.ts';
import { startProcess, type ServiceProcess } from '../support/start-process.ts';
import { runCommand } from '../support/run-command.ts';

const opened = await openTestDatabase();
const { database, connection } = opened;
const env = {
  ...loopbackAllowed,
  DATABASE_URL: toUrl(connection),
  SECRET_KEY: randomBytes(32).toString('base64'),
  PUBLIC_URL: testPublicUrl,
  RATE_LIMIT_PER_MINUTE: '0',
};
await put(database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
const platform = await database
  .transaction()
  .execute((tx) => createPlatformKey(tx, testActor, { name: 'Platform', expiresAt: null }));

const start = (role: 'api' | 'worker') => startProcess(role, env);

async function stop({ command }: ServiceProcess): Promise<void> {
  command.signal('SIGTERM');
  assert.deepEqual(await command.ended, { code: 0, signal: null } satisfies Ended);
}

const [first, second, ...workers] = await Promise.all([
  start('api'),
  start('api'),
  start('worker'),
  start('worker'),
]);

type Request = { key: string; method?: string; json?: unknown };

async function call(address: string, { key, method = 'GET', json }: Request) {
  const response = await fetch(address, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
  });
  return { status: response.status, body: (await response.json()) as any };
}

/** In one transaction. */
async function publishMany(events: number): Promise<void> {
  const publication = { name: 'org.created', org: 'acme', alliance: null, data: null };
  await database.transaction().execute(async (tx) => {
    for (let count = 0; count < events; count += 1)
      await publishEvent(tx, { ...publication, publicUrl: testPublicUrl });
  });
}

test('a change through one process is read through another within a second', async () => {
  const { key } = await makeKey(opened);
  const read = async ({ url }: ServiceProcess) =>
    (await call(`${url}/api/v1/orgs/acme`, { key })).body.data.name;
  for (const [index, writer] of [first, second, first].entries()) {
    // Both know the old answer by heart.
    await Promise.all([read(first), read(second)]);
    const name = `Acme, renamed ${index + 1} times`;
    const { status } = await call(`${writer.internalUrl}/internal/v1/orgs/acme`, {
      key: platform.key,
      method: 'PATCH',
      json: { name },
    });
    assert.equal(status, 200);
    await withinASecond(async () => (await read(first)) === name && (await read(second)) === name);
  }
});

test('a revoked key is rejected by every process within a second', async () => {
  const { key, keyId } = await makeKey(opened);
  const statuses = () =>
    Promise.all(
      [first, second].map(async ({ url }) => (await call(`${url}/api/v1/orgs`, { key })).status),
    );
  assert.deepEqual(await statuses(), [200, 200]);
  const { code, stderr } = await runCommand(['keys', 'revoke', keyId], env);
  assert.equal(code, 0, stderr);
  await withinASecond(async () => (await statuses()).every((status) => status === 401));
});

test('workers that stop one after another miss no delivery and send none twice', async () => {
  const events = 300;
  const receiver = await startReceiver();
  const { key } = await makeKey(opened);
  const made = await call(`${first.url}/api/v1/webhooks`, {
    key,
    method: 'POST',
    json: { url: receiver.url },
  });
  const { id } = made.body.data;
  await publishMany(events);
  const [one, other] = workers;
  await receiver.waitFor(1);
  await stop(one);
  await receiver.waitFor(events / 2);
  // Whoever comes takes over what is left, while the one that had it ends.
  const [fresh] = await Promise.all([start('worker'), stop(other)]);
  await receiver.waitFor(events);
  await ended(id);
  const { rows } = await sql<{ status: string; attempts: number; deliveries: number }>`
    select d.status, count(*) as attempts, count(distinct d.id) as deliveries
    from deliveries d join attempts a on a.delivery_id = d.id where d.webhook_id = ${id} group by d.status
  `.execute(database);
  assert.deepEqual(rows, [{ status: 'succeeded', attempts: events, deliveries: events }]);
  assert.equal(receiver.received.length, events);
  await stop(fresh);
});

test('two workers share a webhook, and either goes on alone', async () => {
  const responses: (() => void)[] = [];
  let holds = true;
  const receiver = await startReceiver((response) => {
    const respond = () => void response.writeHead(200).end();
    if (holds) responses.push(respond);
    else respond();
  });
  const { key } = await makeKey(opened);
  const json = { url: receiver.url, events: ['org.created'] };
  const made = await call(`${first.url}/api/v1/webhooks`, { key, method: 'POST', json });
  const { id } = made.body.data;
  const pair = await Promise.all([start('worker'), start('worker')]);

  // A process sends two deliveries to a webhook that has not responded yet.
  await publishMany(20);
  await receiver.waitFor(4);
  holds = false;
  for (const respond of responses) respond();
  await receiver.waitFor(20);
  // A process that is frozen or killed would otherwise leave attempts that are not recorded, and are made again.
  await ended(id);

  const leader = await findLeader(pair);
  const other = pair.find((each) => each !== leader) as ServiceProcess;
  leader.command.signal('SIGSTOP');
  await publishMany(5);
  await receiver.waitFor(25);
  leader.command.signal('SIGCONT');
  await publishMany(5);
  await receiver.waitFor(30);
  await ended(id);

  const last = await findLeader(pair);
  last.command.signal('SIGKILL');
  await last.command.ended;
  await publishMany(5);
  await receiver.waitFor(35);
  const left = last === leader ? other : leader;
  await eventually(async () => (await findLeader([left])) === left);

  await ended(id);
  const { rows } = await sql<{ deliveries: number; attempts: number }>`
    select count(*) as deliveries, sum(attempt_count)::int as attempts from deliveries
    where webhook_id = ${id} and status = 'succeeded'
  `.execute(database);
  assert.deepEqual(rows, [{ deliveries: 35, attempts: 35 }]);
  assert.equal(receiver.received.length, 35);
  await stop(left);
});

/** Resolves when no delivery to the webhook is pending. */
async function ended(webhookId: string): Promise<void> {
  await eventually(async () => {
    const { rows } = await sql`
      select from pending_deliveries where webhook_id = ${webhookId}
    `.execute(database);
    return rows.length === 0;
  });
}

/** The worker that is notified of new work. */
function findLeader(among: ServiceProcess[]): Promise<ServiceProcess> {
  return eventually(async () => {
    const { rows } = await sql<{ name: string }>`
      select a.application_name as name from pg_locks l join pg_stat_activity a using (pid)
      where l.locktype = 'advisory' and l.objid = 70420013 and l.granted and a.datname = current_database()
    `.execute(database);
    return among.find(({ command }) => rows[0]?.name.endsWith(`, pid ${command.pid}`));
  });
}

test('a stopping API process finishes its requests and accepts no more', async () => {
  const { key } = await makeKey(opened);
  const third = await start('api');
  let processes = [first, second];
  let answered = 0;
  let goOn = true;

  /** As a balancer does it: to one that takes connections, and to another where it does not any more. */
  async function ask(turn: number): Promise<void> {
    const tried = [...processes, ...processes];
    for (let index = 0; index < processes.length; index += 1) {
      const { url } = tried[(turn % processes.length) + index] as ServiceProcess;
      try {
        const { status } = await call(`${url}/api/v1/orgs?page=${(turn % 50) + 1}`, { key });
        assert.equal(status, 200);
        answered += 1;
        return;
      } catch (error) {
        if (!isRefusedConnection(error)) throw error;
      }
    }
    assert.fail('no process took the request');
  }
  async function askOn(from: number): Promise<void> {
    for (let turn = from; goOn; turn += 1) await ask(turn);
  }
  const callers = [0, 1, 2, 3].map(askOn);
  const until = (count: number) => eventually(async () => answered >= count);
  await until(20);
  await stop(first);
  await until(answered + 20);
  processes = [second, third];
  await until(answered + 20);
  await stop(second);
  await until(answered + 20);
  goOn = false;
  await Promise.all(callers);
  await stop(third);
});

test('a stopping API process lets the writes of the platform end', async () => {
  const stopping = await start('api');
  let writing: ReturnType<typeof call> | undefined;
  await database.transaction().execute(async (tx) => {
    await sql`select from orgs where slug = 'acme' for update`.execute(tx);
    writing = call(`${stopping.internalUrl}/internal/v1/orgs/acme`, {
      key: platform.key,
      method: 'PUT',
      json: { name: 'Acme Ltd' },
    });
    await eventually(async () => {
      const { rows } = await sql`
        select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()
      `.execute(database);
      return rows.length > 0;
    });
    stopping.command.signal('SIGTERM');
    await eventually(() => call(stopping.url, platform).then(() => false, isRefusedConnection));
    // Nothing else is in flight, so only this request keeps the process.
    await sql`select pg_sleep(0.2)`.execute(tx);
  });
  assert.equal((await writing)?.status, 200);
  assert.deepEqual(await stopping.command.ended, { code: 0, signal: null });
});

/** Nothing of an answer came, on a connection that was closed or never opened: a GET may go to another process. */
function isRefusedConnection(error: unknown): boolean {
  const { code } = ((error as Error).cause ?? {}) as { code?: string };
  return code === 'ECONNREFUSED' || code === 'ECONNRESET' || code === 'UND_ERR_SOCKET';
}
