import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../src/database/database.ts';
import { put } from './support/directory.ts';
import { signInAs, signUp } from './support/portal.ts';
import { startTestService } from './support/service.ts';

const service = await startTestService();
const { database } = service;
await put(database, 'orgs', [
  { slug: 'acme', name: 'Acme', listed: false, managers: ['ada@example.org'] },
  { slug: 'globex', name: 'Globex', managers: ['bob@example.org'] },
]);

async function createApp(who: Awaited<ReturnType<typeof signUp>>, name: string) {
  const post = async (path: string, json: object) => {
    const { status, body } = await who.call(path, { method: 'POST', json });
    assert.equal(status, 201);
    return body.data;
  };
  const { id } = await post('/apps', { name });
  const key = await post(`/apps/${id}/keys`, { name: 'Bot', scopes: ['read:directory'] });
  const url = 'https://chat.example.org/hooks/token-in-path';
  const webhook = await post(`/apps/${id}/webhooks`, { url });
  return { id, key, webhook };
}

test('the export is a file with everything about the user, and without secrets', async () => {
  const ada = await signUp(service, 'ada@example.org');
  const bob = await signUp(service, 'bob@example.org');
  const own = await createApp(ada, 'Herald');
  const json = { kind: 'organization', slug: 'acme' };
  assert.equal((await ada.call(`/apps/${own.id}/binding`, { method: 'PUT', json })).status, 200);
  const shared = await createApp(bob, 'Of Bob');
  await sql`
    insert into app_members (app_id, email, role) values (${shared.id}, ${ada.email}, 'viewer')
  `.execute(database);
  await signInAs(service, ada.email);

  const { status, headers, body, text } = await ada.call('/account/export');
  assert.equal(status, 200);
  assert.equal(headers.get('content-disposition'), 'attachment; filename="account.json"');
  assert.equal(headers.get('cache-control'), 'no-store');
  assert.equal(body.account.email, ada.email);
  assert.deepEqual(
    body.methods.map(({ provider }: any) => provider),
    ['credential'],
  );
  assert.equal(body.sessions.length, 2);
  assert.deepEqual(
    body.apps.map(({ id, role, binding }: any) => [id, role, binding?.slug ?? null]),
    [
      [own.id, 'owner', 'acme'],
      [shared.id, 'viewer', null],
    ],
  );
  assert.deepEqual(
    body.keys.map(({ appId, id, last4 }: any) => [appId, id, last4]),
    [own, shared].map(({ id, key }) => [id, key.id, key.last4]),
  );
  assert.deepEqual(
    body.webhooks.map(({ appId, url }: any) => [appId, url]),
    [
      [own.id, own.webhook.url],
      [shared.id, 'https://chat.example.org/…'],
    ],
  );
  assert.deepEqual(
    body.managed.map(({ slug }: any) => slug),
    ['acme'],
  );
  const actions = (entries: { action: string }[]) => entries.map(({ action }) => action);
  assert.deepEqual(actions(body.activity), [
    'account.signed_in',
    'account.signed_in',
    'account.created',
  ]);
  assert.deepEqual(actions(body.changes), [
    'binding.created',
    'webhook.created',
    'key.created',
    'app.created',
  ]);
  const { rows } = await sql<{ password: string; token: string }>`
    select (select password from accounts a join users u on u.id = a.user_id where u.email = ${ada.email}) as password,
      (select token from sessions s join users u on u.id = s.user_id where u.email = ${ada.email} limit 1) as token
  `.execute(database);
  const secrets = [
    own.key.key,
    own.webhook.secret,
    shared.key.key,
    ...Object.values(rows[0] ?? {}),
  ];
  for (const secret of [...secrets, 'bob@example.org'])
    assert.ok(!text.includes(secret), `the export has ${secret}`);
});

test('an export of any size has every entry once', async () => {
  const eve = await signUp(service, 'eve@example.org');
  const { body } = await eve.call('/session');
  const { id } = body.data.user;
  const count = 2_345;
  // Several have the same time.
  await sql`
    insert into audit_log (at, actor_kind, actor_id, actor_name, action, subject_kind, subject_id)
    select now() - (n / 7) * interval '1 second', 'user', ${id}, 'eve@example.org', 'key.created', 'key', n::text
    from generate_series(1, ${count}) n
  `.execute(database);
  const exported = await eve.call('/account/export');
  const keys = new Set(exported.body.changes.map(({ subject }: any) => subject.id));
  assert.deepEqual([exported.body.changes.length, keys.size], [count, count]);
});
