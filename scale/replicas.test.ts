/** Replicas that hang, are cut off or lag: every page is at most a second old. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { Pool } from 'undici';
import { startWorkerProcess, type WorkerProcess } from '../faults/worker-process.ts';
import { shortTimes } from '../faults/world.ts';
import { createApp } from '../service/src/access/apps.ts';
import { createKey } from '../service/src/access/keys.ts';
import { openDatabase, sql, type Database } from '../service/src/database/database.ts';
import { openConfiguredDatabase } from '../service/src/start/open-database.ts';
import { put } from '../service/test/support/directory.ts';
import { startProxy } from '../service/test/support/proxy.ts';
import { addressesOf } from './addresses.ts';
import { createServer, startPrimary, urlOf, type PostgresServer } from './postgres.ts';

const faultMs = Number(process.env['SCALE_FAULT_MS'] ?? 3_000);
const ageMsMax = 1_000;
const writePauseMs = 100;
const pollMs = 50;
const readers = 4;
const actor = { kind: 'system', id: null, name: 'scale' } as const;

test(
  'no page is older than a second while replicas hang, are cut off and lag',
  { timeout: 600_000 },
  async (t) => {
    const primary = await startPrimary('primary');
    const databaseUrl = urlOf(primary);
    const opened = await openConfiguredDatabase(
      { databaseUrl, dataDir: '' },
      { purpose: 'tool', applicationName: 'scale harness' },
    );
    t.after(() => opened.close());
    const { database } = opened;
    const [prompt, distant, late] = [
      await createServer('prompt'),
      await createServer('distant'),
      await createServer('late'),
    ];
    const network = await startProxy({ host: '127.0.0.1', port: primary.port });
    t.after(network.close);
    await prompt.follow(primary);
    await distant.follow({ ...primary, port: network.port });
    await late.follow(primary, ['recovery_min_apply_delay=60s']);
    const key = await createCaller(database);
    const api = startApi({
      DATABASE_URL: databaseUrl,
      DATABASE_READ_URLS: [prompt, distant, late].map((each) => urlOf(each)).join(' '),
    });
    t.after(() => api.kill());
    await api.started;
    const pages = observePages(database, addressesOf(api).address, key);

    await untilRead(prompt);
    const thaw = prompt.freeze();
    await pages.during(faultMs);
    await untilRead(distant);
    network.cut();
    await pages.during(faultMs);
    thaw();
    await pages.during(faultMs);
    await untilRead(prompt);
    network.mend();
    await prompt.kill();
    await distant.kill();
    await pages.during(faultMs);
    await pages.stop();
    t.diagnostic(
      `${pages.count()} pages, the oldest ${Math.round(pages.ageMs())} ms behind, the slowest after ${Math.round(pages.slowestMs())} ms`,
    );
    assert.deepEqual(pages.wrong.slice(0, 10), []);
    assert.ok(pages.ageMs() <= ageMsMax);
  },
);

test('a replica with commits that a failover has lost is not read', async (t) => {
  const first = await startPrimary('first');
  const [next, ahead] = [await createServer('next'), await createServer('ahead')];
  const network = await startProxy({ host: '127.0.0.1', port: first.port });
  t.after(network.close);
  const databaseUrl = urlOf(first, next);
  const opened = await openConfiguredDatabase(
    { databaseUrl: urlOf(first), dataDir: '' },
    { purpose: 'tool', applicationName: 'scale harness' },
  );
  t.after(() => opened.close());
  await next.follow({ ...first, port: network.port });
  await ahead.follow(first);
  const key = await createCaller(opened.database);
  await rename(first, 'before');
  await untilName(next, 'before');
  network.cut();
  await rename(first, 'lost');
  await untilName(ahead, 'lost');
  const api = startApi({ DATABASE_URL: databaseUrl, DATABASE_READ_URLS: urlOf(ahead) });
  t.after(() => api.kill());
  await api.started;
  const names = observeNames(addressesOf(api).address, key);
  await names.until('lost');
  await first.kill();
  await next.promote();
  await names.until('before');
  await rename(next, 'kept');
  await names.until('kept');
  await names.stop();
  assert.deepEqual(names.changes, ['lost', 'before', 'kept']);
});

test('a replica of another cluster stops the start with one line', async (t) => {
  const [own, other] = [await startPrimary('own'), await startPrimary('other')];
  const api = startApi({ DATABASE_URL: urlOf(own), DATABASE_READ_URLS: urlOf(other) });
  t.after(() => api.kill());
  assert.equal((await api.ended).code, 1);
  assert.match(
    api.stderr(),
    /DATABASE_READ_URLS names 127\.0\.0\.1:\d+, which is not a replica of the database in DATABASE_URL/,
  );
});

function startApi(databases: Record<string, string>): WorkerProcess {
  return startWorkerProcess([], {
    ...shortTimes,
    ROLES: 'api',
    RATE_LIMIT_PER_MINUTE: '0',
    SECRET_KEY: randomBytes(32).toString('base64'),
    ...databases,
  });
}

async function createCaller(database: Database): Promise<string> {
  await put(database, 'orgs', [{ slug: 'acme', name: '0' }]);
  return database.transaction().execute(async (tx) => {
    const appId = await createApp(tx, actor, { name: 'Reader', owner: 'reader@example.org' });
    const fields = { name: 'Reader', expiresAt: null, scopes: ['read:directory'], appId };
    return (await createKey(tx, actor, fields)).key;
  });
}

function open(server: PostgresServer): Database {
  return openDatabase({ connectionString: urlOf(server) }, { applicationName: 'scale harness' });
}

async function rename(server: PostgresServer, name: string): Promise<void> {
  const database = open(server);
  await sql`update orgs set name = ${name} where slug = 'acme'`.execute(database);
  await database.destroy();
}

/** Resolves when a server has the entry under this name. */
async function untilName(server: PostgresServer, name: string): Promise<void> {
  const database = open(server);
  for (let isThere = false; !isThere; await wait(pollMs)) {
    const { rows } = await sql`
      select from orgs where slug = 'acme' and name = ${name}
    `.execute(database);
    isThere = rows.length > 0;
  }
  await database.destroy();
}

/** Resolves when the service reads from a replica. */
async function untilRead(replica: PostgresServer): Promise<void> {
  const database = open(replica);
  for (let isRead = false; !isRead; await wait(pollMs)) {
    const { rows } = await sql<{ is_read: boolean }>`
      select exists (
        select from pg_stat_activity
        where application_name like 'orgdir reads%' and query like '%from revisions r%' and state_change > now() - interval '1 second'
      ) as is_read
    `.execute(database);
    isRead = rows[0]?.is_read === true;
  }
  await database.destroy();
}

/** Reads the page of an entry again and again: which names does it show, one after the other? */
function observeNames(address: string, key: string) {
  const pool = new Pool(address, { connections: 1 });
  const changes: string[] = [];
  let stopped = false;

  async function read(): Promise<void> {
    while (!stopped) {
      const { statusCode, body } = await getEntry(pool, key);
      const text = await body.text();
      if (statusCode === 200 && nameIn(text) !== changes.at(-1)) changes.push(nameIn(text));
    }
  }

  const running = read();
  return {
    changes,
    async until(name: string) {
      while (changes.at(-1) !== name) await wait(pollMs);
    },
    async stop() {
      stopped = true;
      await running;
      await pool.close();
    },
  };
}

function getEntry(pool: Pool, key: string) {
  const headers = { authorization: `Bearer ${key}` };
  return pool.request({ method: 'GET', path: '/api/v1/orgs/acme', headers });
}

function nameIn(page: string): string {
  return (JSON.parse(page) as { data: { name: string } }).data.name;
}

/** Writes a number into an entry again and again, and reads its page: how old is the number that it shows? */
function observePages(database: Database, address: string, key: string) {
  const pool = new Pool(address, { connections: readers });
  /** When each number was committed at the latest. */
  const committedAt: number[] = [performance.now()];
  const wrong: string[] = [];
  let [count, ageMs, slowestMs, stopped] = [0, 0, 0, false];

  async function write(): Promise<void> {
    while (!stopped) {
      const next = committedAt.length;
      await sql`update orgs set name = ${String(next)} where slug = 'acme'`.execute(database);
      committedAt.push(performance.now());
      await wait(writePauseMs);
    }
  }

  async function read(): Promise<void> {
    while (!stopped) {
      const from = performance.now();
      const { statusCode, body } = await getEntry(pool, key);
      const text = await body.text();
      const now = performance.now();
      count += 1;
      slowestMs = Math.max(slowestMs, now - from);
      if (statusCode !== 200) {
        wrong.push(`${statusCode} ${text}`);
        continue;
      }
      const shown = Number(nameIn(text));
      const replacedAt = committedAt[shown + 1];
      if (replacedAt !== undefined) ageMs = Math.max(ageMs, now - replacedAt);
    }
  }

  const running = Promise.all([write(), ...Array.from({ length: readers }, read)]);
  return {
    wrong,
    count: () => count,
    ageMs: () => ageMs,
    slowestMs: () => slowestMs,
    during: (ms: number) => wait(ms),
    async stop() {
      stopped = true;
      await running;
      await pool.close();
    },
  };
}
