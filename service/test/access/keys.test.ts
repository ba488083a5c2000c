import assert from 'node:assert/strict';
import { test } from 'node:test';
import { v7 as uuidv7 } from 'uuid';
import { generateApiKey, hashApiKey, isWellFormedApiKey } from '../../src/access/key-format.ts';
import { listAppKeys, readAppKey } from '../../src/access/list-app-keys.ts';
import { createKeyCache } from '../../src/access/key-cache.ts';
import { revokeKey, scopes } from '../../src/access/keys.ts';
import { sql } from '../../src/database/database.ts';
import { testActor } from '../support/actor.ts';
import { eventually, withinASecond } from '../support/eventually.ts';
import { makeKey, startTestService } from '../support/service.ts';

const service = await startTestService();
const beside = await startTestService({ beside: service });
const { database } = service;

const statusOf = async (key: string | null, headers: Record<string, string> = {}) =>
  (await service.call('/orgs', { key, headers })).status;

/** The last character changed to another of the alphabet. */
const mistyped = (key: string) => key.slice(0, -1) + (key.endsWith('0') ? '1' : '0');

test('a key is odk_, 32 random characters and a checksum that a mistyped one fails', () => {
  const keys = Array.from({ length: 100 }, generateApiKey);
  assert.equal(new Set(keys).size, 100);
  for (const key of keys) {
    assert.match(key, /^odk_[0-9A-Za-z]{38}$/);
    assert.ok(isWellFormedApiKey(key));
    assert.ok(!isWellFormedApiKey(mistyped(key)));
    assert.ok(!isWellFormedApiKey(key.replace(/^odk_(.)(.)/, 'odk_$2$1')) || key[4] === key[5]);
    assert.ok(!isWellFormedApiKey(`${key}0`) && !isWellFormedApiKey(key.slice(1)));
  }
});

test('a key is sent as a bearer, whatever the case of the word, or as X-API-Key', async () => {
  assert.equal(await statusOf(service.key), 200);
  for (const headers of [
    { authorization: `bearer ${service.key}` },
    { authorization: `BEARER  ${service.key}` },
    { 'x-api-key': service.key },
    { 'x-api-key': ` ${service.key} ` },
  ] as Record<string, string>[])
    assert.equal(await statusOf(null, headers), 200, JSON.stringify(headers));
});

test('no key, and one that is malformed, mistyped, unknown or sent in another way, are one and the same 401', async () => {
  const without = await service.call('/orgs', { key: null });
  assert.equal(without.status, 401);
  assert.equal(without.headers.get('www-authenticate'), 'Bearer');
  assert.deepEqual(without.body, {
    success: false,
    error: { code: 'unauthorized', message: 'A valid API key is required.', details: {} },
  });
  const attempts: Record<string, string>[] = [
    { authorization: 'Bearer' },
    { authorization: 'Bearer ' },
    { authorization: `Basic ${service.key}` },
    { authorization: service.key },
    { authorization: `Bearer ${service.key} ${service.key}` },
    { authorization: `Bearer ${mistyped(service.key)}` },
    { authorization: `Bearer ${generateApiKey()}` },
    { authorization: `Bearer ${'x'.repeat(8_000)}` },
    { authorization: `Bearer ' or 1=1 --` },
    { authorization: 'Basic x', 'x-api-key': service.key },
    { 'x-api-key': '' },
    { 'x-api-key': generateApiKey() },
    { cookie: `api_key=${service.key}` },
  ];
  for (const headers of attempts) {
    const answer = await service.call('/orgs', { key: null, headers });
    assert.equal(answer.status, 401, JSON.stringify(headers).slice(0, 80));
    assert.equal(answer.text, without.text);
    assert.equal(answer.headers.get('www-authenticate'), 'Bearer');
  }
  const inQuery = await service.call(`/orgs?api_key=${service.key}`, { key: null });
  assert.equal(inQuery.status, 401);
});

test('a mistyped key is refused without a look-up', () => {
  const refusing = createKeyCache(
    new Proxy(database, {
      get() {
        throw new Error('the database was asked');
      },
    }),
    service.revisions,
  );
  assert.equal(refusing.authenticate(mistyped(service.key)), null);
  assert.equal(refusing.authenticate('nonsense'), null);
});

test('more keys than statements may wait are looked up at once, each for itself', async () => {
  const { appId } = await makeKey(service);
  const keys = Array.from({ length: 1_000 }, generateApiKey);
  await sql`
    insert into api_keys (id, app_id, name, hash, last4, scopes)
    select uuid_v7(), ${appId}, 'Load', decode(hash, 'hex'), '0000', '{read:directory}'
    from unnest(${keys.map((key) => hashApiKey(key).toString('hex'))}::text[]) as hash
  `.execute(database);
  const cache = createKeyCache(database, service.revisions);
  const unknown = generateApiKey();
  const found = await Promise.all([...keys, unknown].map(async (key) => cache.authenticate(key)));
  assert.equal(new Set(found.slice(0, -1).map((caller) => caller?.keyId)).size, keys.length);
  assert.equal(found.at(-1), null);
  const { rows } = await sql<{ id: string }>`
    select id from api_keys where hash = ${hashApiKey(keys[7] ?? '')}
  `.execute(database);
  assert.equal(found[7]?.keyId, rows[0]?.id);
});

test('each operation requires its scope and names it', async () => {
  const operations = [
    ...['/orgs', '/orgs/x', '/alliances', '/alliances/x', '/blueprints', '/blueprints/x'].map(
      (path) => ({ path, method: 'GET', scope: 'read:directory' }),
    ),
    { path: '/webhooks', method: 'GET', scope: 'write:webhooks' },
    { path: '/webhooks', method: 'POST', scope: 'write:webhooks' },
    { path: `/webhooks/${crypto.randomUUID()}`, method: 'DELETE', scope: 'write:webhooks' },
    { path: `/webhooks/${crypto.randomUUID()}/test`, method: 'POST', scope: 'write:webhooks' },
  ];
  for (const { path, method, scope } of operations) {
    const { key } = await makeKey(service, { scopes: scopes.filter((name) => name !== scope) });
    const { status, body } = await service.call(path, { method, key });
    assert.equal(status, 403, path);
    assert.equal(body.error.code, 'forbidden');
    assert.deepEqual(body.error.details, { requiredScope: scope });
    const allowed = await makeKey(service, { scopes: [scope] });
    const answer = await service.call(path, { method, key: allowed.key });
    assert.ok([200, 400, 404].includes(answer.status), `${path} ${answer.status}`);
  }
});

test('a revoked key is rejected within a second, also from the cache', async () => {
  const { key, keyId } = await makeKey(service);
  for (const each of [service, beside])
    for (let round = 0; round < 3; round += 1)
      assert.equal((await each.call('/orgs', { key })).status, 200);
  await database.transaction().execute((tx) => revokeKey(tx, testActor, keyId));
  await withinASecond(
    async () =>
      (await statusOf(key)) === 401 && (await beside.call('/orgs', { key })).status === 401,
  );
  assert.equal(await statusOf(service.key), 200, 'others go on');
});

test('a revoked key is rejected within a second while the listening connections are broken', async () => {
  const { key, keyId } = await makeKey(service);
  assert.equal(await statusOf(key), 200);
  await sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name like 'orgdir listener%'
  `.execute(database);
  await database.transaction().execute((tx) => revokeKey(tx, testActor, keyId));
  await withinASecond(async () => (await statusOf(key)) === 401);
});

test('a page of keys reads only its own rows', async () => {
  const { appId, keyId } = await makeKey(service);
  const ended = Array.from({ length: 500 }, () => uuidv7());
  await sql`
    insert into api_keys (id, app_id, name, hash, last4, scopes, revoked_at)
    select id, ${appId}, 'Ended', sha256(id::text::bytea), 'last', '{read:events}', now()
    from unnest(${ended}::uuid[]) id
  `.execute(database);
  let rowsRead = 0;
  const counting = database.withPlugin({
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      rowsRead += result.rows.length;
      return result;
    },
  });
  const page = async (number: number) => {
    const { total, keys } = await listAppKeys(counting, appId, { page: number, limit: 20 });
    assert.equal(total, 501);
    return keys.map(({ id }) => id);
  };
  const [first, second] = [await page(1), await page(2)];
  assert.deepEqual([...first, ...second], ended.slice(-40).toReversed());
  assert.deepEqual(await page(26), [keyId]);
  assert.equal((await readAppKey(counting, appId, keyId)).name, 'Test key');
  assert.equal(rowsRead, 20 + 20 + 1 + 1);
  assert.deepEqual(await page(27), []);
  const other = await makeKey(service);
  await assert.rejects(readAppKey(database, other.appId, keyId), { code: 'not_found' });
});

test('a key is valid until it expires', async () => {
  const expiresAt = new Date(Date.now() + 400);
  const { key } = await makeKey(service, { expiresAt });
  await eventually(async () => (await statusOf(key)) === 401);
  assert.ok(Date.now() >= expiresAt.getTime(), 'not before its time');
  const { key: later } = await makeKey(service, { expiresAt: new Date(Date.now() + 3_600_000) });
  assert.equal(await statusOf(later), 200);
});

test('a key is stored as a hash and its last four characters only', async () => {
  const { key, keyId } = await makeKey(service);
  const { rows } = await sql<{
    everything: string;
    last4: string;
  }>`select k::text as everything, last4 from api_keys k where id = ${keyId}`.execute(database);
  assert.equal(rows[0]?.last4, key.slice(-4));
  assert.ok(!rows[0].everything.includes(key.slice(4, -4)));
});
