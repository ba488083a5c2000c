import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { pino } from 'pino';
import { generateApiKey } from '../../src/access/key-format.ts';
import { createKey, createPlatformKey, createTemporaryKey, scopes } from '../../src/access/keys.ts';
import { testActor } from '../support/actor.ts';
import { openTestDatabase } from '../support/database.ts';
import { put } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { makeKey, startTestService, testPublicUrl, type Answer } from '../support/service.ts';

const perMinute = 5;
const beside = await openTestDatabase();
await put(beside.database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);

/** A process of its own: counts are kept for each. */
const start = (env: Record<string, string> = {}) =>
  startTestService({ beside, env: { RATE_LIMIT_PER_MINUTE: String(perMinute), ...env } });

function usage({ headers }: Answer) {
  const read = (name: string) => headers.get(`x-ratelimit-${name}`);
  return {
    limit: read('limit'),
    remaining: read('remaining'),
    reset: Number(read('reset')),
    scope: read('scope'),
  };
}

/** A further key of an app. */
async function addKey(appId: string, { temporary = false } = {}): Promise<string> {
  const input = { appId, name: 'Another', scopes, expiresAt: null };
  const { key } = await beside.database
    .transaction()
    .execute((tx) =>
      temporary ? createTemporaryKey(tx, testActor, appId) : createKey(tx, testActor, input),
    );
  return key;
}

test('each response has the limit, the remaining requests and the reset time', async () => {
  const service = await start();
  for (let left = perMinute - 1; left >= 0; left -= 1) {
    const answer = await service.call('/orgs');
    assert.equal(answer.status, 200);
    const { limit, remaining, reset } = usage(answer);
    assert.deepEqual([limit, remaining], [String(perMinute), String(left)]);
    const inSeconds = reset - Date.now() / 1000;
    assert.ok(inSeconds > 50 && inSeconds < 62, `resets in ${inSeconds} s`);
  }
  const refused = await service.call('/orgs');
  assert.equal(refused.status, 429);
  assert.equal(refused.body.error.code, 'rate_limited');
  assert.equal(usage(refused).remaining, '0');
  const retryAfter = Number(refused.headers.get('retry-after'));
  assert.ok(retryAfter > 50 && retryAfter <= 60, `Retry-After: ${retryAfter}`);
});

test('each key has its own count over all headers and operations', async () => {
  const service = await start();
  const other = await makeKey(service);
  const tag = (await service.call('/orgs/acme')).headers.get('etag') ?? '';
  const unchanged = await service.call('/orgs/acme', { headers: { 'if-none-match': tag } });
  assert.deepEqual([unchanged.status, usage(unchanged).remaining], [304, '3']);
  const alias = await service.call('/alliances', {
    key: null,
    headers: { 'x-api-key': service.key },
  });
  assert.equal(usage(alias).remaining, '2');
  assert.equal(usage(await service.call('/status')).remaining, '1');
  assert.equal(usage(await service.call('/orgs', { method: 'HEAD' })).remaining, '0');
  assert.equal((await service.call('/webhooks')).status, 429);
  assert.equal((await service.call('/orgs', { key: other.key })).status, 200);
});

test('an app has twice the limit over all its keys, and the headers describe the limit that is closer', async () => {
  const service = await start();
  const { appId, key: first } = await makeKey(service);
  const keys = [first, await addKey(appId), await addKey(appId, { temporary: true })];
  const seen = [];
  for (const key of [...Array.from({ length: 6 }, () => first), ...keys, keys[2], keys[2]]) {
    const answer = await service.call('/orgs', { key: key ?? null });
    const { limit, remaining, scope } = usage(answer);
    seen.push([answer.status, limit, remaining, scope]);
  }
  const ofKey = (status: number, left: number) => [status, String(perMinute), String(left), 'key'];
  const ofApp = (status: number, left: number) => [status, '10', String(left), 'app'];
  assert.deepEqual(seen, [
    ...[4, 3, 2, 1, 0].map((left) => ofKey(200, left)),
    ofKey(429, 0),
    // The refused one counts towards neither, so the app has 5 left for its other keys.
    ofKey(429, 0),
    ofKey(200, 4),
    ofApp(200, 3),
    ofApp(200, 2),
    ofApp(200, 1),
  ]);
  assert.equal(usage(await service.call('/orgs', { key: keys[1] ?? null })).remaining, '0');
  const refused = await service.call('/orgs', { key: keys[1] ?? null });
  assert.deepEqual(
    [refused.status, usage(refused).scope, refused.body.error.message],
    [429, 'app', 'Rate limit exceeded: 10 requests per minute with all keys of the app.'],
  );
  assert.equal((await service.call('/orgs')).status, 200, 'another app has its own');
});

test('a request that the app’s limit refuses does not count towards its key', async () => {
  const service = await start();
  const { appId, key } = await makeKey(service);
  const others = [await addKey(appId), await addKey(appId)];
  for (const each of others)
    for (let sent = 0; sent < perMinute; sent += 1)
      assert.equal((await service.call('/orgs', { key: each })).status, 200);
  for (let sent = 0; sent < 2 * perMinute; sent += 1) {
    const { status, headers } = await service.call('/orgs', { key });
    assert.deepEqual([status, headers.get('x-ratelimit-scope')], [429, 'app']);
  }
});

test('keys of the platform and addresses have no limit of an app', async () => {
  const service = await start();
  const input = { name: 'Platform', expiresAt: null };
  const { key } = await beside.database
    .transaction()
    .execute((tx) => createPlatformKey(tx, testActor, input));
  const answer = await service.call('/status', { key });
  const { limit, scope } = usage(answer);
  assert.deepEqual([answer.status, limit, scope], [200, String(perMinute), 'key']);
  assert.equal(usage(await service.call('/status', { key: null })).scope, null);
});

test('requests without a valid key are counted by their address, whatever they send as a key', async () => {
  const service = await start();
  const keys = [null, 'nonsense', generateApiKey(), generateApiKey(), null];
  for (const [index, key] of keys.entries()) {
    const answer = await service.call('/orgs', { key });
    assert.equal(answer.status, 401);
    assert.equal(usage(answer).remaining, String(perMinute - 1 - index));
  }
  // A bad key is told so before it is told to wait; what needs no key is told to wait.
  assert.equal((await service.call('/orgs', { key: generateApiKey() })).status, 401);
  assert.equal((await service.call('/status', { key: null })).status, 429);
  assert.equal((await service.call('/orgs')).status, 200, 'a valid key is not held to it');
});

test('X-Forwarded-For counts from trusted proxies only', async () => {
  const service = await start();
  const from = (address: string, on: typeof service) =>
    on.call('/status', { key: null, headers: { 'x-forwarded-for': address } });
  await from('203.0.113.1', service);
  assert.equal(usage(await from('203.0.113.2', service)).remaining, '3');

  const behind = await start({ TRUST_PROXY: '127.0.0.0/8' });
  assert.equal(usage(await from('203.0.113.1', behind)).remaining, '4');
  assert.equal(usage(await from('203.0.113.2', behind)).remaining, '4');
  assert.equal(usage(await from('203.0.113.1', behind)).remaining, '3');
  assert.equal(usage(await from('::ffff:203.0.113.1', behind)).remaining, '2', 'the same address');
  // As Azure's and Microsoft's proxies write it. Each connection has another port.
  assert.equal(usage(await from('203.0.113.1:50123', behind)).remaining, '1', 'the same address');
});

test('one subscriber’s /64 of IPv6 addresses counts as one', async () => {
  const service = await start({ TRUST_PROXY: '127.0.0.0/8' });
  const from = async (address: string) =>
    usage(await service.call('/status', { key: null, headers: { 'x-forwarded-for': address } }))
      .remaining;
  assert.equal(await from('2001:db8:1:1::1'), '4');
  assert.equal(await from('2001:db8:1:1:ffff::9'), '3');
  assert.equal(await from('[2001:db8:1:1::7]:50123'), '2');
  assert.equal(await from('[2001:db8:1:1::7]'), '1');
  assert.equal(await from('2001:db8:1:2::1'), '4');
});

test('an invalid address does no harm', async () => {
  const service = await start({ TRUST_PROXY: '127.0.0.0/8' });
  for (const address of [
    'nonsense',
    '',
    '1.2.3.4, evil',
    'a'.repeat(5_000),
    '[::1]:80',
    '::g',
    'fe80::1%eth0',
  ]) {
    const { status } = await service.call('/status', {
      key: null,
      headers: { 'x-forwarded-for': address },
    });
    assert.ok(status === 200 || status === 429, `${address.slice(0, 20)} ${status}`);
  }
});

test('a client that has reset its connection, so that it has no address any more, is no internal error', async () => {
  const lines: string[] = [];
  const log = pino({ level: 'error' }, { write: (line: string) => void lines.push(line) });
  const { app, url } = await startTestService({
    beside,
    log,
    env: { RATE_LIMIT_PER_MINUTE: '60' },
  });
  const body = JSON.stringify({ email: 'ada@example.org', password: 'wrong' });
  const origin = `Origin: ${testPublicUrl}\r\nContent-Type: application/json`;
  for (const head of [
    'GET /api/v1/orgs HTTP/1.1\r\nHost: x',
    'GET /portal/api/sign-in-options HTTP/1.1\r\nHost: x',
    `POST /portal/api/sign-in HTTP/1.1\r\nHost: x\r\n${origin}\r\nContent-Length: ${body.length}`,
  ])
    for (let count = 0; count < 50; count += 1) {
      const socket = connect(Number(new URL(url).port), '127.0.0.1');
      await once(socket, 'connect');
      socket.write(`${head}\r\n\r\n${head.startsWith('POST') ? body : ''}`, () =>
        socket.resetAndDestroy(),
      );
      await once(socket, 'close');
    }
  await eventually(
    () =>
      new Promise<boolean>((resolve, reject) => {
        app.server.getConnections((error, open) => (error ? reject(error) : resolve(open === 0)));
      }),
  );
  assert.deepEqual(lines, []);
});

test('404 and 405 are not counted', async () => {
  const service = await start();
  for (let round = 0; round < perMinute + 2; round += 1) {
    const missing = await service.call('/nothing');
    const wrong = await service.call('/orgs', { method: 'DELETE' });
    assert.deepEqual([missing.status, wrong.status], [404, 405]);
    assert.equal(usage(missing).limit, null);
    assert.equal(usage(wrong).limit, null);
  }
  assert.equal(usage(await service.call('/orgs')).remaining, '4');
});

test('a limit of 0 disables counting', async () => {
  const service = await start({ RATE_LIMIT_PER_MINUTE: '0' });
  const answer = await service.call('/orgs');
  assert.deepEqual([answer.status, usage(answer).limit], [200, null]);
});
