/** What operators change in the console: quotas, notices, syncs, rows that were refused, entries of the directory; and who learns of it. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { setMember } from '../../src/access/members.ts';
import { sql } from '../../src/database/database.ts';
import { testActor } from '../support/actor.ts';
import { lockDirectory } from '../../src/directory/lock-directory.ts';
import { announce, blueprint, put } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { startInternalApi } from '../support/internal-api.ts';
import { makeOperator } from '../support/operator.ts';
import { signUp } from '../support/portal.ts';
import { makeKey, startTestService } from '../support/service.ts';

const service = await startTestService();
const { database } = service;
const operator = await makeOperator(service, 'operator@example.org');

type Options = { method?: string; json?: object; headers?: Record<string, string> };
const call = (path: string, options: Options = {}) => operator.call(`/operator${path}`, options);
const send = (method: string, path: string, json?: object) =>
  call(path, { method, ...(json && { json }) });

async function newest(subject: string): Promise<any> {
  return (await call(`/audit?subject=${subject}`)).body.data[0];
}

test('quotas of an app are changed in the console as on the command line', async () => {
  const { appId } = await makeKey(service);
  const path = `/apps/${appId}/quotas`;
  const changed = await send('PATCH', path, { webhooks: 2, rate: 50 });
  assert.deepEqual(
    changed.body.data.map(({ quota, limit, isDefault }: any) => [quota, limit, isDefault]),
    [
      ['rate', 50, false],
      ['webhooks', 2, false],
      ['keys', 20, true],
      ['members', 50, true],
    ],
  );
  const { action, actor, details } = await newest(appId);
  assert.deepEqual(
    [action, actor.kind, actor.name, details.quotas],
    ['app.quotas_changed', 'operator', 'operator@example.org', { rate: 50, webhooks: 2 }],
  );
  assert.equal((await send('PATCH', path, { rate: null })).body.data[0].limit, null);
  for (const json of [{}, { rate: 0 }, { rate: -1 }, { rate: 1.5 }, { seats: 3 }, { keys: 1_001 }])
    assert.equal((await send('PATCH', path, json)).status, 400, JSON.stringify(json));
});

test('maintenance is turned on and off, and an operator goes on working', async () => {
  const on = await send('PUT', '/maintenance', { enabled: true, message: 'Moving.' });
  assert.equal(on.body.data.message, 'Moving.');
  await eventually(async () => (await service.call('/orgs')).status === 503);
  const { appId } = await makeKey(service);
  assert.equal((await send('PATCH', `/apps/${appId}/quotas`, { keys: 5 })).status, 200);
  assert.equal((await send('PUT', '/maintenance', { enabled: false })).body.data.enabled, false);
  await eventually(async () => (await service.call('/orgs')).status === 200);
});

test('announcements are made, listed and ended', async () => {
  const made = await send('POST', '/announcements', { text: 'We move.', severity: 'warning' });
  assert.equal(made.status, 201);
  const { id } = made.body.data;
  const listed = (await call('/announcements')).body.data;
  assert.deepEqual(
    listed.map(({ text, severity, endsAt }: any) => [text, severity, endsAt]),
    [['We move.', 'warning', null]],
  );
  for (const json of [
    { text: '' },
    { text: 'two\nlines' },
    { text: 'Over.', endsAt: '2020-01-01T00:00:00Z' },
    { text: 'When?', startsAt: 'tomorrow' },
    { text: 'How?', severity: 'loud' },
  ])
    assert.equal((await send('POST', '/announcements', json)).status, 400, JSON.stringify(json));
  assert.equal((await send('DELETE', `/announcements/${id}`)).status, 200);
  assert.equal((await send('DELETE', `/announcements/${id}`)).status, 404);
  assert.deepEqual((await call('/announcements')).body.data, []);
});

test('a sync without a source says what to set', async () => {
  const { status, body } = await send('POST', '/syncs/blueprints', {});
  assert.deepEqual([status, body.error.code], [409, 'conflict']);
  assert.match(body.error.message, /SYNC_BLUEPRINTS_URL/);
  assert.deepEqual((await call('/syncs')).body.data, []);
});

test('rows that were refused are listed, retried and dropped', async () => {
  const ids: string[] = [];
  for (const name of ['one', 'two', 'three']) {
    const { rows } = await sql<{ id: string }>`
      insert into published_events (id, name, org_id, data, created_at, rejected_at, reason)
      values (uuid_v7(), 'org.created', uuid_v7(), '{}', now(), now(), ${name}) returning id
    `.execute(database);
    ids.push(rows[0]?.id ?? '');
  }
  const listed = (await call('/refused')).body.data;
  assert.deepEqual(listed.map(({ id }: any) => id).sort(), [...ids].sort());
  const gone = '0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f';
  const both = await send('POST', '/refused/retry', { ids: [ids[0] ?? '', gone] });
  assert.equal(both.status, 404);
  // Nothing is half done.
  assert.equal((await call('/refused')).body.data.length, 3);
  const retried = await send('POST', '/refused/retry', { ids: [ids[0] ?? ''] });
  assert.equal(retried.body.data.count, 1);
  assert.equal((await send('POST', '/refused/drop', { ids: ids.slice(1) })).body.data.count, 2);
  const [dropped] = (await call('/audit?action=event.dropped')).body.data;
  assert.deepEqual(dropped.details.ids.sort(), ids.slice(1).sort());
  assert.deepEqual((await call('/refused')).body.data, []);
  for (const json of [{ ids: [] }, {}, { ids: ['x'] }, { ids: 'all' }, { ids: null }])
    assert.equal((await send('POST', '/refused/drop', json)).status, 400, JSON.stringify(json));
});

test('an entry is edited under its version, and its history has the values before and after', async () => {
  await put(database, 'orgs', [{ slug: 'acme', name: 'Acme', description: 'Makers.' }]);
  const read = await call('/orgs/acme');
  const etag = read.headers.get('etag') ?? '';
  assert.match(etag, /^"/);
  assert.equal(read.headers.get('cache-control'), 'no-store');
  const json = {
    description: 'Makers of everything.',
    notes: 'Called us.',
    managers: ['eve@example.org'],
  };
  const headers = { 'if-match': etag };
  const changed = await call('/orgs/acme', { method: 'PATCH', json, headers });
  assert.deepEqual([changed.status, changed.body.data.notes], [200, 'Called us.']);
  // Somebody else has changed it since.
  assert.equal((await call('/orgs/acme', { method: 'PATCH', json, headers })).status, 412);
  const { id } = read.body.data;
  const history = (await call(`/audit?subject=${id}`)).body.data;
  assert.deepEqual(
    history.map(({ action, actor }: any) => [action, actor.kind, actor.name]).sort(),
    [
      ['entry.changed', 'operator', 'operator@example.org'],
      ['manager.added', 'operator', 'operator@example.org'],
    ],
  );
  const { details } = history.find(({ action }: any) => action === 'entry.changed');
  assert.deepEqual(details, {
    slug: 'acme',
    name: 'Acme',
    changes: { description: ['Makers.', 'Makers of everything.'] },
    // The log keeps everything, so it has no private values.
    private: ['notes'],
  });
  // What changes nothing is no change.
  assert.equal((await send('PATCH', '/orgs/acme', { notes: 'Called us.' })).status, 200);
  assert.equal((await call(`/audit?subject=${id}`)).body.data.length, 2);
  assert.equal((await send('DELETE', '/orgs/acme')).status, 200);
  assert.ok(
    (await call(`/audit?subject=${id}`)).body.data.some(
      ({ action, details: of }: any) =>
        action === 'entry.deleted' && of.name === 'Acme' && of.changes === undefined,
    ),
  );
});

test('saves that wait for an import keep nobody waiting, and are refused after a moment', async () => {
  const internal = await startInternalApi(service);
  await put(database, 'orgs', [{ slug: 'locked', name: 'Locked' }]);
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: locked, resolve: lock } = Promise.withResolvers<void>();
  const holder = database.transaction().execute(async (tx) => {
    await lockDirectory(tx, 'orgs');
    lock();
    await released;
  });
  await locked;
  const saves = Array.from({ length: 2 }, (_, n) =>
    send('PATCH', '/orgs/locked', { memberCount: n + 1 }),
  );
  await eventually(async () => {
    const { rows } = await sql<{ waiting: number }>`
      select count(*) as waiting from pg_locks where locktype = 'advisory' and not granted
    `.execute(database);
    return (rows[0]?.waiting ?? 0) >= 2;
  });
  const made = await internal.call('/blueprints/free', {
    method: 'PUT',
    json: blueprint({ key: 'free' }),
  });
  assert.equal(made.status, 201);
  assert.equal((await service.call('/orgs?limit=1')).status, 200);
  for (const { status, body } of await Promise.all(saves)) {
    assert.equal(status, 503);
    assert.match(body.error.message, /such as an import, has locked this/);
  }
  const { appId } = await makeKey(service);
  assert.equal((await send('PATCH', `/apps/${appId}/quotas`, { keys: 5 })).status, 200);
  release();
  await holder;
  assert.equal((await send('PATCH', '/orgs/locked', { memberCount: 3 })).status, 200);
  await database.transaction().execute(async (tx) => {
    // That of all commits which move a revision.
    await sql`select pg_advisory_xact_lock(70420001)`.execute(tx);
    const late = await send('PATCH', `/apps/${appId}/quotas`, { keys: 6 });
    assert.deepEqual([late.status, late.headers.get('retry-after')], [503, '5']);
  });
});

test('alliances and blueprints are edited, too, and one that is created has a beginning', async () => {
  await put(database, 'alliances', [{ slug: 'league', name: 'League' }]);
  await put(database, 'blueprints', [blueprint({ key: 'granite', name: 'Granite' })]);
  for (const [path, kind] of [
    ['/alliances/league', 'alliance'],
    ['/blueprints/granite', 'blueprint'],
  ] as const) {
    const { body } = await send('PATCH', path, { name: 'Renamed' });
    const entry = await newest(body.data.id);
    assert.deepEqual(
      [entry.action, entry.subject.kind, entry.details.changes.name[1]],
      ['entry.changed', kind, 'Renamed'],
    );
  }
  const made = await send('PUT', '/orgs/fresh', { name: 'Fresh' });
  assert.equal(made.status, 201);
  assert.equal((await newest(made.body.data.id)).action, 'entry.created');
});

test('a URL is shown to whoever says why, and its owners see that, without a name', async () => {
  const { appId, key, owner } = await makeKey(service);
  const json = { url: 'https://hooks.example.org/in?token=hunter2', events: ['org.created'] };
  const { body } = await service.call('/webhooks', { method: 'POST', key, json });
  const path = `/webhooks/${body.data.id}/url`;
  for (const bad of [{}, { reason: '' }, { reason: ' ' }, { reason: 'two\nlines' }])
    assert.equal((await send('POST', path, bad)).status, 400);
  assert.equal((await call(`/audit?subject=${body.data.id}`)).body.data.length, 1);
  const { body: shown } = await send('POST', path, { reason: 'Nothing arrives.' });
  assert.equal(shown.data.url, json.url);
  const seen = await newest(body.data.id);
  assert.deepEqual(
    [seen.action, seen.appId, seen.details],
    ['webhook.url_revealed', appId, { host: 'hooks.example.org', reason: 'Nothing arrives.' }],
  );
  const channel = {
    format: 'discord',
    url: 'https://discord.com/api/webhooks/1/hunter2',
    events: ['org.created'],
  };
  const chat = await service.call('/webhooks', { method: 'POST', key, json: channel });
  const reason = 'Nothing arrives.';
  const refused = await send('POST', `/webhooks/${chat.body.data.id}/url`, { reason });
  assert.equal(refused.status, 409);
  assert.match(refused.body.error.message, /chat channel is a credential/);
  await send('PUT', `/apps/${appId}/suspension`, { reason: 'Too much.' });
  const member = await signUp(service, 'member@example.org');
  await database
    .transaction()
    .execute((tx) => setMember(tx, testActor, { appId, email: member.email, role: 'viewer' }));
  const log = await member.call(`/audit?app=${appId}`);
  assert.ok(log.body.data.some(({ action }: any) => action === 'webhook.url_revealed'));
  assert.ok(log.body.data.some(({ action }: any) => action === 'app.suspended'));
  assert.doesNotMatch(log.text, /operator@example\.org|hunter2/);
  assert.ok(owner.length > 0);
});

test('keys and deliveries of everybody are found, a page at a time', async () => {
  const { appId, keyId, key } = await makeKey(service);
  const found = await call(`/keys?search=${appId}`);
  assert.deepEqual(
    found.body.data.map((each: any) => [each.id, each.appName, each.last4, each.revokedAt]),
    [[keyId, 'Test app', key.slice(-4), null]],
  );
  const isStopped = async () =>
    (await call(`/keys?search=${keyId}`)).body.data[0].appSuspended as boolean;
  assert.equal(await isStopped(), false);
  await send('PUT', `/apps/${appId}/suspension`, { reason: 'Too much.' });
  assert.equal(await isStopped(), true);
  await send('DELETE', `/apps/${appId}/suspension`);
  for (const search of [key.slice(-4), keyId, keyId.toUpperCase()])
    assert.equal((await call(`/keys?search=${search}`)).body.data[0].id, keyId);
  assert.deepEqual((await call(`/keys?search=${randomUUID()}`)).body.data, []);
  assert.doesNotMatch(found.text, new RegExp(key));
  const json = { url: 'https://hooks.example.org/in', events: ['org.created'] };
  const { body } = await service.call('/webhooks', { method: 'POST', key, json });
  const webhookId: string = body.data.id;
  await sql`
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, due_at)
    select uuid_v7(), uuid_v7(), 'org.created', ${webhookId}, 'event', now()
    from generate_series(1, 60) n
  `.execute(database);
  const first = await call(`/deliveries?webhook=${webhookId}`);
  assert.deepEqual([first.body.data.length, first.body.pagination.hasMore], [50, true]);
  assert.deepEqual(
    [first.body.data[0].host, first.body.data[0].appName],
    ['hooks.example.org', 'Test app'],
  );
  const next = await call(
    `/deliveries?webhook=${webhookId}&before=${first.body.pagination.nextCursor}`,
  );
  assert.deepEqual([next.body.data.length, next.body.pagination.hasMore], [10, false]);
  const ids = [...first.body.data, ...next.body.data].map(({ id }: any) => id);
  assert.equal(new Set(ids).size, 60);
  assert.deepEqual((await call(`/deliveries?webhook=${webhookId}&status=failed`)).body.data, []);
  assert.equal((await call(`/webhooks?id=${webhookId}`)).body.pagination.total, 1);
  assert.equal((await call(`/webhooks?app=${appId}`)).body.pagination.total, 1);
});

test('of a suspended webhook, the list says whether it or its app is suspended', async () => {
  const { appId, key } = await makeKey(service);
  const json = { url: 'https://hooks.example.org/in' };
  const { body } = await service.call('/webhooks', { method: 'POST', key, json });
  const webhookId: string = body.data.id;
  const suspended = async () => {
    const [webhook] = (await call(`/webhooks?id=${webhookId}`)).body.data;
    return [webhook.health, webhook.suspended, webhook.reason];
  };
  assert.deepEqual(await suspended(), ['new', null, null]);
  await send('PUT', `/apps/${appId}/suspension`, { reason: 'The app.' });
  assert.deepEqual(await suspended(), ['suspended', 'app', 'The app.']);
  await send('PUT', `/webhooks/${webhookId}/suspension`, { reason: 'The webhook.' });
  assert.deepEqual(await suspended(), ['suspended', 'webhook', 'The webhook.']);
  await send('DELETE', `/webhooks/${webhookId}/suspension`);
  assert.deepEqual(await suspended(), ['suspended', 'app', 'The app.']);
});

test('the audit log goes back a page at a time, and keeps to its filters', async () => {
  await sql`
    insert into audit_log (actor_kind, actor_name, action, subject_kind) select 'system', 'tests', 'key.created', 'key' from generate_series(1, 60)
  `.execute(database);
  const first = await call('/audit');
  const { nextCursor, hasMore } = first.body.pagination;
  assert.ok(hasMore);
  const next = await call(`/audit?before=${nextCursor}`);
  assert.ok(next.body.data.every(({ at }: any) => at <= first.body.data.at(-1).at));
  const all = [...first.body.data, ...next.body.data].map(({ id }: any) => id);
  assert.equal(new Set(all).size, all.length);
  assert.deepEqual((await call('/audit?action=key.revokd')).body.data, []);
  assert.ok(
    (await call('/audit?action=entry')).body.data.every(({ action }: any) =>
      action.startsWith('entry.'),
    ),
  );
});

test('checks are those of doctor, and the overview says how quickly the process answers', async () => {
  const { body } = await call('/checks');
  const found = new Map(body.data.map(({ check, status }: any) => [check, status]));
  for (const check of ['database', 'migrations', 'partitions', 'workers', 'queue'])
    assert.ok(found.has(check), check);
  // Decrypting all of them would keep the process from its requests.
  assert.ok(!found.has('stored_secrets'));
  await put(database, 'orgs', [{ slug: 'announced', name: 'Announced' }]);
  await announce(database, 'announced');
  const { responses } = (await call('/overview')).body.data;
  assert.ok(responses.count > 0);
  assert.ok(responses.p50Ms <= responses.p99Ms);
});
