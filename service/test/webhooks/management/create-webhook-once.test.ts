/** POST /webhooks with an Idempotency-Key, at two processes that share a database. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createKey, scopes } from '../../../src/access/keys.ts';
import { sql } from '../../../src/database/database.ts';
import { dropExpiredKeys } from '../../../src/events/idempotency-keys.ts';
import { defaultQuotas } from '../../../src/contract/quotas.ts';
import { testActor } from '../../support/actor.ts';
import { makeKey, startTestService, type Answer } from '../../support/service.ts';

const service = await startTestService();
const other = await startTestService({ beside: service });
const { database } = service;
const url = 'https://example.org/hooks?token=1';

type App = { key: string };
const create = ({ key }: App, idempotencyKey: string, json: object = { url }, at = service) =>
  at.call('/webhooks', {
    method: 'POST',
    key,
    json,
    headers: { 'idempotency-key': idempotencyKey },
  });
const change = ({ key }: App, method: string, path: string, json?: object) =>
  service.call(`/webhooks/${path}`, { method, key, ...(json && { json }) });
const count = async ({ key }: App): Promise<number> =>
  (await service.call('/webhooks', { key })).body.pagination.total;

const isReplayed = ({ headers }: Answer) => headers.get('idempotent-replayed') === 'true';

function assertConflict({ status, body }: Answer, message: RegExp): void {
  assert.deepEqual([status, body.error?.code], [409, 'conflict']);
  assert.match(body.error.message, message);
}

test('a repetition gets the same response, secret included, at any process and from any key of the app', async () => {
  const app = await makeKey(service);
  const first = await create(app, 'once', { url, events: ['org.created', 'org.created'] });
  assert.deepEqual([first.status, isReplayed(first)], [201, false]);
  const { data } = first.body;
  // Neither a change nor another encryption of the secret affects the response.
  await change(app, 'PATCH', data.id, { url: 'https://example.org/new', active: false });
  await sql`
    update webhooks set secret = ${service.secretBox.seal(data.secret, data.id)} where id = ${data.id}
  `.execute(database);
  const json = { description: null, events: ['org.created', 'org.created'], url };
  for (const again of [
    await create(app, 'once', json),
    await create(app, 'once', json, other),
    await create({ key: await anotherKey(app.appId) }, 'once', json, other),
  ]) {
    assert.deepEqual([again.status, again.text, isReplayed(again)], [201, first.text, true]);
    assert.equal(again.headers.get('cache-control'), 'no-store');
  }
  assert.equal(await count(app), 1);
});

async function anotherKey(appId: string): Promise<string> {
  const { key } = await database
    .transaction()
    .execute((tx) => createKey(tx, testActor, { appId, name: 'Another', scopes, expiresAt: null }));
  return key;
}

test('the key of another app, another key and no key create other webhooks', async () => {
  const [app, stranger] = [await makeKey(service), await makeKey(service)];
  const answers = [
    await create(app, 'mine'),
    await create(stranger, 'mine'),
    await create(app, 'Mine'),
    await service.call('/webhooks', { method: 'POST', key: app.key, json: { url } }),
  ];
  assert.deepEqual(answers.map(isReplayed), [false, false, false, false]);
  assert.equal(new Set(answers.map(({ body }) => body.data.secret)).size, 4);
  assert.deepEqual([await count(app), await count(stranger)], [3, 1]);
});

test('ten concurrent requests at two processes create one webhook', async () => {
  const app = await makeKey(service);
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, n) => create(app, 'at-once', { url }, n % 2 ? service : other)),
  );
  assert.equal(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size, 1);
  assert.equal(answers.filter((answer) => !isReplayed(answer)).length, 1);
  assert.equal(await count(app), 1);
});

test('another body, a deleted webhook and a rotated secret are conflicts that create nothing', async () => {
  const app = await makeKey(service);
  const { body } = await create(app, 'changed');
  for (const json of [
    { url: 'https://example.org/' },
    { url, events: ['org.created'] },
    { url, description: 'Mine' },
  ])
    assertConflict(await create(app, 'changed', json), /another body/);
  for (const overlapSeconds of [0, 60]) {
    const key = `rotated-${overlapSeconds}`;
    const { id } = (await create(app, key)).body.data;
    await change(app, 'POST', `${id}/rotate-secret`, { overlapSeconds });
    assertConflict(await create(app, key), new RegExp(`${id}, whose secret was rotated`));
  }
  await change(app, 'DELETE', body.data.id);
  assertConflict(await create(app, 'changed'), new RegExp(`${body.data.id}, which was deleted`));
  assert.equal(await count(app), 2);
});

test('a key that is empty, too long or not visible ASCII is a 400 that names the header', async () => {
  const app = await makeKey(service);
  for (const key of ['', 'x'.repeat(256), 'a b', 'a, b', 'ä']) {
    const { status, body } = await create(app, key);
    assert.deepEqual(
      [status, body.error.details.issues?.[0].path],
      [400, 'headers.idempotency-key'],
      JSON.stringify(key),
    );
  }
  assert.equal((await create(app, '~'.repeat(255))).status, 201);
  assert.equal(await count(app), 1);
});

test('a refused creation leaves its key free, and an app with all its webhooks can repeat', async () => {
  const app = await makeKey(service);
  assert.equal((await create(app, 'first', { url: 'http://10.0.0.1/' })).status, 400);
  const first = await create(app, 'first');
  assert.equal(isReplayed(first), false);
  for (let n = 1; n < defaultQuotas.webhooks; n += 1) await create(app, `more-${n}`);
  assertConflict(await create(app, 'last'), /at most/);
  assert.equal((await create(app, 'first')).text, first.text);
  await change(app, 'DELETE', first.body.data.id);
  assert.deepEqual((await create(app, 'last')).status, 201);
});

test('the response of a webhook that was suspended since is the same', async () => {
  const app = await makeKey(service);
  const first = await create(app, 'suspended');
  const { id } = first.body.data;
  await sql`
    insert into suspensions (webhook_id, reason) values (${id}, 'Too many complaints.')
  `.execute(database);
  assert.equal((await create(app, 'suspended')).text, first.text);
});

test('an expired key can be used again, before and after it is deleted', async () => {
  const app = await makeKey(service);
  const expire = () =>
    sql`
      update webhook_idempotency_keys set expires_at = now() - interval '1 second' where app_id = ${app.appId}
    `.execute(database);
  const first = await create(app, 'old');
  await expire();
  const second = await create(app, 'old', { url: 'https://example.org/' });
  assert.deepEqual([second.status, isReplayed(second)], [201, false]);
  assert.equal(isReplayed(await create(app, 'old', { url: 'https://example.org/' })), true);
  await expire();
  assert.equal(await dropExpiredKeys(database), 1);
  assert.equal(isReplayed(await create(app, 'old')), false);
  assert.notEqual(first.body.data.id, second.body.data.id);
  assert.equal(await count(app), 3);
});

test('the key, the body and the secret are stored as hashes, and deleted with the app', async () => {
  const app = await makeKey(service);
  const { secret } = (await create(app, 'at-rest')).body.data;
  const { rows } = await sql<{ everything: string }>`
    select k::text as everything from webhook_idempotency_keys k where app_id = ${app.appId}
  `.execute(database);
  const hex = (text: string) => Buffer.from(text).toString('hex');
  for (const text of ['at-rest', url, secret, secret.slice(6)])
    for (const form of [text, hex(text)]) assert.ok(!rows[0]?.everything.includes(form), text);
  await sql`delete from apps where id = ${app.appId}`.execute(database);
  const left = await sql`select from webhook_idempotency_keys where app_id = ${app.appId}`.execute(
    database,
  );
  assert.equal(left.rows.length, 0);
});

test('a repeated rotation gives the same secret, and the old one stays valid', async () => {
  const app = await makeKey(service);
  const { id, secret } = (await create(app, 'to-rotate')).body.data;
  const rotate = (key: string, json: object = {}, at = service) =>
    at.call(`/webhooks/${id}/rotate-secret`, {
      method: 'POST',
      key: app.key,
      json,
      headers: { 'idempotency-key': key },
    });
  const answers = await Promise.all([rotate('rotated'), rotate('rotated', {}, other)]);
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200],
  );
  assert.equal(answers.filter(isReplayed).length, 1);
  const [first, again] = answers.map(({ body }) => body.data);
  assert.deepEqual(again, first);
  assert.notEqual(first.secret, secret);
  const { rows } = await sql<{ previous: Buffer }>`
    select previous_secret as previous from webhooks where id = ${id}
  `.execute(database);
  assert.equal(service.secretBox.open(rows[0]!.previous, id), secret);
  assertConflict(await rotate('rotated', { overlapSeconds: 60 }), /another request/);
  await rotate('next');
  assertConflict(await rotate('rotated'), /was rotated again/);
});
