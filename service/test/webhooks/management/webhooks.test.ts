import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../../src/database/database.ts';
import { findOrg } from '../../../src/directory/orgs.ts';
import { put } from '../../support/directory.ts';
import { loopbackAllowed, startReceiver } from '../../support/receiver.ts';
import { makeKey, startTestService } from '../../support/service.ts';

const strict = await startTestService();
const service = await startTestService({ env: loopbackAllowed, beside: strict });
await put(service.database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
const acme = (await findOrg(service.database, 'acme'))!;

const create = (on: typeof service, json: unknown, key = on.key) =>
  on.call('/webhooks', { method: 'POST', json, key });

test('a webhook is created with its secret, once, and read without it', async () => {
  const { status, body, headers } = await create(strict, {
    url: 'https://example.org/hooks?token=1',
    events: ['org.created'],
    description: 'Mine',
  });
  assert.equal(status, 201);
  assert.match(body.data.secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.equal(headers.get('cache-control'), 'no-store');
  const list = await strict.call('/webhooks');
  assert.equal(list.body.pagination.total, 1);
  assert.deepEqual(list.body.data[0], without(body.data, 'secret'));
  assert.ok(!list.text.includes('whsec_'));
  await strict.call(`/webhooks/${body.data.id}`, { method: 'DELETE' });
});

function without(object: Record<string, unknown>, name: string): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).filter(([key]) => key !== name));
}

test('the secret is encrypted at rest', async () => {
  const { body } = await create(strict, { url: 'https://example.org/hooks' });
  const { rows } = await sql<{ secret: Buffer; everything: string }>`
    select secret, w::text as everything from webhooks w where id = ${body.data.id}
  `.execute(strict.database);
  assert.ok(rows[0]);
  assert.ok(!rows[0].secret.includes(body.data.secret.slice(6)));
  assert.ok(!rows[0].everything.includes(body.data.secret));
  assert.equal(strict.secretBox.open(rows[0].secret, body.data.id), body.data.secret);
  assert.throws(
    () => strict.secretBox.open(rows[0]!.secret, acme.id),
    'a ciphertext moved to another row does not open',
  );
  await strict.call(`/webhooks/${body.data.id}`, { method: 'DELETE' });
});

test('private and unusable URLs are rejected with the field', async () => {
  // All others: check-webhook-url.test.ts.
  for (const url of ['http://example.org/', 'https://10.0.0.1/', 'https://[::1]/', 'no address']) {
    const { status, body } = await create(strict, { url });
    assert.equal(status, 400, url);
    assert.equal(body.error.code, 'validation_failed');
    assert.equal(body.error.details.issues[0].path, 'body.url', url);
  }
  const { body } = await strict.call('/webhooks');
  assert.equal(body.pagination.total, 0);
});

test('unknown events and events that the binding does not allow are rejected with the reason', async () => {
  const bound = await makeKey(service, { bindTo: { kind: 'organization', id: acme.id } });
  const url = 'https://example.org/';
  const reasons = async (events: unknown, key?: string) => {
    const { status, body } = await create(service, { url, events }, key);
    assert.equal(status, 400);
    return body.error.details.issues as { path: string; message: string }[];
  };
  assert.match(
    (await reasons(['org.created', 'no.such']))[0]?.message ?? '',
    /^must be one of org\.created, .*, not "no\.such"$/,
  );
  assert.equal((await reasons(['org.created', 'no.such']))[0]?.path, 'body.events.1');
  assert.match(
    (await reasons(['application.created']))[0]?.message ?? '',
    /bound to an organization/,
  );
  assert.match(
    (await reasons(['resource.offer.created'], bound.key))[0]?.message ?? '',
    /bound to an alliance/,
  );
  assert.ok((await reasons(['webhook.test'])).length > 0);
  assert.ok((await reasons([])).length > 0);
  assert.equal(
    (await create(service, { url, events: ['application.created'] }, bound.key)).status,
    201,
  );
});

test('an app has at most twenty webhooks, also with concurrent requests', async () => {
  const { key } = await makeKey(service);
  const answers = await Promise.all(
    Array.from({ length: 24 }, () => create(service, { url: 'https://example.org/' }, key)),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [
    ...Array<number>(20).fill(201),
    ...Array<number>(4).fill(409),
  ]);
});

test("another app's webhook is a 404", async () => {
  const { body } = await create(service, { url: 'https://example.org/' });
  const other = await makeKey(service);
  const missing = '0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f';
  for (const [method, suffix] of [
    ['DELETE', ''],
    ['POST', '/test'],
  ] as const) {
    const foreign = await service.call(`/webhooks/${body.data.id}${suffix}`, {
      method,
      key: other.key,
    });
    const none = await service.call(`/webhooks/${missing}${suffix}`, { method, key: other.key });
    assert.deepEqual([foreign.status, foreign.text], [404, none.text]);
  }
  assert.equal((await service.call('/webhooks', { key: other.key })).body.pagination.total, 0);
  assert.equal((await service.call('/webhooks/not-an-id', { method: 'DELETE' })).status, 404);
  const readOnly = await makeKey(service, { scopes: ['read:directory'] });
  const refused = await service.call('/webhooks', { key: readOnly.key });
  assert.deepEqual(
    [refused.status, refused.body.error.details],
    [403, { requiredScope: 'write:webhooks' }],
  );
  assert.equal(
    (await service.call(`/webhooks/${body.data.id}`, { method: 'DELETE' })).body.data.deleted,
    true,
  );
});

test('a test is sent in one attempt and returns its record', async () => {
  const receiver = await startReceiver((response) =>
    response.writeHead(202, { 'x-answer': 'yes' }).end('thanks'),
  );
  const { body: created } = await create(service, {
    url: receiver.url,
    events: ['alliance.created'],
  });
  const { status, body } = await service.call(`/webhooks/${created.data.id}/test`, {
    method: 'POST',
  });
  assert.equal(status, 200);
  assert.deepEqual(
    [body.data.status, body.data.attemptCount, body.data.event],
    ['succeeded', 1, 'webhook.test'],
  );
  const [attempt] = body.data.attempts;
  assert.deepEqual(
    [attempt.trigger, attempt.statusCode, attempt.error, attempt.responseBody],
    ['test', 202, null, 'thanks'],
  );
  assert.equal(attempt.responseHeaders['x-answer'], 'yes');
  assert.equal(receiver.received.length, 1);
  assert.equal(
    body.data.body,
    String(receiver.received[0]?.body),
    'the record shows the exact bytes',
  );
  assert.equal(JSON.parse(body.data.body).data.sample, null);

  const withSample = await service.call(`/webhooks/${created.data.id}/test`, {
    method: 'POST',
    json: { event: 'org.created' },
  });
  const message = JSON.parse(withSample.body.data.body);
  assert.equal(message.event, 'webhook.test');
  assert.equal(message.data.sample.event, 'org.created');
  assert.equal(receiver.received[1]?.headers['x-service-event'], 'webhook.test');

  for (const event of ['application.created', 'no.such', 'webhook.test']) {
    const refused = await service.call(`/webhooks/${created.data.id}/test`, {
      method: 'POST',
      json: { event },
    });
    assert.deepEqual(
      [refused.status, refused.body.error.details.issues[0].path],
      [400, 'body.event'],
      event,
    );
  }
});

test('a failed test has its error, is not retried, and does not affect health', async () => {
  const broken = await startReceiver((response) => response.socket?.destroy());
  const { key } = await makeKey(service);
  const { body: created } = await create(service, { url: broken.url }, key);
  const path = `/webhooks/${created.data.id}`;
  const { status, body } = await service.call(`${path}/test`, { method: 'POST', key });
  const [attempt] = body.data.attempts;
  assert.deepEqual(
    [status, body.data.status, body.data.nextAttemptAt, attempt.statusCode, attempt.error],
    [200, 'failed', null, null, 'reset'],
  );
  const { exhaustedInARow, lastFailureAt, active } = (await service.call(path, { key })).body.data;
  assert.deepEqual([exhaustedInARow, lastFailureAt, active], [0, null, true]);
});

test('a private address is blocked at sending, even if it was registered', async () => {
  const receiver = await startReceiver();
  const { body: created } = await create(service, { url: receiver.url });
  // The same webhook, sent by a process that may not reach this machine's network.
  const { key } = service;
  const { body } = await strict.call(`/webhooks/${created.data.id}/test`, { method: 'POST', key });
  assert.equal(body.error?.code, undefined, JSON.stringify(body));
  assert.deepEqual([body.data.attempts[0].error, receiver.received.length], ['blocked', 0]);
});

test('an app can send ten tests a minute', async () => {
  const receiver = await startReceiver();
  const { key } = await makeKey(service);
  const { body: created } = await create(service, { url: receiver.url }, key);
  for (let index = 0; index < 10; index += 1) {
    assert.equal(
      (await service.call(`/webhooks/${created.data.id}/test`, { method: 'POST', key })).status,
      200,
    );
  }
  const refused = await service.call(`/webhooks/${created.data.id}/test`, { method: 'POST', key });
  assert.deepEqual([refused.status, refused.body.error.code], [429, 'rate_limited']);
  assert.ok(Number(refused.headers.get('retry-after')) >= 1);
  assert.equal(receiver.received.length, 10);
});
