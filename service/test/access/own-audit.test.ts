/** The audit log as the owner of apps reads it: whose entries it holds, also after an app is deleted, and in what order. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deleteApp } from '../../src/access/apps.ts';
import { sql } from '../../src/database/database.ts';
import { recordActivity } from '../../src/sign-in/activity.ts';
import { put } from '../support/directory.ts';
import { startInternalApi } from '../support/internal-api.ts';
import { signUp, type Person } from '../support/portal.ts';
import { loopbackAllowed } from '../support/receiver.ts';
import { startTestService } from '../support/service.ts';

const service = await startTestService({ env: loopbackAllowed });
const { database } = service;
const ada = await signUp(service, 'ada@example.org');
const bob = await signUp(service, 'bob@example.org');
const host = 'hooks.example.org';

async function send(person: Person, method: string, path: string, json?: unknown) {
  const { status, body, text } = await person.call(path, { method, json });
  assert.ok(status < 300, `${method} ${path}: ${text}`);
  return body.data;
}

async function log(person: Person, query = '?limit=100') {
  const { status, body, text } = await person.call(`/audit${query}`);
  assert.equal(status, 200, text);
  return { entries: body.data as any[], total: body.pagination.total as number, text };
}

test('the audit entries of a deleted app stay with its owner', async () => {
  await put(database, 'orgs', [{ slug: 'acme', name: 'Acme', managers: [ada.email] }]);
  const { id: appId } = await send(ada, 'POST', '/apps', { name: 'Herald' });
  await send(ada, 'PUT', `/apps/${appId}/binding`, { kind: 'organization', slug: 'acme' });
  const internal = await startInternalApi(service);
  await internal.call('/orgs/acme/managers', { method: 'PUT', json: { managers: [] } });
  await send(ada, 'PATCH', `/apps/${appId}`, { name: 'Crier' });
  const { key } = await send(ada, 'POST', `/apps/${appId}/keys`, {
    name: 'Server',
    scopes: ['write:webhooks'],
  });
  const made = await service.call('/webhooks', {
    method: 'POST',
    key,
    json: { url: `https://${host}/token` },
  });
  const webhook = `/apps/${appId}/webhooks/${made.body.data.id}`;
  await send(ada, 'POST', `${webhook}/rotate-secret`, {});
  const since = new Date(Date.now() - 1_000).toISOString();
  await send(ada, 'POST', `${webhook}/recover`, { since });
  await send(ada, 'PATCH', webhook, { active: false });
  await send(ada, 'PATCH', webhook, { active: true });
  const before = await log(ada, `?app=${appId}`);
  await database
    .transaction()
    .execute((tx) => deleteApp(tx, { kind: 'cli', id: null, name: 'root' }, appId));

  const after = await log(ada, `?app=${appId}`);
  assert.deepEqual(
    after.entries.map(({ action, actor, subject }) => [action, actor.name, subject.name]),
    [
      ['app.deleted', null, 'Crier'],
      ['webhook.reactivated', ada.email, host],
      ['webhook.deactivated', ada.email, host],
      ['webhook.recovered', ada.email, host],
      ['webhook.secret_rotated', ada.email, host],
      ['webhook.created', 'Server', host],
      ['key.created', ada.email, 'Server'],
      ['app.changed', ada.email, 'Crier'],
      // The platform's key is not the owner's to see.
      ['binding.ended', null, null],
      ['binding.created', ada.email, null],
      ['app.created', ada.email, 'Herald'],
    ],
  );
  assert.equal(after.total, 11);
  const identify = ({ id, at, details }: any) => ({ id, at, details });
  assert.deepEqual(after.entries.slice(1).map(identify), before.entries.map(identify));
  assert.ok(before.entries.every(({ appDeleted }) => !appDeleted));
  assert.ok(after.entries.every(({ appDeleted }) => appDeleted));
  assert.deepEqual([...new Set(after.entries.map(({ appName }) => appName))], ['Crier']);
  assert.deepEqual((await log(ada)).entries, after.entries);
  assert.ok(!after.text.includes('token') && !after.text.includes('root'));
});

test('a later account with the address of an owner sees no entries of deleted apps', async () => {
  const move = (from: string, to: string) =>
    database.transaction().execute(async (tx) => {
      const { rows } = await sql<{ id: string }>`
        update users set email = ${to} where email = ${from} returning id
      `.execute(tx);
      const account = { id: rows[0]?.id ?? '', email: from };
      await recordActivity(tx, 'account.address_changed', account);
    });
  const older = await signUp(service, 'older@example.org');
  const dora = await signUp(service, 'dora@example.org');
  const { id } = await send(dora, 'POST', '/apps', { name: 'Gone' });
  await send(dora, 'DELETE', `/apps/${id}`);
  assert.equal((await log(dora)).total, 2);

  await send(dora, 'POST', '/account/deletion', { email: dora.email, apps: [] });
  assert.equal((await log(await signUp(service, dora.email))).total, 0);
  await move(dora.email, 'dora@example.com');
  await move(older.email, dora.email);
  assert.equal((await log(older)).total, 0);
  const next = await send(older, 'POST', '/apps', { name: 'Next' });
  await send(older, 'DELETE', `/apps/${next.id}`);
  assert.equal((await log(older)).total, 2);
});

test('an app restored under another owner has its entries there only', async () => {
  const { id } = await send(ada, 'POST', '/apps', { name: 'Handed over' });
  await send(ada, 'DELETE', `/apps/${id}`);
  await sql`insert into apps (id, name) values (${id}, 'Mine now')`.execute(database);
  await sql`
    insert into app_members (app_id, email, role) values (${id}, ${bob.email}, 'owner')
  `.execute(database);
  assert.equal((await log(ada, `?app=${id}`)).total, 0);
  const { entries, total } = await log(bob, `?app=${id}`);
  assert.equal(total, 2);
  assert.deepEqual([...new Set(entries.map(({ appName }) => appName))], ['Mine now']);
});

test('pages over live and deleted apps are in order, complete, and have the total', async () => {
  const carol = await signUp(service, 'carol@example.org');
  const ids: string[] = [];
  for (const name of ['A', 'B', 'C', 'D'])
    ids.push((await send(carol, 'POST', '/apps', { name })).id);
  for (const round of [1, 2, 3])
    for (const id of ids) await send(carol, 'PATCH', `/apps/${id}`, { name: `Round ${round}` });
  for (const id of ids.slice(0, 2)) await send(carol, 'DELETE', `/apps/${id}`);

  const whole = await log(carol);
  assert.equal(whole.total, 18);
  const order = whole.entries.map(({ id }) => id);
  assert.deepEqual(
    order,
    order.toSorted((a, b) => b - a),
  );
  const pages = [];
  for (const page of [1, 2, 3, 4]) {
    const { entries, total } = await log(carol, `?limit=5&page=${page}`);
    assert.equal(total, 18);
    pages.push(...entries);
  }
  assert.deepEqual(pages, whole.entries);
  const { entries: beyond, total } = await log(carol, '?limit=5&page=5');
  assert.deepEqual([beyond, total], [[], 18]);
  const one = await log(carol, `?app=${ids[0]}&limit=2&page=3`);
  assert.deepEqual([one.total, one.entries.map(({ action }) => action)], [5, ['app.created']]);
});
