/** Creations in the portal and the console with an Idempotency-Key, at two processes that share a database. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../src/database/database.ts';
import { dropExpiredKeys } from '../../src/events/idempotency-keys.ts';
import { makeOperator } from '../support/operator.ts';
import { personOf, signUp, type Person } from '../support/portal.ts';
import { startTestService, type Answer } from '../support/service.ts';

const service = await startTestService();
const other = await startTestService({ beside: service });
const { database } = service;

const make = (person: Person, path: string, idempotencyKey: string, json: object) =>
  person.call(path, { method: 'POST', json, headers: { 'idempotency-key': idempotencyKey } });
const isReplayed = ({ headers }: Answer) => headers.get('idempotent-replayed') === 'true';
const elsewhere = (person: Person) =>
  personOf(other, person.email, person.credentials['cookie'] ?? '');
const listed = async (person: Person, path: string): Promise<{ id: string }[]> =>
  (await person.call(path)).body.data;

async function signUpWithApp(email: string) {
  const person = await signUp(service, email);
  const made = await person.call('/apps', { method: 'POST', json: { name: 'First' } });
  return { person, keys: `/apps/${made.body.data.id}/keys`, appId: made.body.data.id as string };
}

function assertMadeOnce(answers: Answer[]): void {
  const [first] = answers;
  assert.equal(first?.status, 201, first?.text);
  assert.deepEqual(new Set(answers.map(({ text }) => text)), new Set([first.text]));
  assert.equal(answers.filter((answer) => !isReplayed(answer)).length, 1);
}

function assertConflict({ status, body }: Answer, message: RegExp): void {
  assert.deepEqual([status, body.error?.code], [409, 'conflict']);
  assert.match(body.error.message, message);
}

const newKey = { name: 'Server', scopes: ['read:directory'] };

test('an app is made once, whoever of two processes gets the repetition', async () => {
  const { person } = await signUpWithApp('ada@example.org');
  const same = { name: 'Once' };
  assertMadeOnce(
    await Promise.all([
      make(person, '/apps', 'an-app', same),
      make(elsewhere(person), '/apps', 'an-app', same),
      make(person, '/apps', 'an-app', same),
    ]),
  );
  const [, made, ...others] = await listed(person, '/apps');
  assert.equal(others.length, 0);
  assertConflict(await make(person, '/apps', 'an-app', { name: 'Else' }), /another request/);
  await person.call(`/apps/${made?.id}`, { method: 'DELETE' });
  assertConflict(await make(person, '/apps', 'an-app', same), /no longer a member/);
  const stranger = await signUp(service, 'bob@example.org');
  assert.equal(isReplayed(await make(stranger, '/apps', 'an-app', same)), false);
});

test('a key is made once and shown again as long as it is valid, without being stored', async () => {
  const { person, keys } = await signUpWithApp('cleo@example.org');
  const answers = await Promise.all([
    make(person, keys, 'a-key', newKey),
    make(elsewhere(person), keys, 'a-key', { ...newKey, expiresAt: null }),
  ]);
  assertMadeOnce(answers);
  const { id, key } = answers[0].body.data;
  assert.equal((await service.call('/orgs', { key })).status, 200);
  assert.equal((await listed(person, keys)).length, 1);
  assertConflict(await make(person, keys, 'a-key', { ...newKey, name: 'Else' }), /another request/);
  const { rows } = await sql<{ row: string }>`
    select row_to_json(k)::text as row from creation_idempotency_keys k
  `.execute(database);
  assert.ok(rows.length > 0 && !rows.some(({ row }) => row.includes(key)));
  await sql`insert into suspensions (key_id, reason) values (${id}, 'Spam.')`.execute(database);
  assert.equal((await make(person, keys, 'a-key', newKey)).body.error.code, 'suspended');
  await sql`delete from suspensions where key_id = ${id}`.execute(database);
  await person.call(`${keys}/${id}`, { method: 'DELETE' });
  assertConflict(await make(person, keys, 'a-key', newKey), /expired or was revoked/);
  assert.equal((await listed(person, keys)).length, 1);
});

test('a key is rotated once', async () => {
  const { person, keys } = await signUpWithApp('dan@example.org');
  const { id } = (await make(person, keys, 'to-rotate', newKey)).body.data;
  const rotate = (from: Person) =>
    make(from, `${keys}/${id}/rotate`, 'rotated', { overlapSeconds: 60 });
  assertMadeOnce([await rotate(person), await rotate(elsewhere(person))]);
  assert.equal((await listed(person, keys)).length, 2);
});

test('who may no longer make keys is not shown one again', async () => {
  const { person, keys, appId } = await signUpWithApp('eve@example.org');
  await make(person, keys, 'mine', newKey);
  await database.transaction().execute(async (tx) => {
    await sql`insert into app_members (app_id, email, role) values (${appId}, 'owner@example.org', 'owner')`.execute(
      tx,
    );
    await sql`update app_members set role = 'viewer' where app_id = ${appId} and email = ${person.email}`.execute(
      tx,
    );
  });
  assert.equal((await make(person, keys, 'mine', newKey)).status, 403);
});

test('an announcement is made, and mailed, once', async () => {
  const person = await makeOperator(service, 'finn@example.org');
  const json = { severity: 'info', text: 'We move.', mail: true };
  const path = '/operator/announcements';
  assertMadeOnce(
    await Promise.all([
      make(person, path, 'said', json),
      make(elsewhere(person), path, 'said', json),
    ]),
  );
  const [made, ...others] = await listed(person, path);
  assert.equal(others.length, 0);
  await person.call(`${path}/${made?.id}`, { method: 'DELETE' });
  assertConflict(await make(person, path, 'said', json), /has ended/);
  // By itself, and nothing has deleted it yet.
  const { status } = await make(person, path, 'briefly', json);
  assert.equal(status, 201);
  await sql`update announcements set ends_at = now()`.execute(database);
  assertConflict(await make(person, path, 'briefly', json), /has ended/);
});

test('a refused creation leaves its key free, and an old key is dropped', async () => {
  const { person, keys } = await signUpWithApp('gina@example.org');
  const past = { ...newKey, expiresAt: '2020-01-01T00:00:00Z' };
  assert.equal((await make(person, keys, 'free', past)).status, 400);
  assert.equal((await make(person, keys, 'free', newKey)).status, 201);
  await sql`update creation_idempotency_keys set expires_at = now()`.execute(database);
  assert.equal(isReplayed(await make(person, keys, 'free', newKey)), false);
  assert.equal((await listed(person, keys)).length, 2);
  await sql`update creation_idempotency_keys set expires_at = now()`.execute(database);
  await dropExpiredKeys(database);
  const { rows } = await sql`select from creation_idempotency_keys`.execute(database);
  assert.equal(rows.length, 0);
});
