/** One limit per key over several processes on one database. */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { createKey } from '../../src/access/keys.ts';
import { leaseRequests } from '../../src/access/rate-windows.ts';
import { KeyCounter } from '../../src/http/admission/key-counter.ts';
import { sql, type Database } from '../../src/database/database.ts';
import type { Usage } from '../../src/http/admission/rate-limit.ts';
import { testActor } from '../support/actor.ts';
import { startCommand } from '../support/command.ts';
import { openCuttableDatabase } from '../support/cuttable-database.ts';
import { openTestDatabase, toUrl } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { makeKey, startTestService, testPublicUrl } from '../support/service.ts';

const opened = await openTestDatabase();

async function startProcess(): Promise<string> {
  const command = startCommand(['serve'], {
    env: {
      DATABASE_URL: toUrl(opened.connection),
      SECRET_KEY: randomBytes(32).toString('base64'),
      PUBLIC_URL: testPublicUrl,
      RATE_LIMIT_PER_MINUTE: String(perMinute),
      ROLES: 'api',
    },
  });
  after(async () => {
    command.signal('SIGKILL');
    await command.ended;
  });
  return (await command.waitFor(/^Serving at (\S+)/m))[1] ?? '';
}

const perMinute = 300;
const urls = await Promise.all([1, 2, 3].map(startProcess));

async function call(url: string, key: string) {
  const { status, headers } = await fetch(`${url}/api/v1/orgs`, {
    headers: { authorization: `Bearer ${key}` },
  });
  const read = (name: string) => Number(headers.get(`x-ratelimit-${name}`));
  return { status, remaining: read('remaining'), reset: read('reset') };
}

/** A counter of a process among others. */
function createCounter(limit: number, database: Database = opened.database) {
  const apiProcesses = { isAlone: () => false, onCompany: () => {} };
  const counter = new KeyCounter(limit, { database, apiProcesses });
  return (keyId: string) => counter.count(keyId);
}

async function countTimes(
  count: ReturnType<typeof createCounter>,
  keyId: string,
  times: number,
): Promise<Usage[]> {
  return Promise.all(Array.from({ length: times }, async () => count(keyId)));
}

const admitted = (usages: Usage[]) => usages.filter(({ exceeded }) => !exceeded).length;

test('three processes share one limit per key, and their headers agree', async () => {
  const { key } = await makeKey(opened);
  const resets = new Set<number>();
  let served = 0;
  for (let round = 0; round < 50; round += 1) {
    const sent = urls.flatMap((url) => Array.from({ length: 5 }, () => call(url, key)));
    for (const { status, remaining, reset } of await Promise.all(sent)) {
      resets.add(reset);
      if (status === 200) served += 1;
      else assert.deepEqual([status, remaining], [429, 0]);
    }
    // Another process may have leased a chunk that it has not used, and this one may not know of its last lease.
    const { remaining } = await call(urls[round % 3] ?? '', key).then((answer) => {
      if (answer.status === 200) served += 1;
      return answer;
    });
    assert.ok(remaining <= Math.max(0, perMinute - served) + 18, `${remaining} after ${served}`);
  }
  assert.ok(served <= perMinute, `${served} of ${perMinute} requests were served`);
  assert.ok(served >= perMinute * 0.95, `${served} of ${perMinute} requests were served`);
  assert.ok(Math.max(...resets) - Math.min(...resets) <= 1, 'the minute ends everywhere at once');
});

test('three processes share one limit per app over all its keys', async () => {
  const { appId, key } = await makeKey(opened);
  const input = { appId, name: 'Another', scopes: ['read:directory'], expiresAt: null };
  const keys = [key];
  for (let index = 0; index < 3; index += 1)
    keys.push(
      await opened.database
        .transaction()
        .execute(async (tx) => (await createKey(tx, testActor, input)).key),
    );
  let served = 0;
  for (let round = 0; round < 70; round += 1) {
    const sent = urls.flatMap((url) => keys.map((each) => call(url, each)));
    for (const { status } of await Promise.all(sent)) if (status === 200) served += 1;
  }
  assert.ok(served <= 2 * perMinute, `${served} requests were served`);
  assert.ok(served >= 2 * perMinute * 0.9, `${served} requests were served`);
});

test('a process that is alone writes nothing, and hands over its counts when another starts', async () => {
  const env = { RATE_LIMIT_PER_MINUTE: '100' };
  const beside = await openTestDatabase();
  const first = await startTestService({ beside, env });
  await eventually(async () => first.apiProcesses.isAlone());
  const remaining = async (service: typeof first) =>
    Number((await service.call('/orgs', { key: first.key })).headers.get('x-ratelimit-remaining'));
  for (let left = 99; left >= 50; left -= 1) assert.equal(await remaining(first), left);
  const windows = async () => {
    const { rows } = await sql<{ used: number }>`select used from rate_windows`.execute(
      beside.database,
    );
    return rows.length;
  };
  assert.equal(await windows(), 0);

  const second = await startTestService({ beside, env });
  // The key's and the app's.
  await eventually(async () => (await windows()) === 2);
  // Each has leased one request in advance.
  assert.equal(await remaining(second), 48);
  assert.equal(await remaining(first), 49);
});

test('random requests over several processes never exceed the limit, nor leave much of it', async (t) => {
  const { setTimeout: later } = globalThis;
  // However slow the database is, no process counts as if it were away.
  t.mock.method(globalThis, 'setTimeout', (act: () => void, ms?: number) =>
    later(act, ms === 1_000 ? 60_000 : ms),
  );
  for (const limit of [1, 7, 100, 600, 2_500]) {
    const counters = Array.from({ length: 5 }, () => createCounter(limit));
    const keys = [randomUUID(), randomUUID(), randomUUID()];
    const served = new Map<string, number>(keys.map((key) => [key, 0]));
    let sent = 0;
    while (sent < limit * keys.length * 2) {
      const bursts = counters.flatMap((count) => {
        const key = keys[Math.floor(Math.random() * keys.length)] as string;
        const times = Math.ceil(Math.random() * Math.max(4, limit / 20));
        sent += times;
        return [{ key, usages: countTimes(count, key, times) }];
      });
      for (const { key, usages } of bursts)
        served.set(key, (served.get(key) ?? 0) + admitted(await usages));
    }
    // A process may keep a chunk, and always keeps at least one request.
    const unused = counters.length * Math.max(1, limit / 100);
    for (const total of served.values()) {
      assert.ok(total <= limit, `${total} of ${limit}`);
      assert.ok(total >= limit - unused, `${total} of ${limit}`);
    }
  }
});

test('of a small limit, processes reserve nothing in advance', async () => {
  const counters = Array.from({ length: 6 }, () => createCounter(6));
  const keyId = randomUUID();
  for (const count of counters) assert.equal((await count(keyId)).exceeded, false);
  assert.equal((await counters[0]?.(keyId))?.exceeded, true);
});

test('a lease gets at most a tenth of what is left, so that no process takes all at once', async () => {
  const keyId = randomUUID();
  const request = { keyId, debt: 0, wanted: 600, leftMs: 60_000 };
  const granted: (number | undefined)[] = [];
  for (let lease = 0; lease < 3; lease += 1)
    granted.push((await leaseRequests(opened.database, 600, [request]))[0]?.granted);
  assert.deepEqual(granted, [60, 54, 49]);
});

test('the minute ends by the clock of the database', async () => {
  const beside = await openTestDatabase();
  const [one, other] = [createCounter(10, beside.database), createCounter(10, beside.database)];
  const keyId = randomUUID();
  assert.equal(admitted(await countTimes(one, keyId, 20)), 10);
  assert.equal(admitted(await countTimes(other, keyId, 5)), 0);
  await sql`update rate_windows set ends_at = queue_now() + interval '2 seconds'`.execute(
    beside.database,
  );
  const third = createCounter(10, beside.database);
  const [{ exceeded, resetAt } = { exceeded: false, resetAt: 0 }] = await countTimes(
    third,
    keyId,
    1,
  );
  assert.ok(exceeded && resetAt - Date.now() <= 2_000, 'it learns when the minute ends');
  await eventually(async () => !(await third(keyId)).exceeded);
  assert.equal(admitted(await countTimes(third, keyId, 20)), 9);
});

test('a clock that was set back locks no key out', async (t) => {
  const beside = await openTestDatabase();
  const keyId = randomUUID();
  let now = Date.now();
  t.mock.method(Date, 'now', () => now);
  const count = createCounter(10, beside.database);
  assert.equal(admitted(await countTimes(count, keyId, 20)), 10);
  now -= 3_600_000;
  await sql`update rate_windows set ends_at = queue_now() + interval '1 hour'`.execute(
    beside.database,
  );
  const again = admitted(await countTimes(count, keyId, 20));
  // A lease that was on its way may have taken one for the hour before.
  assert.ok(again === 9 || again === 10, `${again} requests were admitted`);
});

test('no request waits for as many leases as a slow database needs', async () => {
  const { database } = await openTestDatabase();
  await sql`
    create function be_slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.3); return new; end $$
  `.execute(database);
  await sql`
    create trigger be_slow before insert or update on rate_windows for each row execute function be_slow()
  `.execute(database);
  const count = createCounter(10, database);
  const keyId = randomUUID();
  assert.equal(admitted(await countTimes(count, keyId, 20)), 10);
  const used = await usedOf(keyId, database);
  assert.ok(used < 10, `waited for leases of ${used} requests`);
  await eventually(async () => (await usedOf(keyId, database)) === 10);
});

test('deleting ended minutes delays no lease', async () => {
  const { database } = await openTestDatabase();
  await sql`
    insert into rate_windows (key_id, ends_at, used, granted)
    values (${randomUUID()}, queue_now() - interval '1 day', 1, 1)
  `.execute(database);
  await database.transaction().execute(async (tx) => {
    await sql`select from rate_windows for update`.execute(tx);
    const count = createCounter(600, database);
    for (const keyId of [randomUUID(), randomUUID()]) {
      await count(keyId);
      assert.ok((await usedOf(keyId, database)) > 0, 'leased');
    }
  });
});

test('each process counts by itself while the database is away, and reports that when it is back', async () => {
  const { opened: away, cut, mend, freeze, thaw } = await openCuttableDatabase(opened);
  const [cuttable, other] = [createCounter(600, away.database), createCounter(600)];
  const keyId = randomUUID();
  assert.equal(admitted(await countTimes(other, keyId, 100)), 100);
  assert.equal(admitted(await countTimes(cuttable, keyId, 100)), 100);
  let expected = 200;
  for (const [stop, start] of [
    [cut, mend],
    [freeze, thaw],
  ] as const) {
    stop();
    assert.equal(admitted(await countTimes(cuttable, keyId, 100)), 100);
    start();
    const before = expected;
    expected += 100;
    await eventually(async () => (await usedOf(keyId)) > before + 50);
  }
  assert.ok(admitted(await countTimes(other, keyId, 600)) <= 200);
});

async function usedOf(keyId: string, database = opened.database): Promise<number> {
  const { rows } = await sql<{ used: number }>`
    select used from rate_windows where key_id = ${keyId}
  `.execute(database);
  return rows[0]?.used ?? 0;
}
