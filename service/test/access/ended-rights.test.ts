/** Rights that end while a request waits for a row that somebody else has locked: it changes nothing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deleteApp } from '../../src/access/apps.ts';
import { createPlatformKey, revokeKey } from '../../src/access/keys.ts';
import { setMember } from '../../src/access/members.ts';
import { suspend } from '../../src/access/suspensions.ts';
import type { OperatorRole } from '../../src/contract/console.ts';
import { sql, type Transaction } from '../../src/database/database.ts';
import { removeOperator, setOperator } from '../../src/sign-in/operators.ts';
import { testActor } from '../support/actor.ts';
import { codeOf } from '../support/authenticator.ts';
import { put } from '../support/directory.ts';
import { startInternalApi } from '../support/internal-api.ts';
import { makeOperator } from '../support/operator.ts';
import {
  addressTokenOf,
  password,
  postPortal,
  printedToken,
  signUp,
  type Person,
} from '../support/portal.ts';
import { makeKey, startTestService } from '../support/service.ts';
import { waitingForLocks } from '../support/waiting-for-locks.ts';

const service = await startTestService();
const { database } = service;
const inTransaction = <T>(work: (tx: Transaction) => Promise<T>) =>
  database.transaction().execute(work);

/** Locks rows until it is called, and may change them then. */
function holdRows(rows: ReturnType<typeof sql>) {
  return hold(sql`${rows} for update`);
}

async function hold(lock: ReturnType<typeof sql>) {
  const holder = await database.startTransaction().execute();
  await lock.execute(holder);
  return async (change?: ReturnType<typeof sql>) => {
    await change?.execute(holder);
    await holder.commit().execute();
  };
}

const waiting = (count: number) => waitingForLocks(database, count);

async function stateOf(webhookId: string): Promise<unknown> {
  const { rows } = await sql`select * from webhooks where id = ${webhookId}`.execute(database);
  return rows;
}

const newPassword = { currentPassword: password, newPassword: `${password} 2` };
const webhook = { url: 'https://hooks.example.org/ours' };
const changes = [
  ['PATCH', '', { url: 'https://elsewhere.example.org/' }],
  ['POST', '/rotate-secret', {}],
  ['DELETE', '', undefined],
] as const;

/** An app of one person with a webhook. */
async function makeApp(name: string) {
  const owner = await signUp(service, `owner-${name}@example.org`);
  const made = await owner.call('/apps', { method: 'POST', json: { name: 'App' } });
  const appId: string = made.body.data.id;
  const path = `/apps/${appId}`;
  const { body } = await owner.call(`${path}/webhooks`, { method: 'POST', json: webhook });
  return { owner, appId, path, id: body.data.id as string };
}

/** The same, and another person who is a developer of it. */
async function makeSharedApp(name: string) {
  const app = await makeApp(name);
  const developer = await signUp(service, `developer-${name}@example.org`);
  const member = { appId: app.appId, email: developer.email, role: 'developer' } as const;
  await inTransaction((tx) => setMember(tx, testActor, member));
  return { ...app, developer };
}

async function removeMember(owner: Person, path: string, email: string): Promise<void> {
  const { body } = await owner.call(`${path}/members`);
  const { id } = body.data.find((member: { email: string }) => member.email === email);
  assert.equal((await owner.call(`${path}/members/${id}`, { method: 'DELETE' })).status, 200);
}

for (const [method, below, json] of changes)
  test(`a removed member's ${method} ${below} on a webhook`, async () => {
    const name = `${method}${below.replace('/', '-')}`.toLowerCase();
    const { owner, developer, path, id } = await makeSharedApp(name);
    const before = await stateOf(id);
    const release = await holdRows(sql`select from webhooks where id = ${id}`);
    const change = developer.call(`${path}/webhooks/${id}${below}`, {
      method,
      ...(json && { json }),
    });
    await waiting(1);
    await removeMember(owner, path, developer.email);
    await release();
    assert.equal((await change).status, 404);
    assert.deepEqual(await stateOf(id), before);
  });

async function failOne(webhookId: string): Promise<string> {
  const { rows } = await sql<{ id: string }>`
    with event as (
      insert into events (id, name, audience, data, position) values (uuid_v7(), 'org.created', 'global', '{}', 1) returning id
    )
    insert into deliveries (id, event_id, event, webhook_id, status, attempt_count, created_at)
    select uuid_v7(), event.id, 'org.created', ${webhookId}, 'failed', 6, now() from event returning id
  `.execute(database);
  return rows[0]?.id ?? '';
}

test('a removed member sends nothing again', async () => {
  const { owner, developer, path, id } = await makeSharedApp('again');
  const appId = path.replace('/apps/', '');
  const delivery = await failOne(id);
  const since = new Date(Date.now() - 60_000).toISOString();
  for (const [below, json] of [
    [`/webhooks/${id}/deliveries/${delivery}/redeliver`, {}],
    ['/deliveries/redeliver', { deliveryIds: [delivery] }],
    [`/webhooks/${id}/recover`, { since }],
    [`/webhooks/${id}/replay`, { since }],
  ] as const) {
    const release = await holdRows(sql`select from webhooks where id = ${id}`);
    const change = developer.call(path + below, { method: 'POST', json });
    await waiting(1);
    await removeMember(owner, path, developer.email);
    await release();
    assert.equal((await change).status, 404, below);
    const { rows } = await sql`
      select from pending_deliveries where webhook_id = ${id}
    `.execute(database);
    assert.equal(rows.length, 0, below);
    await inTransaction((tx) =>
      setMember(tx, testActor, { appId, email: developer.email, role: 'developer' }),
    );
  }
});

/** A suspension waits for changes that lock the account. */
const endings = {
  'in a session that has ended': { status: 401, of: ['apps', 'users'], end: endSessionsOf },
  'of an account that is suspended': { status: 403, of: ['apps'], end: suspendAccount },
};

async function endSessionsOf(userId: string): Promise<void> {
  await sql`delete from sessions where user_id = ${userId}`.execute(database);
}

async function suspendAccount(id: string): Promise<void> {
  const account = { kind: 'account', id, appId: null, details: {} } as const;
  await inTransaction((tx) => suspend(tx, testActor, account, 'It was stolen.'));
}

async function idOf(email: string): Promise<string> {
  const { rows } = await sql<{ id: string }>`select id from users where email = ${email}`.execute(
    database,
  );
  return rows[0]?.id ?? '';
}

/** The token of a change to the address. */
async function addressToken(person: Person, email: string): Promise<string | null> {
  const json = { email: email.replaceAll(' ', '-') };
  const asked = await person.call('/account/address-changes', { method: 'POST', json });
  assert.equal(asked.status, 202, asked.text);
  return addressTokenOf(service.printed.at(-1) ?? '');
}

for (const [what, rows, method, path, json] of [
  ['a new webhook', 'apps', 'POST', '/webhooks', webhook],
  ['a new key', 'apps', 'POST', '/keys', { name: 'Key', scopes: ['read:directory'] }],
  ['another name', 'apps', 'PATCH', '', { name: 'Other' }],
  ['an invitation', 'apps', 'POST', '/invitations', { email: 'x@example.org', role: 'viewer' }],
  ['new recovery codes', 'users', 'POST', '/account/recovery-codes', {}],
  ['removing a factor', 'users', 'DELETE', '/account/authenticator', undefined],
  ['deleting the account', 'users', 'POST', '/account/deletion', { apps: [] }],
  ['another password', 'users', 'PUT', '/account/password', newPassword],
  ['another address', 'users', 'PUT', '/account/address', { token: '' }],
] as const)
  for (const [ended, { status: expected, end }] of Object.entries(endings).filter(([, { of }]) =>
    of.includes(rows),
  ))
    test(`${what}, ${ended}`, async () => {
      const { owner, path: app } = await makeApp(`${what} ${expected}`.replaceAll(' ', '-'));
      const { secret } = (await owner.call('/account/authenticator', { method: 'POST' })).body.data;
      const code = codeOf(secret);
      await owner.call('/account/authenticator/confirm', { method: 'POST', json: { code } });
      const more: object = {
        ...(json && 'apps' in json && { email: owner.email }),
        ...(json && 'token' in json && { token: await addressToken(owner, `${what}@example.com`) }),
      };
      const release = await holdRows(
        rows === 'apps'
          ? sql`select from apps where id = ${app.replace('/apps/', '')}`
          : sql`select from users where email = ${owner.email}`,
      );
      const change = owner.call(rows === 'apps' ? app + path : path, {
        method,
        ...(json && { json: { ...json, ...more } }),
      });
      await waiting(1);
      await end(await idOf(owner.email));
      await release();
      const { status, text } = await change;
      assert.equal(status, expected, text);
    });

for (const [method, below, json] of [['POST', null, webhook] as const, ...changes])
  test(`${method} ${below ?? 'of a new webhook'} with a key that is revoked or suspended`, async () => {
    for (const [status, end] of [
      [401, (tx: Transaction, id: string) => revokeKey(tx, testActor, id)],
      [
        403,
        (tx: Transaction, id: string, appId: string) =>
          suspend(tx, testActor, { kind: 'key', id, appId, details: {} }, 'It leaked.'),
      ],
    ] as const) {
      const { key, keyId, appId } = await makeKey(service);
      const made = await service.call('/webhooks', { method: 'POST', key, json: webhook });
      const { id } = made.body.data;
      const before = await stateOf(id);
      const release = await holdRows(
        below === null
          ? sql`select from apps where id = ${appId}`
          : sql`select from webhooks where id = ${id}`,
      );
      const path = below === null ? '/webhooks' : `/webhooks/${id}${below}`;
      const change = service.call(path, { method, key, ...(json && { json }) });
      await waiting(1);
      await inTransaction((tx) => end(tx, keyId, appId));
      await release();
      assert.equal((await change).status, status);
      assert.deepEqual(await stateOf(id), before);
      const { rows } = await sql`select from webhooks where app_id = ${appId}`.execute(database);
      assert.equal(rows.length, 1);
    }
  });

test('a change of somebody who is no operator any more, or in a session that has ended', async () => {
  const operator = await makeOperator(service, 'operator@example.org');
  const { appId, id } = await makeApp('operated');
  await put(database, 'orgs', [{ slug: 'operated', name: 'Operated' }]);
  const name = (role: OperatorRole) =>
    inTransaction((tx) => setOperator(tx, testActor, { account: operator.email, role }));
  const reason = { reason: 'Spam.' };
  for (const [lock, method, path, json] of [
    [
      sql`select from orgs where slug = 'operated' for update`,
      'DELETE',
      '/orgs/operated',
      undefined,
    ],
    [
      sql`select from orgs where slug = 'operated' for update`,
      'PATCH',
      '/orgs/operated',
      { memberCount: 1 },
    ],
    [sql`lock table maintenance in exclusive mode`, 'PUT', '/maintenance', { enabled: true }],
    [
      sql`select from apps where id = ${appId} for update`,
      'PATCH',
      `/apps/${appId}/quotas`,
      { keys: 50 },
    ],
    [
      sql`select from webhooks where id = ${id} for update`,
      'PUT',
      `/webhooks/${id}/suspension`,
      reason,
    ],
  ] as const)
    for (const [expected, end] of [
      [404, () => inTransaction((tx) => removeOperator(tx, testActor, operator.email))],
      [403, () => name('read-only')],
    ] as const) {
      const release = await hold(lock);
      const change = operator.call(`/operator${path}`, { method, ...(json && { json }) });
      await waiting(1);
      await end();
      await release();
      assert.equal((await change).status, expected, path);
      await name('operator');
    }
  const release = await holdRows(sql`select from orgs where slug = 'operated'`);
  const change = operator.call('/operator/orgs/operated', { method: 'DELETE' });
  await waiting(1);
  await endSessionsOf(await idOf(operator.email));
  await release();
  assert.equal((await change).status, 401);
  const { rows } = await sql`select from orgs where slug = 'operated'`.execute(database);
  assert.equal(rows.length, 1);
});

test('writes with a platform key that is revoked', async () => {
  const internal = await startInternalApi(service);
  await put(database, 'orgs', [{ slug: 'written', name: 'Written' }]);
  const written = sql`select from orgs where slug = 'written' for update`;
  for (const [lock, path, json] of [
    [written, '/orgs/written', { name: 'Other' }],
    [written, '/orgs/written/managers', { managers: ['eve@example.org'] }],
    [sql`lock table maintenance in exclusive mode`, '/maintenance', { enabled: true }],
  ] as const) {
    const { id, key } = await inTransaction((tx) =>
      createPlatformKey(tx, testActor, { name: 'Platform', expiresAt: null }),
    );
    const release = await hold(lock);
    const change = internal.call(path, { method: 'PUT', key, json });
    await waiting(1);
    await inTransaction((tx) => revokeKey(tx, testActor, id));
    await release();
    assert.equal((await change).status, 401, path);
  }
  const { rows } = await sql<{ name: string }>`
    select name from orgs where slug = 'written'
  `.execute(database);
  assert.deepEqual(rows, [{ name: 'Written' }]);
});

test('a webhook of an app that is deleted meanwhile', async () => {
  const { owner, appId, path } = await makeApp('deleted-app');
  const holder = await database.startTransaction().execute();
  await deleteApp(holder, testActor, appId);
  const change = owner.call(`${path}/webhooks`, { method: 'POST', json: webhook });
  await waiting(1);
  await holder.commit().execute();
  assert.equal((await change).status, 404);
});

test('a webhook that somebody moves meanwhile is not moved back without a proof', async () => {
  const { owner, path, id } = await makeApp('moved');
  await sql`
    update sessions set proven_at = now() - interval '1 day' where user_id = ${await idOf(owner.email)}
  `.execute(database);
  const patch = (json: object) => owner.call(`${path}/webhooks/${id}`, { method: 'PATCH', json });
  assert.equal((await patch({ url: webhook.url })).status, 200, 'it stays where it is');
  const release = await holdRows(sql`select from webhooks where id = ${id}`);
  const change = patch({ url: webhook.url });
  await waiting(1);
  await release(sql`update webhooks set url = 'https://elsewhere.example.org/' where id = ${id}`);
  const { status, body } = await change;
  assert.deepEqual([status, body.error.code], [403, 'proof_required']);
});

test('a change of the address in a session that a reset of the password ends', async () => {
  const email = 'victim@example.org';
  const thief = await signUp(service, email);
  const json = { email: 'thief@example.org' };
  const token = await addressToken(thief, json.email);
  await postPortal(service, '/password-links', { email });
  const reset = { token: printedToken(service, email), password: `${password} 2` };
  const release = await holdRows(sql`select from users where email = ${email}`);
  const resetting = postPortal(service, '/password', reset);
  await waiting(1);
  const change = thief.call('/account/address', { method: 'PUT', json: { token } });
  await waiting(2);
  await release();
  assert.equal((await resetting).status, 200);
  assert.ok([401, 403].includes((await change).status));
  const { rows } = await sql<{ users: string[]; asked: number }>`
    select array_agg(email) as users, (select count(*)::int from address_changes where email = ${json.email}) as asked
    from users where email in (${email}, ${json.email})
  `.execute(database);
  assert.deepEqual(rows, [{ users: [email], asked: 0 }]);
});

test('a code of an authenticator app whose secret is replaced meanwhile', async () => {
  const person = await signUp(service, 'authenticator@example.org');
  const post = (path: string, json = {}) => person.call(path, { method: 'POST', json });
  const { secret } = (await post('/account/authenticator')).body.data;
  const release = await holdRows(sql`select from users where email = ${person.email}`);
  const confirming = post('/account/authenticator/confirm', { code: codeOf(secret) });
  await waiting(1);
  const next = (await post('/account/authenticator')).body.data;
  await release();
  assert.equal((await confirming).status, 400);
  const { status } = await post('/account/authenticator/confirm', { code: codeOf(next.secret) });
  assert.equal(status, 200);
});
