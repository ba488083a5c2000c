import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { sql } from '../../src/database/database.ts';
import { put } from '../support/directory.ts';
import { password, personOf, postPortal, signInAs, signUp } from '../support/portal.ts';
import { startTestService } from '../support/service.ts';
import { eventually } from '../support/eventually.ts';

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
  await sql`
    with user_id as (select id from users where email = ${ada.email}),
    operator as (insert into operators (account_id, role) select id, 'read-only' from user_id),
    proven as (update sessions set second_factor_at = now() where user_id in (select id from user_id))
    insert into passkeys (id, user_id, name, credential_id, public_key, counter)
    select uuid_v7(), id, 'Laptop', 'credential', '', 0 from user_id
  `.execute(database);

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
  assert.ok(Date.parse(body.account.createdAt) <= Date.now());
  assert.equal(body.account.operatorRole, 'read-only');
  assert.deepEqual(
    body.secondFactor.passkeys.map(({ name }: any) => name),
    ['Laptop'],
  );
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

test('an app that is lost while the export is written is left out from then on, and a role counts as it is', async () => {
  const owner = await signUp(service, 'owner@example.org');
  const member = await signUp(service, 'member@example.org');
  const [lost, changed] = [await createApp(owner, 'Lost'), await createApp(owner, 'Changed')];
  for (const { id } of [lost, changed])
    await sql`
      insert into app_members (app_id, email, role) values (${id}, ${member.email}, 'developer')
    `.execute(database);
  const exporting = await database.transaction().execute(async (tx) => {
    await sql`lock table webhook_health in access exclusive mode`.execute(tx);
    const started = member.call('/account/export');
    await waitsForWebhooks();
    await sql`delete from app_members where app_id = ${lost.id} and email = ${member.email}`.execute(
      tx,
    );
    await sql`
      update app_members set role = 'viewer' where app_id = ${changed.id} and email = ${member.email}
    `.execute(tx);
    return { started };
  });
  const { status, body, text } = await exporting.started;
  assert.equal(status, 200);
  assert.deepEqual([body.apps.length, body.keys.length], [2, 2]);
  assert.deepEqual(
    body.webhooks.map(({ appId, url }: any) => [appId, url]),
    [[changed.id, 'https://chat.example.org/…']],
  );
  assert.ok(!text.includes('token-in-path'));
});

for (const [lost, lose] of [
  ['its session ends', (id: string) => sql`delete from sessions where user_id = ${id}`],
  [
    'the account is suspended',
    (id: string) => sql`insert into suspensions (account_id, reason) values (${id}, 'Reason')`,
  ],
  [
    'another export has taken its place',
    (id: string) => sql`update account_exports set id = gen_random_uuid() where user_id = ${id}`,
  ],
  [
    'the account has another address',
    (id: string) => sql`update users set email = 'new@example.org' where id = ${id}`,
  ],
] as const)
  test(`an export breaks off when ${lost}`, async () => {
    const hal = await signUp(service, `hal-${randomUUID()}@example.org`);
    await createApp(hal, 'Herald');
    const { data } = (await hal.call('/session')).body;
    const exporting = await database.transaction().execute(async (tx) => {
      await sql`lock table webhook_health in access exclusive mode`.execute(tx);
      const started = fetch(`${service.url}/portal/api/account/export`, {
        headers: hal.credentials,
      });
      await waitsForWebhooks();
      await lose(data.user.id).execute(tx);
      return { started };
    });
    const response = await exporting.started;
    assert.equal(response.status, 200);
    let text = '';
    await assert.rejects(async () => {
      for await (const part of response.body ?? []) text += Buffer.from(part).toString();
    }, /terminated/);
    assert.match(text, /"keys":/);
    assert.ok(!text.includes('token-in-path'));
    await sql`delete from account_exports`.execute(database);
  });

/** An export has read the apps and their keys, and waits for their webhooks. */
async function waitsForWebhooks(): Promise<void> {
  await eventually(async () => {
    const { rows } = await sql`
      select from pg_locks where not granted and relation = 'webhook_health'::regclass
    `.execute(database);
    return rows.length > 0;
  });
}

test('an account has one export at a time, over all processes, also after a client that went away', async () => {
  const other = await startTestService({ beside: service });
  const fay = await signUp(service, 'fay@example.org');
  const gone = new AbortController();
  await database.transaction().execute(async (tx) => {
    await sql`lock table api_keys in access exclusive mode`.execute(tx);
    const cut = fetch(`${service.url}/portal/api/account/export`, {
      headers: fay.credentials,
      signal: gone.signal,
    }).then((response) => response.text());
    const ended = assert.rejects(cut);
    await eventually(async () => (await holds()) === 1);
    for (const each of [service, other]) {
      const refused = await personOf(each, fay.email, fay.credentials['cookie'] ?? '').call(
        '/account/export',
      );
      assert.deepEqual([refused.status, refused.body.error.code], [409, 'conflict']);
    }
    gone.abort();
    await ended;
  });
  await eventually(async () => (await holds()) === 0);
  assert.equal((await fay.call('/account/export')).status, 200);

  // Its process was killed.
  await sql`
    insert into account_exports (user_id, id, ends_at)
    select id, gen_random_uuid(), now() from users where email = ${fay.email}
  `.execute(database);
  assert.equal((await fay.call('/account/export')).status, 200);

  async function holds(): Promise<number> {
    const { rows } = await sql`select from account_exports`.execute(database);
    return rows.length;
  }
});

test('the export stays small however long the User-Agent and however many the sessions', async () => {
  const gus = await signUp(service, 'gus@example.org');
  // As earlier versions stored them.
  await sql`
    insert into sessions (id, user_id, token, user_agent, created_at, updated_at, expires_at)
    select gen_random_uuid(), id, gen_random_uuid()::text, repeat('x', 15000), now() - n * interval '1 hour', now(), now() + interval '1 day'
    from users, generate_series(1, 60) n where email = ${gus.email}
  `.execute(database);
  for (let count = 0; count < 5; count += 1) {
    const headers = { 'user-agent': 'x'.repeat(15_000) };
    const json = { email: gus.email, password };
    assert.equal((await postPortal(service, '/sign-in', json, { headers })).status, 200);
  }
  const { rows } = await sql<{ longest: number }>`
    select max(length(user_agent)) as longest from sessions s join users u on u.id = s.user_id
    where u.email = ${gus.email} and s.created_at > now() - interval '1 minute'
  `.execute(database);
  assert.deepEqual(rows, [{ longest: 300 }]);
  const last = await signInAs(service, gus.email);
  const { body, text } = await last.call('/account/export');
  assert.equal(body.sessions.length, 50);
  const lengths = body.sessions.map(({ userAgent }: any) => userAgent.length);
  assert.equal(Math.max(...lengths), 300);
  assert.ok(text.length < 100_000, `${text.length} bytes`);
});
