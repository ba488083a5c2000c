/** GET /events/stream sends the events that an app may have as they come, and ends when it may not have them any more. */
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { test } from 'node:test';
import { pino } from 'pino';
import { bindApp, unbindApp } from '../../src/access/bindings.ts';
import { findCallers, revokeKey } from '../../src/access/keys.ts';
import { rotateKey } from '../../src/access/rotate-key.ts';
import { addManager } from '../../src/access/managers.ts';
import { suspend } from '../../src/access/suspensions.ts';
import { sql, type Transaction } from '../../src/database/database.ts';
import { publishEvent } from '../../src/directory/publish-in-groups.ts';
import { createCursors } from '../../src/events/cursors.ts';
import { EventFeed } from '../../src/events/event-feed.ts';
import { endRequests } from '../../src/start/main.ts';
import {
  EventStreams,
  reconnectSeconds,
  streamsPerAddressMax,
  streamsPerAppMax,
  waitingBytesMax,
} from '../../src/http/v1/event-streams.ts';
import { disableMaintenance, enableMaintenance } from '../../src/system/maintenance.ts';
import { testActor } from '../support/actor.ts';
import { toUrl } from '../support/database.ts';
import { announce, put } from '../support/directory.ts';
import { openStream } from '../support/event-stream.ts';
import { eventually } from '../support/eventually.ts';
import { samples } from '../support/samples.ts';
import { makeKey, startTestService, testPublicUrl } from '../support/service.ts';
import { startProcess } from '../support/start-process.ts';

const service = await startTestService({ worker: true });
const { database, url } = service;
await put(database, 'orgs', [
  { slug: 'acme', name: 'Acme' },
  { slug: 'other', name: 'Other' },
]);

const inTransaction = <T>(work: (tx: Transaction) => Promise<T>) =>
  database.transaction().execute(work);
const publish = (name: string, org: string, data: object) =>
  inTransaction((tx) =>
    publishEvent(tx, { name, org, alliance: null, data, publicUrl: testPublicUrl }),
  );
const created = { name: 'org.created', alliance: null, data: null, publicUrl: testPublicUrl };
/** Publishes events with this text as their data, as another release might. */
const publishAs = (data: string, count = 1) =>
  inTransaction(async (tx) => {
    const ids: string[] = [];
    while (ids.length < count) ids.push(await publishEvent(tx, { ...created, org: 'acme' }));
    await sql`update outbox set data = ${data} where id = any(${ids}::uuid[])`.execute(tx);
    return ids;
  });
const application = { id: 'a-1', applicantHandle: 'h', submittedAt: '2026-11-20T12:00:00.000Z' };
const { rows: orgs } = await sql<{ id: string }>`select id from orgs where slug = 'acme'`.execute(
  database,
);
const acme = { kind: 'organization', id: orgs[0]?.id ?? '' } as const;
/** A key of an app of its own, so that limits of apps are apart. */
const newKey = async (options?: Parameters<typeof makeKey>[1]) => makeKey(service, options);
/** A stream that has begun: its first read waits for an event, and what comes from now on is in it. */
const follow = async (key: string, options?: Parameters<typeof openStream>[2]) => {
  const stream = await openStream(url, key, options);
  assert.equal(stream.status, 200);
  return stream;
};
const samplesOf = async () => samples(await service.metrics.render());
const openStreams = async () => (await samplesOf()).get('orgdir_event_streams') ?? 0;
/** The next event, whose id is also the cursor to go on from. */
const nextId = async ({ next }: { next: () => Promise<{ data: any } | null> }) =>
  (await next())?.data.id as string | undefined;
const distributed = (id: string) =>
  eventually(async () => {
    const { rows } = await sql`select from events where id = ${id}`.execute(database);
    return rows.length === 1;
  });

test('an event arrives as GET /events returns it, with a cursor of both, uncompressed and unbuffered', async () => {
  const { key } = await newKey();
  const headers = { 'accept-encoding': 'gzip, br' };
  const stream = await follow(key, { headers });
  assert.equal(stream.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  assert.equal(stream.headers.get('content-encoding'), null);
  assert.equal(stream.headers.get('x-accel-buffering'), 'no');
  assert.equal(stream.headers.get('cache-control'), 'no-store, no-transform');
  const id = await announce(database);
  const event = await stream.next();
  assert.ok(event);
  const { body } = await service.call('/events?limit=100', { key });
  assert.deepEqual([event.event, event.data], ['org.created', body.data.at(-1)]);
  assert.deepEqual([event.data.id, event.id], [id, body.pagination.nextCursor]);
});

test('what was missed comes first, by Last-Event-ID, by after, and from a cursor of GET /events', async () => {
  const { key } = await newKey();
  const first = await follow(key);
  const seen = await announce(database);
  assert.equal(await nextId(first), seen);
  first.close();
  const missed = [await announce(database), await announce(database)];
  const cursor = first.lastId();
  for (const options of [
    { headers: { 'last-event-id': cursor } },
    { query: `?after=${cursor}` },
    // The header is of the last connection, the address of the first.
    {
      query: `?after=${(await service.call('/events?limit=1', { key })).body.pagination.nextCursor}`,
      headers: { 'last-event-id': cursor },
    },
  ]) {
    const stream = await follow(key, options);
    assert.deepEqual([await nextId(stream), await nextId(stream)], missed);
    stream.close();
  }
  const { body } = await service.call('/events?limit=100', { key });
  const stream = await follow(key, { query: `?after=${body.pagination.nextCursor}` });
  const later = await announce(database);
  assert.equal(await nextId(stream), later);
});

test('a stream that ends before its first event can go on from where it began', async () => {
  const { key } = await newKey();
  const stream = await follow(key);
  stream.close();
  const missed = await announce(database);
  await distributed(missed);
  const again = await follow(key, { headers: { 'last-event-id': stream.lastId() } });
  assert.equal(await nextId(again), missed);
});

test('an event between the look at where a stream begins and its beginning is sent', async (t) => {
  const { appId, keyId, key } = await newKey();
  const { secretKeys, session, log } = service;
  const feed = new EventFeed(database, session, log);
  const metrics = { eventStreams: () => {} };
  const cursors = createCursors(secretKeys);
  const streams = new EventStreams({ ...service, metrics, cursors, feed });
  const caller = (await findCallers(database, [keyId])).callers.get(keyId) ?? assert.fail();
  const { promise: passed, resolve: take } = Promise.withResolvers<unknown>();
  const first = { appId, webhookId: null, webhookDeleted: () => {}, take };
  await feed.follow(first);
  let between: string | undefined;
  const serve = async ({ socket }: IncomingMessage, response: ServerResponse) => {
    const opening = { socket, caller: { ...caller, appId }, address: '', event: null };
    const begin = await streams.open(response, { ...opening, webhookId: null, after: null });
    between = await announce(database);
    await passed;
    begin({});
  };
  const server = createServer((request, response) => void serve(request, response));
  t.after(async () => {
    streams.close();
    server.closeAllConnections();
    server.close();
    await feed.leave(first);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const stream = await openStream(`http://127.0.0.1:${port}`, key);
  const later = await announce(database);
  assert.equal(await nextId(stream), between);
  assert.equal(await nextId(stream), later);
});

test('where a stream begins does not tell that others have events', async () => {
  const { key } = await newKey();
  const begins = async () => {
    const stream = await follow(key);
    stream.close();
    return stream.lastId();
  };
  const before = await begins();
  await distributed(await publish('application.created', 'acme', application));
  assert.equal(await begins(), before);
  const seen = await announce(database);
  await distributed(seen);
  const stream = await follow(key, { headers: { 'last-event-id': await begins() } });
  const later = await announce(database);
  assert.equal(await nextId(stream), later);
});

test('a stream that its client ends, and a HEAD, are no warning in the log', async () => {
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
  const logged = await startTestService({ beside: service, log });
  const { key } = await newKey();
  const stream = await openStream(logged.url, key);
  stream.close();
  await eventually(
    async () => samples(await logged.metrics.render()).get('orgdir_event_streams') === 0,
  );
  for (const _ of ['', 'on the same connection']) {
    const head = await logged.call('/events/stream', { method: 'HEAD', key });
    assert.equal(head.status, 200);
    assert.equal(head.headers.get('content-type'), 'text/event-stream; charset=utf-8');
    assert.equal(head.headers.get('content-length'), null);
    assert.equal(head.headers.get('transfer-encoding'), null);
  }
  assert.deepEqual(lines, []);
});

test('nothing is lost or doubled while many events come during the first pages', async () => {
  const { key } = await newKey();
  const before = (await service.call('/events?limit=100', { key })).body.pagination.nextCursor;
  const ids: string[] = [];
  for (let count = 0; count < 150; count += 1) ids.push(await announce(database));
  const stream = await follow(key, { query: before === null ? '' : `?after=${before}` });
  for (let count = 0; count < 150; count += 1) ids.push(await announce(database));
  const got: (string | undefined)[] = [];
  while (got.length < ids.length) got.push(await nextId(stream));
  assert.deepEqual(got, ids);
});

test('only the named event is sent, and a name that does not exist is refused', async () => {
  const { key } = await newKey({ bindTo: acme });
  const stream = await follow(key, { query: '?event=application.created' });
  await announce(database);
  const id = await publish('application.created', 'acme', application);
  assert.equal(await nextId(stream), id);
  const refused = await service.call('/events/stream?event=org.crated', { key });
  assert.equal(refused.status, 400);
});

test('a stream of a webhook whose id is in upper case has its events', async () => {
  const { key } = await newKey();
  const json = { url: 'https://example.org', events: ['org.created'] };
  const { body } = await service.call('/webhooks', { method: 'POST', key, json });
  const stream = await follow(key, { query: `?webhook=${body.data.id.toUpperCase()}` });
  const id = await announce(database);
  assert.equal(await nextId(stream), id);
});

test('events of an organisation go to apps bound to it, from the binding to its end', async () => {
  const [bound, other, owner] = [
    await newKey({ bindTo: acme }),
    await newKey(),
    'owner@example.org',
  ];
  const later = await newKey({ owner });
  await inTransaction((tx) => addManager(tx, testActor, acme, owner));
  const streams = {
    bound: await follow(bound.key),
    other: await follow(other.key),
    later: await follow(later.key),
  };
  const hidden = await publish('application.created', 'acme', application);
  assert.equal(await nextId(streams.bound), hidden);
  await inTransaction((tx) => bindApp(tx, testActor, later.appId, acme));
  await publish('application.created', 'other', application);
  const shown = await publish('application.created', 'acme', application);
  assert.equal(await nextId(streams.later), shown);
  assert.equal(await nextId(streams.bound), shown);
  await inTransaction((tx) => unbindApp(tx, testActor, later.appId));
  await publish('application.created', 'acme', application);
  const forAll = await announce(database);
  // The first that the other gets: none of the others came.
  assert.equal(await nextId(streams.other), forAll);
  assert.equal(await nextId(streams.later), forAll);
});

test('an event of an organisation that is hidden meanwhile is not sent', async () => {
  const { key } = await newKey();
  const stream = await follow(key);
  await inTransaction(async (tx) => {
    await publishEvent(tx, { ...created, org: 'other' });
    await sql`update orgs set listed = false where slug = 'other'`.execute(tx);
  });
  const shown = await announce(database);
  assert.equal(await nextId(stream), shown);
  await sql`update orgs set listed = true where slug = 'other'`.execute(database);
});

test('line ends inside of the data are between its tokens, and mean nothing', async () => {
  const { key } = await newKey();
  const stream = await follow(key);
  const data = '{\n  "slug":\r "acme",\r\n\n  "name": "A\\nB"\n}';
  await publishAs(data);
  const event = await stream.next();
  assert.deepEqual(event?.data.data, { slug: 'acme', name: 'A\nB' });
});

test('whoever may not read events gets an error, not a stream', async () => {
  const { key } = await newKey({ scopes: ['read:directory'] });
  assert.equal((await service.call('/events/stream', { key })).status, 403);
  assert.equal((await service.call('/events/stream', { key: null })).status, 401);
  const [own, foreign] = [await newKey(), await newKey()];
  const stream = await follow(foreign.key);
  await announce(database);
  const id = (await stream.next())?.id ?? '';
  for (const [headers, path] of [
    [{ 'last-event-id': id }, 'headers.last-event-id'],
    [{ 'last-event-id': 'x' }, 'headers.last-event-id'],
  ] as const) {
    const { status, body } = await service.call('/events/stream', { key: own.key, headers });
    assert.equal(status, 400);
    assert.equal(body.error.details.issues[0].path, path);
  }
  const { status, body } = await service.call(`/events/stream?after=${id}`, { key: own.key });
  assert.deepEqual([status, body.error.details.issues[0].path], [400, 'query.after']);
  const head = await fetch(`${url}/api/v1/events/stream`, {
    method: 'HEAD',
    headers: { authorization: `Bearer ${own.key}` },
  });
  assert.deepEqual(
    [head.status, head.headers.get('content-type')],
    [200, 'text/event-stream; charset=utf-8'],
  );
});

for (const [what, code, act] of [
  ['a key that is revoked', 'unauthorized', ({ keyId }) => revokeAt(keyId)],
  ['a key that expires', 'unauthorized', ({ keyId }) => expireAt(keyId)],
  ['a key that is suspended', 'suspended', ({ keyId, appId }) => suspendAt('key', keyId, appId)],
  ['an app that is suspended', 'suspended', ({ appId }) => suspendAt('app', appId, appId)],
  ['a key that loses the scope', 'forbidden', ({ keyId }) => takeScope(keyId)],
] as [string, string, (made: { keyId: string; appId: string }) => Promise<unknown>][])
  test(`${what} ends its streams within a second, says why, and ends no others`, async () => {
    const [made, other] = [await newKey(), await newKey()];
    const [stream, bystander] = [await follow(made.key), await follow(other.key)];
    await announce(database);
    for (const each of [stream, bystander]) assert.equal((await each.next())?.event, 'org.created');
    await act(made);
    const at = performance.now();
    const last = await stream.next();
    assert.deepEqual([last?.event, last?.data.code], ['stream.ended', code]);
    assert.equal(await stream.next(), null);
    assert.ok(performance.now() - at < 5_000, 'long before any time-out');
    assert.ok((await service.call('/events/stream', { key: made.key })).status >= 401);
    const id = await announce(database);
    assert.equal(await nextId(bystander), id);
  });

const revokeAt = (keyId: string) => inTransaction((tx) => revokeKey(tx, testActor, keyId));
const expireAt = (keyId: string) =>
  sql`update api_keys set expires_at = now() where id = ${keyId}`.execute(database);
const takeScope = (keyId: string) =>
  sql`update api_keys set scopes = array['read:directory'] where id = ${keyId}`.execute(database);
const suspendAt = (kind: 'key' | 'app', id: string, appId: string) =>
  inTransaction((tx) => suspend(tx, testActor, { kind, id, appId, details: {} }, 'Leaked.'));

test('maintenance ends all streams, and a stream can be opened after it', async () => {
  const { key } = await newKey();
  const query = '?event=org.created';
  const stream = await follow(key, { query });
  await enableMaintenance(database, testActor, { message: 'Moving house.', expectedEnd: null });
  const last = await stream.next();
  assert.deepEqual(last?.data, { code: 'maintenance', message: 'Moving house.' });
  assert.equal((await service.call('/events/stream', { key })).status, 503);
  await disableMaintenance(database, testActor);
  await eventually(async () => (await service.call('/orgs')).status === 200);
  const again = await follow(key, { query });
  const id = await announce(database);
  assert.equal(await nextId(again), id);
});

test('a stream that is asked for while the process stops is refused, and says when to try again', async () => {
  const stopping = await startTestService({ beside: service });
  const { key } = await newKey();
  const open = await openStream(stopping.url, stopping.key);
  const asked = await inTransaction(async (tx) => {
    await sql`lock table api_keys`.execute(tx);
    const late = openStream(stopping.url, key);
    await eventually(async () => {
      const { rows } = await sql`
        select from pg_locks where relation = 'api_keys'::regclass and not granted
      `.execute(tx);
      return rows.length > 0;
    });
    // As a process stops, but it cuts nothing, however busy the machine is.
    const closing = endRequests(stopping.app, 600_000);
    assert.equal((await open.next())?.event, 'stream.ended');
    return { closing, late };
  });
  const { status, headers } = await asked.late;
  assert.deepEqual([status, headers.get('retry-after')], [503, String(reconnectSeconds)]);
  await asked.closing;
});

test('what was missed is not sent while the rights of callers cannot be looked up', async () => {
  const [quiet, live, late] = [await newKey(), await newKey(), await newKey()];
  await distributed(await announce(database));
  // From here on this process knows the keys.
  await service.call('/events', { key: live.key });
  const { body } = await service.call('/events?limit=1', { key: late.key });
  await distributed(await announce(database));
  await follow(quiet.key, { query: '?event=application.created' });
  await inTransaction(async (tx) => {
    await sql`lock table api_keys`.execute(tx);
    const first = await follow(live.key);
    // It ends when no look has succeeded for long enough.
    await eventually(async () => {
      await announce(database);
      return (await first.next())?.event === 'stream.ended';
    });
    const stream = await follow(late.key, { query: `?after=${body.pagination.nextCursor}` });
    const last = await stream.next();
    assert.deepEqual([last?.event, last?.data.code], ['stream.ended', 'unavailable']);
  });
});

test('an app has five streams, an address twenty, and one that ends makes room', async () => {
  const made = await newKey();
  const streams = [];
  for (let count = 0; count < streamsPerAppMax; count += 1) streams.push(await follow(made.key));
  const refused = await service.call('/events/stream', { key: made.key });
  assert.equal(refused.status, 429);
  assert.match(refused.body.error.message, new RegExp(`An app .* ${streamsPerAppMax} streams`));
  streams[0]?.close();
  await eventually(async () => {
    const stream = await openStream(url, made.key);
    if (stream.status === 200) streams.push(stream);
    return stream.status === 200;
  });
  const beside = await startTestService({ beside: service });
  const filling = [];
  for (let count = 0; count < streamsPerAddressMax; count += 1) {
    const { key } = await newKey();
    filling.push(await openStream(beside.url, key));
  }
  assert.ok(filling.every(({ status }) => status === 200));
  const { status, body } = await beside.call('/events/stream', { key: (await newKey()).key });
  assert.equal(status, 429);
  assert.match(body.error.message, new RegExp(`An address .* ${streamsPerAddressMax} streams`));
  for (const each of [...streams, ...filling]) each.close();
});

test('a client that does not read is told so and disconnected, and holds up no other', async () => {
  const [slow, quick] = [await newKey({ bindTo: acme }), await newKey({ bindTo: acme })];
  const bystander = await follow(quick.key);
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(
    `GET /api/v1/events/stream HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${slow.key}\r\n\r\n`,
  );
  await once(socket, 'readable');
  const data = JSON.stringify({ slug: 'y'.repeat(60_000) });
  const before = await openStreams();
  // More than the kernel takes for it.
  for (let count = 0; count < 10; count += 1) {
    const ids = await publishAs(data, 20);
    for (const id of ids) assert.equal(await nextId(bystander), id);
  }
  await eventually(async () => (await openStreams()) < before);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(socket, 'close');
  const text = Buffer.concat(chunks).toString();
  assert.ok(text.length > waitingBytesMax);
  assert.ok(text.includes('"code":"too_slow"'));
});

test('a burst that a client reads in its own time ends no stream, and comes whole and in order', async () => {
  const { key } = await newKey();
  const stream = await follow(key);
  const ids = await publishAs(JSON.stringify({ slug: 'y'.repeat(60_000) }), 200);
  const last = ids.at(-1);
  assert.ok(last);
  await distributed(last);
  for (const id of ids) assert.equal(await nextId(stream), id);
});

test('a stream ends when the overlap of its rotated key does', async () => {
  const { key, keyId } = await newKey();
  const stream = await follow(key);
  await inTransaction((tx) => rotateKey(tx, testActor, keyId, 5));
  const event = await announce(database);
  assert.equal(await nextId(stream), event);
  assert.equal((await stream.next())?.data.code, 'unauthorized');
});

test('a stream whose connection breaks is free again at its end, and counts as sent', async () => {
  const { key } = await newKey();
  await eventually(async () => (await openStreams()) === 0);
  const before = await samplesOf();
  const sockets = Array.from({ length: streamsPerAppMax }, () => openBareStream(key));
  // A call before all are open would open one itself, and its body never ends.
  await eventually(async () => (await openStreams()) === streamsPerAppMax);
  assert.equal((await service.call('/events/stream', { key })).status, 429);
  for (const socket of sockets) socket.destroy();
  await eventually(async () => {
    const stream = await openStream(url, key);
    stream.close();
    return stream.status === 200;
  });
  const name = 'orgdir_http_requests_total{operation="streamEvents",key="app",status="2xx"}';
  // The last one may be counted a moment after its connection has ended.
  await eventually(async () => ((await samplesOf()).get(name) ?? 0) > (before.get(name) ?? 0));
});

function openBareStream(key: string) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(
    `GET /api/v1/events/stream HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${key}\r\n\r\n`,
  );
  return socket;
}

test('streams of other processes get events that a worker of its own distributes, also after their notifications were cut', async () => {
  const env = {
    DATABASE_URL: toUrl(service.connection),
    SECRET_KEY: service.secretKeys[0]?.toString('base64') ?? '',
    PUBLIC_URL: testPublicUrl,
  };
  const processes = [await startProcess('api', env), await startProcess('api', env)];
  const { key } = await newKey();
  const streams = [];
  for (const each of processes) streams.push(await openStream(each.url, key));
  const first = await announce(database);
  for (const stream of streams) assert.equal(await nextId(stream), first);
  await sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name like 'orgdir listener%'
  `.execute(database);
  const second = await announce(database);
  for (const stream of streams) assert.equal(await nextId(stream), second);
  const [one] = processes;
  one?.command.signal('SIGTERM');
  const last = await streams[0]?.next();
  assert.deepEqual([last?.event, last?.data.code], ['stream.ended', 'unavailable']);
  assert.equal((await one?.command.ended)?.code, 0);
  const third = await announce(database);
  assert.equal(await nextId(streams[1] as NonNullable<(typeof streams)[1]>), third);
});

test('what a stream sends counts as used, and its time as no duration', async () => {
  const { key, keyId } = await newKey();
  const stream = await follow(key);
  await announce(database);
  await stream.next();
  stream.close();
  const before = await service.metrics.render();
  assert.doesNotMatch(
    before,
    /orgdir_http_request_duration_seconds_bucket\{[^}]*operation="streamEvents"[^}]*\} [1-9]/,
  );
  await service.usage.stop();
  service.usage.start();
  const { rows } = await sql<{ events: number }>`
    select sum(events)::int as events from usage where key_id = ${keyId}
  `.execute(database);
  assert.equal(rows[0]?.events, 1);
});

test('a quiet stream gets a comment, by the clock alone', async () => {
  const { key } = await newKey();
  const stream = await follow(key);
  const reading = stream.next();
  await eventually(async () => stream.comments() > 0);
  await announce(database);
  assert.ok(await reading);
});
