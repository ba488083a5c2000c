import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';
import { sql } from '../../../src/database/database.ts';
import { catalogue } from '../../../src/events/catalogue.ts';
import { disableMaintenance, enableMaintenance } from '../../../src/system/maintenance.ts';
import { testActor } from '../../support/actor.ts';
import { put } from '../../support/directory.ts';
import { eventually } from '../../support/eventually.ts';
import { ageSessions, callPortal, signUp } from '../../support/portal.ts';
import { queueDrained } from '../../support/queue.ts';
import { loopbackAllowed, startReceiver } from '../../support/receiver.ts';
import { makeKey, startTestService } from '../../support/service.ts';

const service = await startTestService({
  env: {
    ...loopbackAllowed,
    RATE_LIMIT_PER_MINUTE: '100000',
    WEBHOOK_RETRY_BASE_MS: '1',
    WEBHOOK_RETRY_FACTOR: '1',
  },
  worker: true,
});
const { database } = service;
const ajv = new Ajv2020({ strict: false });
ajvFormats.default(ajv);
const owner = await signUp(service, 'owner@example.org');
await put(database, 'orgs', [
  { slug: 'acme-corporation', name: 'Acme', managers: [owner.email] },
  { slug: 'zenith', name: 'Zenith' },
]);

async function post(path: string, json: unknown = {}, method = 'POST') {
  const { status, body } = await owner.call(path, { method, json });
  assert.ok(status < 300, JSON.stringify(body));
  return body.data;
}

test('an app is created, bound, and given a key for the public API', async () => {
  const app = await post('/apps', { name: ' Announcer ' });
  assert.equal(app.name, 'Announcer');
  const key = await post(`/apps/${app.id}/keys`, { name: 'Server', scopes: ['read:directory'] });
  assert.equal((await service.call('/orgs', { key: key.key })).status, 200);
  const again = await post(`/apps/${app.id}/keys/${key.id}/rotate`, { overlapSeconds: 0 });
  assert.equal((await service.call('/orgs', { key: again.key })).status, 200);
  assert.equal(again.previous.id, key.id);
  await service.settled();
  assert.equal((await service.call('/orgs', { key: key.key })).status, 401);
  await post(`/apps/${app.id}/keys/${again.id}`, undefined, 'DELETE');
  await service.settled();
  assert.equal((await service.call('/orgs', { key: again.key })).status, 401);
  const { body } = await owner.call(`/apps/${app.id}/keys`);
  assert.deepEqual(
    body.data.map(({ id }: { id: string }) => id),
    [again.id, key.id],
  );
  assert.ok(!JSON.stringify(body).includes(key.key));
});

test('a temporary key needs no recent proof, and only reads the directory for 15 minutes', async () => {
  const reader = await signUp(service, 'reader@example.org');
  const app = await reader.call('/apps', { method: 'POST', json: { name: 'Reader' } });
  await ageSessions(service, reader.email);
  const before = Date.now();
  const created = await reader.call(`/apps/${app.body.data.id}/temporary-keys`, { method: 'POST' });
  const { key, scopes, expiresAt } = created.body.data;
  assert.deepEqual(scopes, ['read:directory']);
  const validMs = Date.parse(expiresAt) - before;
  assert.ok(validMs >= 15 * 60_000 && validMs <= 15 * 60_000 + (Date.now() - before), expiresAt);
  assert.equal((await service.call('/orgs', { key })).status, 200);
  for (const path of ['/events', '/webhooks'])
    assert.equal((await service.call(path, { key })).status, 403, path);
});

test('temporary keys have a limit of their own and leave the list when they expire', async () => {
  const app = await post('/apps', { name: 'Many' });
  const createTemporary = () => owner.call(`/apps/${app.id}/temporary-keys`, { method: 'POST' });
  for (let made = 0; made < 20; made += 1) assert.equal((await createTemporary()).status, 201);
  assert.equal((await createTemporary()).status, 409);
  const kept = await post(`/apps/${app.id}/keys`, { name: 'Server', scopes: ['read:events'] });
  await sql`update api_keys set expires_at = now() where app_id = ${app.id} and temporary`.execute(
    service.database,
  );
  const listed = await owner.call(`/apps/${app.id}/keys`);
  assert.deepEqual([listed.body.pagination.total, listed.body.data[0].id], [1, kept.id]);
  assert.equal((await createTemporary()).status, 201);
  const { rows } = await sql`select from api_keys where app_id = ${app.id}`.execute(
    service.database,
  );
  assert.equal(rows.length, 2, 'expired ones are deleted');
  await post(`/apps/${app.id}`, undefined, 'DELETE');
});

test('an app has the name of its binding and its counts', async () => {
  const app = await post('/apps', { name: 'Counted' });
  assert.deepEqual([app.keyCount, app.webhookCount, app.binding], [0, 0, null]);
  const keys = [];
  for (const name of ['One', 'Two', 'Three'])
    keys.push(await post(`/apps/${app.id}/keys`, { name, scopes: ['read:events'] }));
  await post(`/apps/${app.id}/keys/${keys[0].id}`, undefined, 'DELETE');
  await post(`/apps/${app.id}/keys/${keys[1].id}/rotate`, { overlapSeconds: 0 });
  await post(`/apps/${app.id}/webhooks`, { url: (await startReceiver()).url });
  const binding = { kind: 'organization', slug: 'acme-corporation' };
  const bound = await post(`/apps/${app.id}/binding`, binding, 'PUT');
  assert.deepEqual([bound.keyCount, bound.webhookCount, bound.binding.name], [2, 1, 'Acme']);
  const { body } = await owner.call('/apps');
  assert.deepEqual(
    body.data.find(({ id }: { id: string }) => id === app.id),
    bound,
  );
  assert.deepEqual((await owner.call(`/apps/${app.id}`)).body.data, bound);
  await post(`/apps/${app.id}`, undefined, 'DELETE');
});

test('the audit log names keys and webhook hosts, also after deletion', async () => {
  const app = await post('/apps', { name: 'Named' });
  const key = await post(`/apps/${app.id}/keys`, { name: 'Server', scopes: ['read:events'] });
  const { url } = await startReceiver();
  const webhook = await post(`/apps/${app.id}/webhooks`, { url: `${url}hidden-token` });
  await post(`/apps/${app.id}/keys/${key.id}`, undefined, 'DELETE');
  await post(`/apps/${app.id}/webhooks/${webhook.id}/rotate-secret`);
  const names = async () => {
    const { text, body } = await owner.call(`/audit?app=${app.id}`);
    assert.ok(!text.includes('hidden-token'));
    return body.data.map(({ action, subject }: any) => [action, subject.name]);
  };
  const host = new URL(url).host;
  assert.deepEqual(await names(), [
    ['webhook.secret_rotated', host],
    ['key.revoked', 'Server'],
    ['webhook.created', host],
    ['key.created', 'Server'],
    ['app.created', 'Named'],
  ]);
  await post(`/apps/${app.id}/webhooks/${webhook.id}`, undefined, 'DELETE');
  assert.deepEqual((await names()).slice(0, 2), [
    ['webhook.deleted', host],
    ['webhook.secret_rotated', host],
  ]);
  await post(`/apps/${app.id}`, undefined, 'DELETE');
});

test('unavailable bindings and events are shown with the reason', async () => {
  const app = await post('/apps', { name: 'Bound' });
  const { body: found } = await owner.call('/bindable?search=e');
  assert.deepEqual(
    found.data.map(({ slug, available, reason }: Record<string, unknown>) => [
      slug,
      available,
      reason,
    ]),
    [
      ['acme-corporation', true, null],
      ['zenith', false, 'You are not a manager of it.'],
    ],
  );
  const refused = await owner.call(`/apps/${app.id}/binding`, {
    method: 'PUT',
    json: { kind: 'organization', slug: 'zenith' },
  });
  assert.equal(refused.status, 403);
  const reasons = async () => {
    const { body } = await owner.call(`/apps/${app.id}/events`);
    return new Map<string, { allowed: boolean; reason: string | null }>(
      body.data.map((each: { event: string }) => [each.event, each]),
    );
  };
  const before = await reasons();
  assert.equal(before.get('org.created')?.allowed, true);
  assert.match(before.get('event.created')?.reason ?? '', /bound to an organization/);
  await post(`/apps/${app.id}/binding`, { kind: 'organization', slug: 'acme-corporation' }, 'PUT');
  const after = await reasons();
  assert.deepEqual(
    [after.get('event.created')?.allowed, after.get('event.created')?.reason],
    [true, null],
  );
  assert.equal(after.get('resource.offer.created')?.allowed, false);
  assert.equal(after.has('webhook.test'), false);
});

test('the catalogue can be read without an app, with valid examples', async () => {
  const newcomer = await signUp(service, 'newcomer@example.org');
  const { status, body } = await newcomer.call('/events');
  assert.equal(status, 200);
  assert.deepEqual(
    body.data.map(({ event }: { event: string }) => event),
    Object.keys(catalogue),
  );
  for (const { event, schema, sample } of body.data)
    assert.ok(ajv.validate(schema, sample), `${event}: ${ajv.errorsText()}`);
  assert.equal(body.pagination.total, body.data.length);
});

test('the overview has failing webhooks and expiring keys', async () => {
  const app = await post('/apps', { name: 'Troubled' });
  const soon = new Date(Date.now() + 13 * 86_400_000).toISOString();
  const later = new Date(Date.now() + 15 * 86_400_000).toISOString();
  for (const [name, expiresAt] of [
    ['Soon', soon],
    ['Later', later],
    ['Never', null],
  ])
    await post(`/apps/${app.id}/keys`, { name, scopes: ['read:events'], expiresAt });
  const good = await startReceiver();
  const bad = await startReceiver((response) => response.writeHead(500).end());
  await post(`/apps/${app.id}/webhooks`, { url: good.url });
  const ill = await post(`/apps/${app.id}/webhooks`, { url: bad.url });
  await put(database, 'alliances', [{ name: 'Northern League' }], { emitEvents: true });
  await queueDrained(database);
  const { body } = await owner.call('/overview');
  assert.deepEqual(
    body.data.keys.map(({ name }: { name: string }) => name),
    ['Soon'],
  );
  assert.deepEqual(
    body.data.webhooks.map(({ webhookId, state }: Record<string, string>) => [webhookId, state]),
    [[ill.id, 'failing']],
  );
  const [trouble] = body.data.webhooks;
  assert.deepEqual([trouble.unsent, trouble.lastError.statusCode, trouble.since], [1, 500, null]);
  assert.ok(trouble.lastError.at <= trouble.failingSince);
  const stranger = await signUp(service, 'stranger@example.org');
  const nothing = (await stranger.call('/overview')).body.data;
  assert.deepEqual([nothing.webhooks, nothing.keys], [[], []]);
});

test('the audit log shows who changed an app, and names no other users', async () => {
  const app = await post('/apps', { name: 'Logged' });
  await makeKey(service, { owner: owner.email });
  const { rows } = await sql<{
    name: string;
  }>`select distinct actor_name as name from audit_log`.execute(database);
  assert.ok(
    rows.some(({ name }) => name === testActor.name),
    'somebody else did something too',
  );
  const { body } = await owner.call(`/audit?app=${app.id}`);
  const [entry] = body.data;
  assert.deepEqual(
    [body.pagination.total, entry.action, entry.actor, entry.subject],
    [
      1,
      'app.created',
      { kind: 'user', name: owner.email, isYou: true },
      { kind: 'app', id: app.id, name: 'Logged' },
    ],
  );
  const whole = await owner.call('/audit?limit=100');
  assert.ok(!whole.text.includes(testActor.name));
  const second = await owner.call('/audit?limit=1&page=2');
  assert.equal(second.body.data[0].id, whole.body.data[1].id);
});

test("tests and redeliveries count together with those of the app's keys", async () => {
  const { appId, key } = await makeKey(service, { owner: owner.email });
  const receiver = await startReceiver();
  const webhook = await post(`/apps/${appId}/webhooks`, { url: receiver.url });
  for (let index = 0; index < 5; index += 1) {
    await post(`/apps/${appId}/webhooks/${webhook.id}/test`, { event: 'org.created' });
    await service.call(`/webhooks/${webhook.id}/test`, { method: 'POST', key });
  }
  assert.equal(
    (await owner.call(`/apps/${appId}/webhooks/${webhook.id}/test`, { method: 'POST' })).status,
    429,
  );
  assert.equal(
    (await service.call(`/webhooks/${webhook.id}/test`, { method: 'POST', key })).status,
    429,
  );
});

test('searches of bodies have a limit of their own', async () => {
  const { appId } = await makeKey(service, { owner: owner.email });
  const find = async (search: string) =>
    (await owner.call(`/apps/${appId}/deliveries?search=${search}`)).status;
  for (let index = 0; index < 30; index += 1) assert.equal(await find('anvils'), 200);
  assert.equal(await find('anvils'), 429);
  assert.equal(await find(appId), 200, 'an id');
});

test('portal responses are not cached, have no CORS, and are rate limited', async () => {
  const { headers } = await owner.call('/apps', { headers: { origin: 'https://evil.example' } });
  assert.equal(headers.get('cache-control'), 'no-store');
  assert.equal(headers.get('etag'), null);
  assert.equal(headers.get('access-control-allow-origin'), null);
  assert.equal(headers.get('x-ratelimit-limit'), '100000');
  const preflight = await fetch(`${service.url}/portal/api/apps`, {
    method: 'OPTIONS',
    headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
  });
  assert.equal(preflight.headers.get('access-control-allow-origin'), null);
});

test('an API key does not work in the portal, nor a session in the public API', async () => {
  const byKey = await callPortal(service, '/apps', {
    headers: { authorization: `Bearer ${service.key}` },
  });
  assert.equal(byKey.status, 401);
  assert.equal(byKey.headers.get('www-authenticate'), null);
  const bySession = await service.call('/orgs', { key: null, headers: owner.credentials });
  assert.equal(bySession.status, 401);
});

test('during maintenance apps are read-only, and sign-in works', async () => {
  await enableMaintenance(database, testActor, { message: 'Moving.', expectedEnd: null });
  const banner = await eventually(
    async () => (await owner.call('/overview')).body.data.maintenance,
  );
  assert.equal(banner.message, 'Moving.');
  assert.equal((await owner.call('/apps')).status, 200);
  const refused = await owner.call('/apps', { method: 'POST', json: { name: 'Late' } });
  assert.deepEqual([refused.status, refused.body.error.code], [503, 'maintenance']);
  assert.ok(Number(refused.headers.get('retry-after')) > 0);
  const meanwhile = await signUp(service, 'meanwhile@example.org');
  const json = { name: 'Renamed' };
  const renamed = await meanwhile.call('/account', { method: 'PATCH', json });
  assert.equal(renamed.status, 200);
  await disableMaintenance(database, testActor);
});

test('a search for what an app can be bound to has pages: what one manages, then the rest by name', async () => {
  const names = Array.from({ length: 60 }, (_, n) => `Pageable ${String(n).padStart(2, '0')}`);
  await put(service.database, 'orgs', [
    ...names.map((name) => ({ name, managers: name.endsWith('59') ? [owner.email] : [] })),
    { name: 'Pageable hidden', listed: false },
    { name: 'Pageable own', listed: false, managers: [owner.email] },
  ]);
  await put(service.database, 'alliances', [{ slug: 'pageable', name: 'Pageable 10b' }]);
  await service.settled();
  const found: string[] = [];
  for (const page of [1, 2, 3, 4]) {
    const { body } = await owner.call(`/bindable?search=pageable&limit=20&page=${page}`);
    assert.equal(body.pagination.total, 62);
    found.push(...body.data.map(({ name }: { name: string }) => name));
  }
  const rest = [...names.slice(0, 59), 'Pageable 10b'].toSorted();
  assert.deepEqual(found, ['Pageable 59', 'Pageable own', ...rest]);
});
