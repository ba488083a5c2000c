/** Replicas that hang, are cut off or lag: every page is at most a second old. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { Pool } from 'undici';
import { createClient } from '../client/src/index.ts';
import { createServer, startPrimary, urlOf, type PostgresServer } from '../harness/postgres.ts';
import { cleanUpsOf } from '../harness/run.ts';
import { startApi } from '../harness/service.ts';
import { makeAppKey } from '../harness/subscribers.ts';
import { isEmpty, openPool, openServer, until } from '../harness/world.ts';
import { sql, type Database } from '../service/src/database/database.ts';
import { checkReplicas } from '../service/src/doctor/check-servers.ts';
import { noJq, whatFails } from '../service/test/support/incidents.ts';
import { announce, put } from '../service/test/support/directory.ts';
import { startProxy } from '../service/test/support/proxy.ts';

const faultMs = Number(process.env['SCALE_FAULT_MS'] ?? 3_000);
const ageMsMax = 1_000;
const writePauseMs = 100;
/** Longer than anything that is waited for, on a busy machine too. */
const giveUpMs = 300_000;

test(
  'no page is older than a second while replicas hang, are cut off and lag',
  { timeout: 600_000 },
  async (t) => {
    const cleanUps = cleanUpsOf(t);
    const primary = await startPrimary('primary');
    const database = await openServer(urlOf(primary), cleanUps);
    const [prompt, distant, late] = [
      await createServer('prompt'),
      await createServer('distant'),
      await createServer('late'),
    ];
    const network = await startProxy({ host: '127.0.0.1', port: primary.port });
    cleanUps.defer(network.close);
    await prompt.follow(primary);
    await distant.follow(network);
    await late.follow(primary, ['recovery_min_apply_delay=60s']);
    const key = await createCaller(database);
    const api = startApi(
      {
        DATABASE_URL: urlOf(primary),
        DATABASE_READ_URLS: [prompt, distant, late].map((each) => urlOf(each)).join(' '),
      },
      cleanUps,
    );
    const stop = observePages(database, (await api.started).address, key);
    const isRead = (replica: PostgresServer) => untilRead(openPool(urlOf(replica), cleanUps));

    await isRead(prompt);
    const thaw = prompt.freeze();
    await wait(faultMs);
    await isRead(distant);
    network.cut();
    await wait(faultMs);
    thaw();
    await wait(faultMs);
    await isRead(prompt);
    network.mend();
    await prompt.kill();
    await distant.kill();
    await wait(faultMs);
    const { count, oldestMs, slowestMs, wrong } = await stop();
    t.diagnostic(
      `${count} pages, the oldest ${Math.round(oldestMs)} ms behind, the slowest after ${Math.round(slowestMs)} ms`,
    );
    assert.deepEqual(wrong.slice(0, 10), []);
    assert.ok(oldestMs <= ageMsMax);
    if (noJq) return;
    const found = whatFails(api.stdout());
    const isBehind = new RegExp(`replica\\.left_out \\S*:${late.port} +behind`);
    assert.ok(
      found.some((line) => isBehind.test(line)),
      found.join('\n'),
    );
  },
);

test('doctor says which replica is behind', async (t) => {
  const cleanUps = cleanUpsOf(t);
  const primary = await startPrimary('primary');
  const [prompt, late] = [await createServer('prompt'), await createServer('late')];
  const database = await openServer(urlOf(primary), cleanUps);
  await prompt.follow(primary);
  await late.follow(primary, ['recovery_min_apply_delay=1h']);
  await createCaller(database);
  await rename(database, 'new');
  await untilName(openPool(urlOf(prompt), cleanUps), 'new');
  const found = await checkReplicas(database, [urlOf(prompt), urlOf(late)]);
  assert.deepEqual(
    found.map(({ status, message }) => [status, message.replace(/^\S+ /, '')]),
    [
      ['ok', 'is a standby of the database'],
      ['warning', 'is behind, so nothing is read from it'],
    ],
  );
});

test('a replica that becomes the primary is not read as a replica any more', async (t) => {
  const cleanUps = cleanUpsOf(t);
  const first = await startPrimary('first');
  const next = await createServer('next');
  const database = await openServer(urlOf(first), cleanUps);
  await next.follow(first);
  await createCaller(database);
  const databases = { DATABASE_URL: urlOf(first, next), DATABASE_READ_URLS: urlOf(next) };
  const api = startApi(databases, cleanUps);
  await api.started;
  await first.kill();
  await next.promote();
  await until('it is left out', giveUpMs, async () =>
    api
      .stdout()
      .split('\n')
      .some((line) => line.includes('replica.left_out') && line.includes('not a standby')),
  );
});

test('a replica with commits that a failover has lost is not read', async (t) => {
  const cleanUps = cleanUpsOf(t);
  const first = await startPrimary('first');
  const [next, ahead] = [await createServer('next'), await createServer('ahead')];
  const network = await startProxy({ host: '127.0.0.1', port: first.port });
  cleanUps.defer(network.close);
  const database = await openServer(urlOf(first), cleanUps);
  await next.follow(network);
  await ahead.follow(first);
  const key = await createCaller(database);
  await rename(database, 'before');
  await untilName(openPool(urlOf(next), cleanUps), 'before');
  network.cut();
  await rename(database, 'lost');
  await untilName(openPool(urlOf(ahead), cleanUps), 'lost');
  const databases = { DATABASE_URL: urlOf(first, next), DATABASE_READ_URLS: urlOf(ahead) };
  const { address } = await startApi(databases, cleanUps).started;
  const names: string[] = [];
  const stop = readRepeatedly(address, { key, readers: 1 }, ({ name, status }) => {
    if (status === 200 && name !== names.at(-1)) names.push(name);
  });
  const untilShown = (name: string) => until(name, giveUpMs, async () => names.at(-1) === name);
  await untilShown('lost');
  await first.kill();
  await next.promote();
  await untilShown('before');
  await rename(openPool(urlOf(next), cleanUps), 'kept');
  await untilShown('kept');
  await stop();
  assert.deepEqual(names, ['lost', 'before', 'kept']);
});

test('a cursor of changes is good on the primary and on a replica that lags, and ends with the primary', async (t) => {
  const cleanUps = cleanUpsOf(t);
  const [primary, replica] = [await startPrimary('primary'), await createServer('replica')];
  const database = await openServer(urlOf(primary), cleanUps);
  await replica.follow(primary);
  const key = await createCaller(database);
  const secret = { SECRET_KEY: randomBytes(32).toString('base64') };
  const servers = { ...secret, DATABASE_URL: urlOf(primary, replica) };
  const near = startApi(servers, cleanUps);
  const far = startApi({ ...servers, DATABASE_READ_URLS: urlOf(replica) }, cleanUps);
  const [onPrimary, onReplica] = [
    createFollower((await near.started).address, key),
    createFollower((await far.started).address, key),
  ];
  const copy = openPool(urlOf(replica), cleanUps);
  const untilSeen = (follow: Follower, cursor: string, name: string) =>
    until(name, giveUpMs, async () => (await follow(cursor)).names.includes(name));

  const { cursor: start } = await onPrimary('now');
  await rename(database, 'one');
  await untilName(copy, 'one');
  await untilSeen(onReplica, start, 'one');
  await untilFollowed(onReplica, start, copy);
  const one = await onReplica(start);
  assert.deepEqual(await onPrimary(one.cursor), { status: 200, names: [], cursor: one.cursor });

  await sql`select pg_wal_replay_pause()`.execute(copy);
  await rename(database, 'two');
  await untilSeen(onPrimary, one.cursor, 'two');
  const two = await onPrimary(one.cursor);
  const nothing = { status: 200, names: [], cursor: two.cursor };
  assert.deepEqual(await onReplica(two.cursor), nothing, 'of a change that the replica lacks');
  await untilSeen(onReplica, one.cursor, 'two');
  assert.deepEqual(await onReplica(one.cursor), two);
  await sql`select pg_wal_replay_resume()`.execute(copy);
  await untilName(copy, 'two');
  assert.deepEqual(await onReplica(one.cursor), two);

  await primary.kill();
  await replica.promote();
  for (const follow of [onPrimary, onReplica]) {
    const seen: string[] = [];
    await until('the new primary', giveUpMs, async () => {
      const { status, names } = await follow(two.cursor);
      seen.push(...names);
      return status === 410;
    });
    assert.deepEqual(seen, [], 'with a cursor of the old primary');
    const { cursor } = await follow('now');
    await rename(copy, `after ${cursor}`);
    await untilSeen(follow, cursor, `after ${cursor}`);
  }
});

test('a cursor of an event that a failover has lost goes on with the first event after it', async (t) => {
  const cleanUps = cleanUpsOf(t);
  const [first, next] = [await startPrimary('first'), await createServer('next')];
  const network = await startProxy({ host: '127.0.0.1', port: first.port });
  cleanUps.defer(network.close);
  const database = await openServer(urlOf(first), cleanUps);
  await next.follow(network);
  await put(database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
  const { key } = await makeAppKey(database, 'read:events');
  const databases = { DATABASE_URL: urlOf(first, next), ROLES: 'api,worker' };
  const { address } = await startApi(databases, cleanUps).started;
  const client = createClient({ baseUrl: address, apiKey: key });
  const untilListed = async (id: string, after: string | null) => {
    const seen: string[] = [];
    for (let from = after; ;) {
      // The primary may be away.
      const page = await client.events.list({ after: from }).catch(() => null);
      if (page) seen.push(...page.data.map((event) => event.id));
      from = page?.pagination.nextCursor ?? from;
      if (seen.includes(id)) return { seen, cursor: from };
      await wait(writePauseMs);
    }
  };
  const kept = await announce(database);
  await untilListed(kept, null);
  const copy = openPool(urlOf(next), cleanUps);
  const copied = sql`select from events where id = ${kept}`;
  await until('the copy', giveUpMs, async () => !(await isEmpty(copy, copied)));
  network.cut();
  // PostgreSQL writes 32 numbers of a sequence ahead.
  let lost = '';
  for (let events = 0; events < 70; events += 1) lost = await announce(database);
  const { cursor } = await untilListed(lost, null);
  const streamed: string[] = [];
  const following = new AbortController();
  cleanUps.defer(() => following.abort());
  void (async () => {
    for await (const page of client.events.follow({ after: cursor }, { signal: following.signal }))
      streamed.push(...page.data.map(({ id }) => id));
  })().catch(() => {});
  await first.kill();
  await next.promote();
  const after = [await announce(copy), await announce(copy)];
  assert.deepEqual((await untilListed(after[1] ?? '', cursor)).seen, after);
  await until('the stream', giveUpMs, async () => streamed.length >= after.length);
  assert.deepEqual(streamed, after);
});

test('a replica of another cluster stops the start with one line', async (t) => {
  const [own, other] = [await startPrimary('own'), await startPrimary('other')];
  const databases = { DATABASE_URL: urlOf(own), DATABASE_READ_URLS: urlOf(other) };
  const api = startApi(databases, cleanUpsOf(t));
  assert.equal((await api.ended).code, 1);
  assert.match(
    api.stderr(),
    /DATABASE_READ_URLS names 127\.0\.0\.1:\d+, which is not a replica of the database in DATABASE_URL/,
  );
});

type Follower = (cursor: string) => Promise<{ status: number; names: string[]; cursor: string }>;

function createFollower(address: string, key: string): Follower {
  let count = 0;
  return async (changedSince) => {
    // No response of before comes from the cache.
    const query = new URLSearchParams({ changedSince, limit: String((count++ % 100) + 1) });
    const response = await fetch(`${address}/api/v1/orgs?${query.toString()}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const { data = [], meta } = (await response.json()) as {
      data?: { name: string }[];
      meta?: { changes: { nextCursor: string } };
    };
    const names = data.map(({ name }) => name);
    return { status: response.status, names, cursor: meta?.changes.nextCursor ?? '' };
  };
}

/** Resolves when a read of changes ran on the replica. */
async function untilFollowed(follow: Follower, cursor: string, replica: Database): Promise<void> {
  const reading = sql`
    select from pg_stat_activity
    where application_name like 'orgdir reads%' and query like '%entry_changes%'
  `;
  await until('a read of changes', giveUpMs, async () => {
    await follow(cursor);
    return !(await isEmpty(replica, reading));
  });
}

async function createCaller(database: Database): Promise<string> {
  await put(database, 'orgs', [{ slug: 'acme', name: '0' }]);
  return (await makeAppKey(database, 'read:directory')).key;
}

async function rename(database: Database, name: string): Promise<void> {
  await sql`update orgs set name = ${name} where slug = 'acme'`.execute(database);
}

/** Resolves when a server has the entry under this name. */
async function untilName(database: Database, name: string): Promise<void> {
  const named = sql`select from orgs where slug = 'acme' and name = ${name}`;
  await until(name, giveUpMs, async () => !(await isEmpty(database, named)));
}

/** Resolves when the service reads from a replica. */
async function untilRead(replica: Database): Promise<void> {
  const reading = sql`
    select from pg_stat_activity
    where application_name like 'orgdir reads%' and query like '%from revisions r%' and state_change > now() - interval '1 second'
  `;
  await until('a read', giveUpMs, async () => !(await isEmpty(replica, reading)));
}

type Page = { status: number; text: string; name: string; from: number; tookMs: number };

/** Reads the page of an entry again and again, with so many readers. Returns how to stop. */
function readRepeatedly(
  address: string,
  { key, readers }: { key: string; readers: number },
  note: (page: Page) => void,
): () => Promise<void> {
  const pool = new Pool(address, { connections: readers });
  const request = {
    method: 'GET',
    path: '/api/v1/orgs/acme',
    headers: { authorization: `Bearer ${key}` },
  } as const;
  let stopped = false;

  async function read(): Promise<void> {
    while (!stopped) {
      const from = performance.now();
      const { statusCode: status, body } = await pool.request(request);
      const text = await body.text();
      const { data } = JSON.parse(text) as { data?: { name: string } };
      note({ status, text, name: data?.name ?? '', from, tookMs: performance.now() - from });
    }
  }

  const reading = Promise.all(Array.from({ length: readers }, read));
  return async () => {
    stopped = true;
    await reading;
    await pool.close();
  };
}

/** Writes a number into an entry again and again, and reads its page: how old is the number that it shows? */
function observePages(database: Database, address: string, key: string) {
  /** When each number was committed at the latest. */
  const committedAt: number[] = [performance.now()];
  const seen = { count: 0, oldestMs: 0, slowestMs: 0, wrong: [] as string[] };
  const stopping = new AbortController();

  async function write(): Promise<void> {
    while (!stopping.signal.aborted) {
      await rename(database, String(committedAt.length));
      committedAt.push(performance.now());
      await wait(writePauseMs);
    }
  }

  const writing = write();
  const stopReading = readRepeatedly(address, { key, readers: 4 }, (page) => {
    seen.count += 1;
    seen.slowestMs = Math.max(seen.slowestMs, page.tookMs);
    if (page.status !== 200) seen.wrong.push(`${page.status} ${page.text}`);
    const replacedAt = committedAt[Number(page.name) + 1];
    if (replacedAt !== undefined && page.status === 200)
      seen.oldestMs = Math.max(seen.oldestMs, page.from - replacedAt);
  });
  return async () => {
    stopping.abort();
    await Promise.all([writing, stopReading()]);
    return seen;
  };
}
