/** What an operator does with SECRET_KEY: change it, and lose it. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { sql } from '../../src/database/database.ts';
import { createSecretBox } from '../../src/runtime/secret-box.ts';
import { githubSignature } from '../../src/webhooks/sending/sign.ts';
import { openTestDatabase, toUrl } from '../support/database.ts';
import { signInAs, signUp } from '../support/portal.ts';
import { loopbackAllowed, startReceiver } from '../support/receiver.ts';
import { runHere } from '../support/run-here.ts';
import { makeKey, startTestService, type TestService } from '../support/service.ts';

const opened = await openTestDatabase();
const [first, second, third] = [randomBytes(32), randomBytes(32), randomBytes(32)];
/** A process of this installation with this SECRET_KEY. */
const startWith = (...keys: Buffer[]) =>
  startTestService({
    env: loopbackAllowed,
    beside: { ...opened, secretKeys: keys },
  });
const reseal = (...keys: Buffer[]) =>
  runHere(['webhooks', 'reseal', '--json'], {
    DATABASE_URL: toUrl(opened.connection),
    SECRET_KEY: keys.map((key) => key.toString('base64')).join(','),
  });
const { key } = await makeKey(opened);
const receiver = await startReceiver();

const post = async (service: TestService, path: string, json?: object) =>
  service.call(path, { method: 'POST', key, ...(json ? { json } : {}) });

async function verifies(service: TestService, id: string, secret: string) {
  const before = receiver.received.length;
  const { status, body } = await post(service, `/webhooks/${id}/test`);
  assert.deepEqual([status, body.data?.status], [200, 'succeeded']);
  const { headers = {}, body: sent } = receiver.received[before] ?? {};
  const text = String(sent);
  assert.doesNotThrow(() => new StandardWebhook(secret).verify(text, headers));
  assert.equal(headers['x-service-signature'], githubSignature(secret, text));
  return headers['authorization'];
}

const old = await startWith(first);
const ada = await signUp(old, 'ada@example.org');
const { secret: appSecret } = (await ada.call('/account/authenticator', { method: 'POST' })).body
  .data;
const own = { Authorization: 'Bearer 7f3c9a' };
const webhooks: { id: string; secret: string }[] = [];
for (let count = 0; count < 3; count += 1)
  webhooks.push((await post(old, '/webhooks', { url: receiver.url, headers: own })).body.data);
const [one, rotated, lost] = webhooks as [
  { id: string; secret: string },
  { id: string; secret: string },
  { id: string; secret: string },
];

test('SECRET_KEY is rotated: a new first key, secrets encrypted again, the old key removed', async () => {
  const both = await startWith(second, first);
  assert.equal(await verifies(both, one.id, one.secret), own.Authorization);
  // Of these two secrets one is the new key's already.
  const { secret: current } = (await post(both, `/webhooks/${rotated.id}/rotate-secret`, {})).body
    .data;
  const { code, stdout, stderr } = await reseal(second, first);
  assert.equal(code, 0, stderr);
  assert.deepEqual(JSON.parse(stdout), {
    resealed: 7,
    unchanged: 1,
    unreadable: [],
    unreadableAccounts: [],
  });
  const again = await reseal(second);
  assert.deepEqual(JSON.parse(again.stdout), {
    resealed: 0,
    unchanged: 8,
    unreadable: [],
    unreadableAccounts: [],
  });
  const alone = await startWith(second);
  const { rows } = await sql<{ secret: Buffer; userId: string }>`
    select secret, user_id as "userId" from authenticators
  `.execute(opened.database);
  assert.equal(createSecretBox([second]).open(rows[0]!.secret, rows[0]!.userId), appSecret);
  assert.equal(await verifies(alone, one.id, one.secret), own.Authorization);
  const { body } = await post(alone, `/webhooks/${rotated.id}/test`);
  assert.equal(body.data.status, 'succeeded');
  const { headers = {}, body: sent } = receiver.received.at(-1) ?? {};
  for (const secret of [current, rotated.secret])
    assert.doesNotThrow(() => new StandardWebhook(secret).verify(String(sent), headers));
});

test('a previous secret whose overlap has ended is no reason to keep its key', async () => {
  const { rows } = await sql<{ secret: Buffer }>`
    update webhooks set previous_secret = ${createSecretBox([first]).seal(rotated.secret, rotated.id)},
      previous_secret_expires_at = now()
    where id = ${rotated.id} returning secret
  `.execute(opened.database);
  const { code, stdout } = await reseal(third, second);
  assert.deepEqual([code, JSON.parse(stdout).unreadable], [0, []]);
  const { rows: after } = await sql<{ secret: Buffer }>`
    select secret from webhooks where id = ${rotated.id}
  `.execute(opened.database);
  const [before, now] = [createSecretBox([second]), createSecretBox([third])];
  assert.equal(now.open(after[0]!.secret, rotated.id), before.open(rows[0]!.secret, rotated.id));
  assert.equal((await reseal(second, third)).code, 0);
});

test('a repeated request cannot show a secret whose key is gone', async () => {
  const before = await startWith(second);
  const repeat = (service: TestService, path: string, json: object) =>
    service.call(path, { method: 'POST', key, json, headers: { 'idempotency-key': path } });
  const input = { url: receiver.url };
  const { id } = (await repeat(before, '/webhooks', input)).body.data;
  const rotation = `/webhooks/${id}/rotate-secret`;
  const after = await startWith(third);
  for (const [path, json] of [
    ['/webhooks', input],
    [rotation, {}],
  ] as const) {
    assert.ok((await repeat(before, path, json)).status < 300);
    const { status, body } = await repeat(after, path, json);
    assert.equal(status, 409);
    assert.match(body.error.message, /cannot be shown again/);
  }
  await before.call(`/webhooks/${id}`, { method: 'DELETE', key });
});

test('without the key everything except sending works, and a new secret and headers fix that', async () => {
  const service = await startWith(third);
  const listed = await service.call('/webhooks', { key });
  assert.deepEqual([listed.status, listed.body.data.length], [200, 3]);
  assert.equal((await post(service, `/webhooks/${lost.id}/test`)).status, 503);
  const { code, stdout } = await reseal(third);
  const told = JSON.parse(stdout);
  assert.deepEqual([code, told.resealed, told.unreadable.length], [1, 0, 3]);
  assert.deepEqual(told.unreadableAccounts, ['ada@example.org']);
  await sql`update authenticators set confirmed_at = now()`.execute(opened.database);
  const again = await signInAs(service, 'ada@example.org');
  const json = { code: '123456' };
  const completed = await again.call('/sign-in/second-factor', { method: 'POST', json });
  assert.equal(completed.status, 503);
  // Nothing of the old secret can be signed with, so nothing waits for its overlap to end.
  const { data } = (await post(service, `/webhooks/${lost.id}/rotate-secret`, {})).body;
  assert.equal(data.previousSecretExpiresAt, null);
  assert.equal((await post(service, `/webhooks/${lost.id}/test`)).status, 503, 'its headers');
  await service.call(`/webhooks/${lost.id}`, { method: 'PATCH', key, json: { headers: own } });
  assert.equal(await verifies(service, lost.id, data.secret), own.Authorization);
});
