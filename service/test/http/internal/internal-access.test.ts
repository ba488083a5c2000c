/** Who may use the internal API, and that what it refuses looks like the public API's refusals. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPlatformKey, listKeys, revokeKey } from '../../../src/access/keys.ts';
import { Usage } from '../../../src/access/usage.ts';
import { sql } from '../../../src/database/database.ts';
import { createInternalApp } from '../../../src/http/internal-app.ts';
import { createLogger } from '../../../src/runtime/log.ts';
import { createReadinessCheck } from '../../../src/system/health.ts';
import { testActor } from '../../support/actor.ts';
import { put } from '../../support/directory.ts';
import { eventually, withinASecond } from '../../support/eventually.ts';
import { startInternalApi } from '../../support/internal-api.ts';
import { rawRequest } from '../../support/raw-request.ts';
import { startTestService } from '../../support/service.ts';

const service = await startTestService();
const internal = await startInternalApi(service);
const { database } = service;
await put(database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);

async function makePlatformKey(
  expiresAt: Date | null = null,
): Promise<{ id: string; key: string }> {
  return database
    .transaction()
    .execute((tx) => createPlatformKey(tx, testActor, { name: 'Another', expiresAt }));
}

test('a platform key works as a bearer token or as X-API-Key', async () => {
  assert.equal((await internal.call('/orgs')).status, 200);
  const alias = await internal.call('/orgs', { key: null, headers: { 'x-api-key': internal.key } });
  assert.equal(alias.status, 200);
});

test('no key, a malformed key and an unknown key get the same 401', async () => {
  const without = await internal.call('/orgs', { key: null });
  assert.equal(without.status, 401);
  assert.equal(without.headers.get('www-authenticate'), 'Bearer');
  for (const key of ['nonsense', `${internal.key}0`]) {
    const refused = await internal.call('/orgs', { key });
    assert.deepEqual([refused.status, refused.text], [401, without.text]);
  }
});

test("an app's key does not work in the internal API, nor a platform key in the public one", async () => {
  for (const { status, body, scope } of [
    { ...(await internal.call('/orgs', { key: service.key })), scope: 'platform' },
    { ...(await service.call('/orgs', { key: internal.key })), scope: 'read:directory' },
    { ...(await service.call('/events', { key: internal.key })), scope: 'read:events' },
    { ...(await service.call('/webhooks', { key: internal.key })), scope: 'write:webhooks' },
  ]) {
    assert.equal(status, 403);
    assert.deepEqual(body.error.details, { requiredScope: scope });
  }
});

test('a key belongs to an app with its scopes, or to the platform', async () => {
  for (const [app, scopes] of [
    [null, ['read:directory']],
    [null, ['platform', 'read:directory']],
    [service.appId, ['platform']],
    [service.appId, ['platform', 'read:directory']],
  ] as const)
    await assert.rejects(
      sql`
        insert into api_keys (id, app_id, name, hash, last4, scopes)
        values (uuid_v7(), ${app}, 'x', sha256('x'), 'xxxx', ${[...scopes]})
      `.execute(database),
      /api_keys_platform_check/,
    );
});

test('a revoked key is rejected within a second, an expired one at once', async () => {
  const { id, key } = await makePlatformKey();
  for (let round = 0; round < 3; round += 1)
    assert.equal((await internal.call('/orgs', { key })).status, 200);
  await database.transaction().execute((tx) => revokeKey(tx, testActor, id));
  await withinASecond(async () => (await internal.call('/orgs', { key })).status === 401);
  const expiring = await makePlatformKey(new Date(Date.now() + 300));
  await eventually(async () => (await internal.call('/orgs', expiring)).status === 401);
  assert.equal((await internal.call('/orgs')).status, 200);
  const listed = (await listKeys(database, null)).find((each) => each.id === id);
  assert.deepEqual([listed?.appId, listed?.scopes], [null, ['platform']]);
});

test('there are at most twenty platform keys', async () => {
  const made: string[] = [];
  await assert.rejects(async () => {
    for (let count = 0; count < 21; count += 1) made.push((await makePlatformKey()).id);
  }, /20 platform keys/);
  await sql`update api_keys set revoked_at = now() where id = any(${made})`.execute(database);
  await makePlatformKey();
});

test('404 and 405 come before the key is checked', async () => {
  const missing = await internal.call('/nothing', { key: null, method: 'POST', json: {} });
  assert.equal(missing.status, 404);
  const refused = await internal.call('/orgs/acme', { key: null, method: 'POST', json: {} });
  assert.equal(refused.status, 405);
  assert.match(refused.headers.get('allow') ?? '', /\bGET\b.*\bHEAD\b.*\bOPTIONS\b/);
  const options = await rawRequest(internal.url, { method: 'OPTIONS', path: '/internal/v1/orgs' });
  assert.equal(options.status, 204);
  assert.match(String(options.headers.allow), /\bGET\b/);
});

test('every response has a request id, and no other origin may read it', async () => {
  const path = '/internal/v1/orgs';
  const headers = { origin: 'https://evil.example', 'x-request-id': 'mine' };
  for (const method of ['GET', 'OPTIONS', 'POST', 'QUERY']) {
    const answer = await rawRequest(internal.url, { method, path, headers });
    assert.equal(answer.headers['x-request-id'], 'mine');
    assert.equal(answer.headers['x-content-type-options'], 'nosniff');
    for (const name of Object.keys(answer.headers)) assert.doesNotMatch(name, /^access-control/);
  }
});

test('HEAD responds like GET, without the body', async () => {
  for (const path of ['/orgs', '/orgs/acme', '/orgs/nowhere']) {
    const get = await internal.call(path);
    const head = await internal.call(path, { method: 'HEAD' });
    assert.deepEqual(
      [head.status, head.headers.get('etag'), head.text],
      [get.status, get.headers.get('etag'), ''],
    );
  }
});

test('an If-None-Match with the current tag gets a 304, for lists and entries', async () => {
  for (const path of ['/orgs', '/orgs/acme', '/orgs/acme/managers']) {
    const etag = (await internal.call(path)).headers.get('etag') ?? '';
    const again = await internal.call(path, { headers: { 'if-none-match': etag } });
    assert.deepEqual([again.status, again.text, again.headers.get('etag')], [304, '', etag]);
    const other = await internal.call(path, { headers: { 'if-none-match': '"other"' } });
    assert.equal(other.status, 200);
  }
});

test('the internal API works during maintenance', async () => {
  await sql`insert into maintenance (message) values ('Moving')`.execute(database);
  await eventually(async () => (await service.call('/orgs')).status === 503);
  assert.equal((await internal.call('/orgs')).status, 200);
  await sql`delete from maintenance`.execute(database);
});

test('a process without the role api has metrics and probes but no internal API', async () => {
  const app = createInternalApp({
    metrics: service.metrics,
    usage: new Usage(database, service.log),
    readiness: createReadinessCheck(database),
    log: createLogger('silent'),
    allowedHosts: new Set(),
    api: null,
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  try {
    const headers = { authorization: `Bearer ${internal.key}` };
    for (const path of ['/internal/v1/orgs', '/internal/v1/openapi.json'])
      assert.equal((await rawRequest(url, { path, headers })).status, 404);
    assert.equal((await rawRequest(url, { path: '/livez' })).status, 200);
  } finally {
    await app.close();
  }
});

test('the internal routes are not on the public port', async () => {
  const headers = { authorization: `Bearer ${internal.key}` };
  const probes = ['/metrics', '/livez', '/readyz'];
  for (const path of [...probes, '/internal/v1/orgs', '/internal/v1/openapi.json'])
    assert.equal((await rawRequest(service.url, { path, headers })).status, 404, path);
});
