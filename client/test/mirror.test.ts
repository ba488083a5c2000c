/** A copy stays right, whatever happens to the directory, the connection and the program. */
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { sql } from '../../service/src/database/database.ts';
import {
  dropOldEntryChanges,
  foldEntryChanges,
} from '../../service/src/directory/fold-entry-changes.ts';
import { blueprint, put } from '../../service/test/support/directory.ts';
import { openTestDatabase } from '../../service/test/support/database.ts';
import { eventually } from '../../service/test/support/eventually.ts';
import { startTestService } from '../../service/test/support/service.ts';
import {
  createClient,
  UnexpectedResponseError,
  type ApiError,
  type MirrorKind,
  type MirrorOptions,
  type MirrorStore,
} from '@orgdir/client';
import { createMemoryStore, type MemoryStore } from './support/memory-store.ts';

/** `MIRROR_SECONDS=60` edits for a minute. */
const editMs = Number(process.env['MIRROR_SECONDS'] ?? '5') * 1_000;
const kinds = ['orgs', 'alliances', 'blueprints'] as const;

const shared = await openTestDatabase();
const service = await startTestService({ beside: shared, worker: true });
const second = await startTestService({ beside: { ...shared, secretKeys: service.secretKeys } });
/** Made no download while there were changes that have been dropped since. */
const later = await startTestService({ beside: { ...shared, secretKeys: service.secretKeys } });
const processes = [service, second];
const { database } = service;

let requests = 0;
/** Set while each third request fails. */
let isBroken = false;
const client = createClient({
  baseUrl: 'http://directory.test',
  apiKey: service.key,
  retries: 0,
  // Every request goes to the other process than the one before.
  async fetch(input, init) {
    requests += 1;
    if (isBroken && requests % 3 === 0) throw new TypeError('the connection was lost');
    const { url } = processes[requests % processes.length] ?? service;
    return fetch((input as string).replace('http://directory.test', url), init);
  },
});

/** Starts a mirror and returns how to stop it. */
function startMirror(
  store: MirrorStore,
  options: Partial<MirrorOptions> = {},
  of = client,
): () => Promise<void> {
  const stop = new AbortController();
  const ended = of.mirror({ store, pollMs: 100, signal: stop.signal, ...options }).then(
    () => assert.fail('a mirror never resolves'),
    (error: unknown) => assert.equal(error, stop.signal.reason),
  );
  return () => {
    stop.abort(new Error('stopped'));
    return ended;
  };
}

async function listed(kind: MirrorKind): Promise<object[]> {
  const entries = await Array.fromAsync<{ id: string }>(client[kind].all({ sort: 'createdAt' }));
  return entries.sort(byId);
}
const byId = (one: { id: string }, other: { id: string }) => (one.id < other.id ? -1 : 1);
const isRight = async (store: MemoryStore) => {
  for (const kind of kinds) {
    const copy = [...store.copies[kind].values()].sort(byId);
    if (JSON.stringify(copy) !== JSON.stringify(await listed(kind))) return false;
  }
  return true;
};
const settled = async (store: MemoryStore) => {
  for (const each of processes) await each.settled();
  await eventually(() => isRight(store));
};

/** Two at the same time, for as long as `until` says. */
async function edit(until: number): Promise<void> {
  const random = (max: number) => Math.floor(Math.random() * max);
  const one = async () => {
    const [slug, value] = [`org-${random(30)}`, random(1_000)];
    const edits = [
      () => put(database, 'orgs', [{ slug, name: `${slug} ${value}`, listed: value % 3 > 0 }]),
      () => put(database, 'orgs', [{ slug, name: slug, alliance: `alliance-${random(3)}` }]),
      () => sql`update orgs set listed = not listed where slug = ${slug}`.execute(database),
      () => sql`update orgs set notes = ${value} where slug = ${slug}`.execute(database),
      () => sql`delete from orgs where slug = ${slug}`.execute(database),
      () => put(database, 'alliances', [{ slug: `alliance-${random(3)}`, name: `A ${value}` }]),
      () =>
        put(database, 'blueprints', [blueprint({ key: `key-${random(9)}`, version: `${value}` })]),
      () => sql`delete from blueprints where key = ${`key-${random(9)}`}`.execute(database),
    ];
    await edits[random(edits.length)]?.();
  };
  while (performance.now() < until) {
    await Promise.all([one(), one()]);
    await wait(random(50));
  }
}

await put(
  database,
  'alliances',
  [0, 1, 2].map((number) => ({ slug: `alliance-${number}`, name: `Alliance ${number}` })),
);
await put(
  database,
  'orgs',
  Array.from({ length: 250 }, (_, number) => ({ slug: `first-${number}`, name: `${number}` })),
);
for (const each of processes) await each.settled();

test('a copy is right after random edits on two processes, lost connections and restarts', async () => {
  const store = createMemoryStore();
  let stop = startMirror(store);
  isBroken = true;
  const start = performance.now();
  for (let part = 1; part <= 4; part += 1) {
    await edit(start + (editMs * part) / 4);
    await stop();
    stop = startMirror(store);
  }
  isBroken = false;
  await settled(store);
  await stop();
  assert.deepEqual(store.replaced.sort(), [...kinds].sort(), 'each list was downloaded once');
});

test('a mirror begins again when its cursor is too old', async () => {
  const store = createMemoryStore();
  let stop = startMirror(store);
  await settled(store);
  await stop();
  // While it folds, these calls do nothing.
  await service.worker.stop();
  await sql`delete from orgs where slug = 'first-0'`.execute(database);
  while ((await foldEntryChanges(database)).more);
  await sql`update entry_changes set at = now() - interval '1 year'`.execute(database);
  while (await dropOldEntryChanges(database));
  processes.splice(0, 2, later);
  stop = startMirror(store);
  await settled(store);
  await stop();
  assert.equal(store.replaced.filter((kind) => kind === 'orgs').length, 2);
});

test('a store may take its time before it reads what is downloaded', async (t) => {
  setFlagsFromString('--expose-gc');
  t.after(() => setFlagsFromString('--no-expose-gc'));
  const collect = runInNewContext('gc') as () => void;
  const store = createMemoryStore();
  const slow: MirrorStore = {
    ...store,
    async replace(kind, batches, cursor) {
      await wait(10);
      collect();
      await wait(10);
      await store.replace(kind, batches, cursor);
    },
  };
  // The client's signal keeps the response alive, but not every `fetch` of a caller takes it.
  const withoutSignal: typeof fetch = (input, init) => fetch(input, { ...init, signal: null });
  const options = { baseUrl: service.url, apiKey: service.key, fetch: withoutSignal };
  const stop = startMirror(slow, { kinds: ['orgs'] }, createClient(options));
  await eventually(async () => store.replaced.length === 1);
  await stop();
  // Of the 250 one may be gone, and others are new: a download may be a minute old.
  assert.ok(store.copies.orgs.size >= 249);
});

test('a mirror that is woken does not wait for its pause', async () => {
  const store = createMemoryStore();
  const wake = new EventTarget();
  const stop = startMirror(store, { wake, pollMs: 3_600_000 });
  await settled(store);
  for (const name of ['Woken', 'Woken again']) {
    await put(database, 'orgs', [{ slug: 'first-1', name }]);
    await eventually(async () => {
      wake.dispatchEvent(new Event('change'));
      return isRight(store);
    });
  }
  await stop();
});

/** A mirror of a service that answers with `hasMore` as it is told. `asked` grows with each request. */
function startScriptedMirror(
  answer: (kind: MirrorKind, count: number) => { hasMore: boolean },
  options: Partial<MirrorOptions> = {},
) {
  const asked: MirrorKind[] = [];
  const scripted = createClient({
    baseUrl: 'http://directory.test',
    retries: 0,
    async fetch(input) {
      const kind = new URL(input).pathname.split('/').at(-1) as MirrorKind;
      const count = asked.push(kind);
      const changes = { removed: [], nextCursor: `${count}`, ...answer(kind, count) };
      return Response.json({ success: true, data: [], meta: { changes } });
    },
  });
  const store: MirrorStore = { cursor: () => '0', replace: () => {}, apply: () => {} };
  return { asked, stop: startMirror(store, options, scripted) };
}

test('a list is read to its end before the next one, and one that fails leaves the next round to the others', async () => {
  const { asked, stop } = startScriptedMirror((kind, count) => {
    if (kind === 'orgs' && count > 3) throw new TypeError('the connection was lost');
    return { hasMore: kind === 'orgs' };
  });
  await eventually(async () => asked.length >= 8);
  await stop();
  const fails = ['alliances', 'blueprints', 'orgs'];
  assert.deepEqual(asked.slice(0, 8), [...Array(4).fill('orgs'), ...fails, 'alliances']);
});

test('a mirror that is woken again and again asks once per second', async (t) => {
  const wake = new EventTarget();
  const waking = setInterval(() => wake.dispatchEvent(new Event('change')), 20);
  t.after(() => clearInterval(waking));
  const startedAt = performance.now();
  const { asked, stop } = startScriptedMirror(() => ({ hasMore: false }), {
    wake,
    pollMs: 3_600_000,
    kinds: ['orgs'],
  });
  await eventually(async () => asked.length >= 3);
  // Timers may fire a millisecond early.
  assert.ok(performance.now() - startedAt > 1_990);
  await stop();
});

test('a mirror ends with an error of its store, and with one that stays', async () => {
  const store = createMemoryStore();
  const fault = new Error('disk full');
  await assert.rejects(
    client.mirror({ store: { ...store, replace: () => Promise.reject(fault) } }),
    fault,
  );
  const stranger = createClient({ baseUrl: service.url, apiKey: 'odk_unknown' });
  await assert.rejects(stranger.mirror({ store }), { code: 'unauthorized' });
  await assert.rejects(client.mirror({ store, kinds: [] }), TypeError);
});

const page = { status: 200, headers: { 'content-type': 'text/html' } };
const notTheService: (() => Response)[] = [
  () => new Response('<title>Sign in</title>', page),
  () => new Response('{"success":true,"da', { headers: { 'content-type': 'application/json' } }),
  () => new Response(''),
  () => new Response('', { status: 302, headers: { location: 'http://portal.test' } }),
  () => new Response('<p>Who are you?</p>', { ...page, status: 407 }),
  () => new Response('<p>Sign in</p>', { ...page, status: 511 }),
];

test('a mirror waits out what responds in the place of the service', async () => {
  const store = createMemoryStore();
  let odd: (() => Response)[] = [];
  const between = createClient({
    baseUrl: later.url,
    apiKey: service.key,
    retries: 0,
    fetch: async (input, init) => odd.shift()?.() ?? fetch(input, init),
  });
  const failures: string[] = [];
  const stop = startMirror(store, { onFailure: ({ name }) => failures.push(name) }, between);
  await eventually(() => isRight(store));
  odd = [...notTheService];
  await put(database, 'orgs', [{ slug: 'behind-a-portal', name: 'Behind a portal' }]);
  await eventually(async () => odd.length === 0 && (await isRight(store)));
  await stop();
  assert.deepEqual([...new Set(failures)], ['UnexpectedResponseError']);
  assert.equal(failures.length, notTheService.length);

  // A download that a page breaks off is begun again.
  odd = [() => new Response('<p>\n</p>\n', { headers: { 'x-next-cursor': 'x' } })];
  const begun = createMemoryStore();
  const stopAgain = startMirror(begun, {}, between);
  await eventually(() => isRight(begun));
  await stopAgain();
});

const brokenService = () =>
  Response.json(
    { success: false, error: { code: 'internal_error', message: 'Something went wrong.' } },
    { status: 500 },
  );

test('a mirror that has read something waits out an error of the service', async () => {
  const store = createMemoryStore();
  let broken = 0;
  const failing = createClient({
    baseUrl: later.url,
    apiKey: service.key,
    retries: 0,
    fetch: async (input, init) => (broken-- > 0 ? brokenService() : fetch(input, init)),
  });
  const codes: unknown[] = [];
  const onFailure = (error: unknown) => codes.push((error as ApiError).code);
  const stop = startMirror(store, { onFailure }, failing);
  await eventually(() => isRight(store));
  broken = 2;
  await put(database, 'orgs', [{ slug: 'after-an-error', name: 'After an error' }]);
  // A response that was on its way may have had it.
  await eventually(async () => broken <= 0 && (await isRight(store)));
  await stop();
  assert.deepEqual(codes, ['internal_error', 'internal_error']);

  broken = Infinity;
  await assert.rejects(failing.mirror({ store }), { code: 'internal_error' });
});

test('a mirror ends if the service has moved for good', async () => {
  let hasMoved = false;
  const moved = () =>
    new Response('', { status: 308, headers: { location: 'https://example.org' } });
  const from = createClient({
    baseUrl: later.url,
    apiKey: service.key,
    fetch: async (input, init) => (hasMoved ? moved() : fetch(input, init)),
  });
  const store = createMemoryStore();
  const ended = from.mirror({ store, pollMs: 100 });
  await eventually(() => isRight(store));
  hasMoved = true;
  await assert.rejects(ended, /the response is a redirect; set baseUrl to its target/);
});

test('a mirror that has read nothing of the service ends, and says what came', async () => {
  for (const answer of notTheService) {
    const other = createClient({ baseUrl: 'http://directory.test', fetch: async () => answer() });
    await assert.rejects(other.mirror({ store: createMemoryStore() }), UnexpectedResponseError);
  }
});

test('a mirror waits an hour at most, whatever Retry-After says', async (t) => {
  const waits: number[] = [];
  const { setTimeout: startTimer } = globalThis;
  t.mock.method(globalThis, 'setTimeout', (act: () => void, ms: number) => {
    waits.push(ms);
    return startTimer(act, Math.min(ms, 3_600_000));
  });
  const stop = new AbortController();
  let failures = 0;
  const limited = createClient({
    baseUrl: 'http://directory.test',
    retries: 0,
    // Longer than a timer can be: one that is asked to wait longer ends at once.
    fetch: async () => new Response('', { status: 503, headers: { 'retry-after': '2592000' } }),
  });
  const store: MirrorStore = { cursor: () => '0', replace: () => {}, apply: () => {} };
  const onFailure = () => void (failures += 1);
  const ended = limited.mirror({ store, onFailure, signal: stop.signal });
  await eventually(async () => waits.some((ms) => ms >= 3_600_000));
  stop.abort();
  await assert.rejects(ended);
  assert.deepEqual([Math.max(...waits), failures], [3_600_000, 1]);
});

test('a mirror that has ended listens to nobody', async () => {
  const wake = new EventTarget();
  const stranger = createClient({ baseUrl: service.url, apiKey: 'odk_unknown' });
  const { signal } = new AbortController();
  const store = createMemoryStore();
  await assert.rejects(stranger.mirror({ store, wake, signal }), { code: 'unauthorized' });
  assert.deepEqual(getEventListeners(wake, 'change'), []);
});
