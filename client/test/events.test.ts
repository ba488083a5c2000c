import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { suspend } from '../../service/src/access/suspensions.ts';
import { testActor } from '../../service/test/support/actor.ts';
import { put } from '../../service/test/support/directory.ts';
import { eventually } from '../../service/test/support/eventually.ts';
import { startProxy } from '../../service/test/support/proxy.ts';
import { makeKey, startTestService } from '../../service/test/support/service.ts';
import { startScriptedServer } from './support/scripted-server.ts';
import {
  ApiError,
  createClient,
  NetworkError,
  UnexpectedResponseError,
  type DirectoryEvent,
} from '@orgdir/client';

const service = await startTestService({ worker: true });
const client = createClient({ baseUrl: service.url, apiKey: service.key });

const announce = (...names: string[]) =>
  put(
    service.database,
    'orgs',
    names.map((name) => ({ name })),
    { emitEvents: true },
  );
const nameOf = (event: DirectoryEvent) => (event.event === 'org.created' ? event.data.name : null);

test('follow yields pages of events and continues from a cursor', async () => {
  const seen: (string | null)[] = [];
  let kept: string | null = null;
  await announce('One', 'Two', 'Three');
  for await (const page of client.events.follow({ limit: 2, pollMs: 100 })) {
    assert.ok(page.data.length <= 2);
    seen.push(...page.data.map(nameOf));
    kept = page.pagination.nextCursor;
    if (seen.length === 3) await announce('Four');
    if (seen.length === 4) break;
  }
  assert.deepEqual(seen.toSorted(), ['Four', 'One', 'Three', 'Two']);

  await announce('Five');
  for await (const page of client.events.follow({ after: kept, pollMs: 100 })) {
    assert.deepEqual(page.data.map(nameOf), ['Five']);
    break;
  }
});

test('all iterates over events in order', async () => {
  const all: string[] = [];
  for await (const event of client.events.all({ limit: 2 })) all.push(event.id);
  const { data, pagination } = await client.events.list({ limit: 100 });
  assert.deepEqual(
    all,
    data.map(({ id }) => id),
  );
  const rest = client.events.all({ after: pagination.nextCursor });
  assert.equal((await rest.next()).done, true);
});

test('a signal ends follow, also while it waits', async () => {
  const controller = new AbortController();
  const { pagination } = await client.events.list({ limit: 100 });
  let asked: () => void = () => {};
  const waits = new Promise<void>((resolve) => (asked = resolve));
  const watched = createClient({
    baseUrl: service.url,
    apiKey: service.key,
    fetch: async (input, init) => {
      const answer = await fetch(input, init);
      setImmediate(asked);
      return answer;
    },
  });
  const query = { after: pagination.nextCursor, pollMs: 600_000 };
  const next = watched.events.follow(query, { signal: controller.signal }).next();
  await waits;
  controller.abort('stop');
  await assert.rejects(next, (reason) => reason === 'stop');
});

test('follow waits out temporary failures only', async () => {
  const { hostname, port } = new URL(service.url);
  const proxy = await startProxy({ host: hostname, port: Number(port) });
  after(() => proxy.close());
  const baseUrl = `http://127.0.0.1:${proxy.port}`;
  let failures = 0;
  const watched = createClient({
    baseUrl,
    apiKey: service.key,
    retries: 0,
    fetch: (input, init) =>
      fetch(input, init).catch((error: unknown) => {
        failures += 1;
        // The second request shows that it keeps polling.
        if (failures === 2) proxy.mend();
        throw error;
      }),
  });
  const { pagination } = await client.events.list({ limit: 100 });
  const query = { after: pagination.nextCursor, pollMs: 100 };
  const next = watched.events.follow(query).next();
  proxy.cut();
  await announce('After the break');
  assert.deepEqual((await next).value?.data.map(nameOf), ['After the break']);
  assert.equal(failures, 2);

  proxy.cut();
  await assert.rejects(watched.events.follow({ ...query, patienceMs: 0 }).next(), NetworkError);
  const stranger = createClient({ baseUrl: service.url, apiKey: 'odk_nobody' });
  await assert.rejects(stranger.events.follow().next(), ApiError);
});

test('follow waits out what responds in the place of the service', async () => {
  const odd = [
    () => new Response('<title>Sign in</title>', { headers: { 'content-type': 'text/html' } }),
    () => new Response('{"success":true,"da'),
    () => new Response('<p>Sign in</p>', { status: 511 }),
    () => new Response('<p>Who are you?</p>', { status: 407 }),
    () => Response.json({ error: { code: 'internal_error', message: '' } }, { status: 500 }),
  ];
  const { pagination } = await client.events.list({ limit: 100 });
  const behind = (...first: (() => undefined)[]) => {
    const left = [...first, ...odd];
    return createClient({
      baseUrl: service.url,
      apiKey: service.key,
      fetch: async (input, init) => left.shift()?.() ?? fetch(input, init),
    });
  };
  const query = { after: pagination.nextCursor, pollMs: 100 };
  const untouched = () => undefined;
  const pages = behind(untouched).events.follow(query);
  const next = pages.next();
  await announce('Behind a portal');
  assert.deepEqual((await next).value?.data.map(nameOf), ['Behind a portal']);
  await pages.return();
  const impatient = behind(untouched).events.follow({ ...query, patienceMs: 0 });
  await impatient.next();
  await assert.rejects(impatient.next(), UnexpectedResponseError);
  // Before anything was read it may be the wrong address.
  await assert.rejects(
    behind().events.follow(query).next(),
    /200, text\/html, beginning with "Sign in"/,
  );
});

const isStream = (input: Parameters<typeof fetch>[0]) =>
  (input instanceof Request ? input.url : input.toString()).includes('/events/stream');

/** How often each of the two operations was asked. */
function counting(fetchAs: typeof fetch = fetch) {
  const asked = { list: 0, stream: 0 };
  const counted = createClient({
    baseUrl: service.url,
    apiKey: service.key,
    fetch: (input, init) => {
      asked[isStream(input) ? 'stream' : 'list'] += 1;
      return fetchAs(input, init);
    },
  });
  return { asked, counted };
}

/** Begins after the newest event, and calls `act` when it waits for more. */
async function nextNames(
  from: typeof client,
  pollMs: number,
  act: () => Promise<unknown>,
): Promise<(string | null)[]> {
  const { pagination } = await client.events.list({ limit: 100 });
  const pages = from.events.follow({ after: pagination.nextCursor, pollMs });
  const next = pages.next();
  await act();
  const names = (await next).value?.data.map(nameOf) ?? [];
  await pages.return();
  return names;
}

test('follow gets events as they come, without polling', async () => {
  const { asked, counted } = counting();
  const open = eventually(async () => asked.stream === 1);
  const names = await nextNames(counted, 3_600_000, async () => {
    await open;
    await announce('Streamed');
  });
  assert.deepEqual(names, ['Streamed']);
  assert.deepEqual(asked, { list: 1, stream: 1 });
});

test('follow polls if there is no stream, or something else in its place', async () => {
  const instead = [
    () => new Response('Not found', { status: 404 }),
    () => new Response('<html>', { headers: { 'content-type': 'text/html' } }),
    () => new Response('retry: 1\n\n', { headers: { 'content-type': 'text/event-stream' } }),
  ];
  for (const [index, answer] of instead.entries()) {
    const { asked, counted } = counting((input, init) =>
      isStream(input) ? Promise.resolve(answer()) : fetch(input, init),
    );
    const names = await nextNames(counted, 100, () => announce(`Polled ${index}`));
    assert.deepEqual(names, [`Polled ${index}`]);
    // It does not ask again for a minute.
    assert.equal(asked.stream, 1);
  }
});

test('follow goes on where a stream broke off, and throws when its key is refused', async () => {
  const { appId, key, keyId } = await makeKey(service);
  const own = createClient({ baseUrl: service.url, apiKey: key });
  const seen: (string | null)[] = [];
  await announce('Before');
  const following = (async () => {
    for await (const { data } of own.events.follow({ pollMs: 100 })) seen.push(...data.map(nameOf));
  })();
  await eventually(async () => seen.at(-1) === 'Before');
  const { database } = service;
  const end = (reason: string) =>
    database
      .transaction()
      .execute((tx) =>
        suspend(tx, testActor, { kind: 'key', id: keyId, appId, details: {} }, reason),
      );
  await announce('Streamed too');
  await eventually(async () => seen.at(-1) === 'Streamed too');
  await end('Leaked.');
  await assert.rejects(
    following,
    (error) => error instanceof ApiError && error.code === 'suspended',
  );
});

test('how long follow keeps trying does not depend on the clock, which may stand still or be set', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
  let failures = Infinity;
  let setByMs = 0;
  const { counted } = counting(async () => {
    if (failures === 0)
      return Response.json({
        success: true,
        data: [],
        pagination: { limit: 1, nextCursor: 'c', hasMore: true },
      });
    failures -= 1;
    t.mock.timers.setTime(Date.now() + setByMs);
    throw new TypeError('the connection was lost');
  });
  const options = { retries: 0, signal: AbortSignal.timeout(10_000) };
  const query = { pollMs: 100, patienceMs: 150 };
  await assert.rejects(counted.events.follow(query, options).next(), NetworkError);

  failures = 2;
  setByMs = 8 * 3_600_000;
  const page = await counted.events.follow({ pollMs: 100 }, options).next();
  assert.equal(page.value?.pagination.nextCursor, 'c');
});

test('follow never polls without a pause', async () => {
  await assert.rejects(client.events.follow({ pollMs: 0 }).next(), RangeError);
});

test('the id of a webhook goes with each page and with the stream', async () => {
  const page =
    '{"success":true,"data":[],"pagination":{"limit":1,"nextCursor":"c","hasMore":false}}';
  const server = await startScriptedServer({ status: 200, body: page });
  const { events } = createClient({ baseUrl: server.url });
  await events.list({ webhook: 'w' });
  for await (const event of events.all({ webhook: 'w' })) assert.fail(event.id);
  const controller = new AbortController();
  const follow = events.follow({ webhook: 'w' }, { signal: controller.signal });
  await follow.next();
  const ended = assert.rejects(follow.next(), { name: 'AbortError' });
  await eventually(async () => server.asked.some(({ url }) => url.includes('/events/stream')));
  controller.abort();
  await ended;
  assert.ok(server.asked.every(({ url }) => url.includes('webhook=w')));
});
