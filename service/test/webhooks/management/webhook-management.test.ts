import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { removeManager } from '../../../src/access/managers.ts';
import { changesPerMinute } from '../../../src/http/webhooks/operation.ts';
import { sql } from '../../../src/database/database.ts';
import { findOrg } from '../../../src/directory/orgs.ts';
import { publishEvent } from '../../../src/directory/publish-in-groups.ts';
import { version } from '../../../src/runtime/version.ts';
import { githubSignature } from '../../../src/webhooks/sending/sign.ts';
import { testActor } from '../../support/actor.ts';
import { countRows } from '../../support/count-rows.ts';
import { blueprint, put } from '../../support/directory.ts';
import { endedDelivery, eventually } from '../../support/eventually.ts';
import { checkDelivery } from '../../support/openapi-check.ts';
import { loopbackAllowed, startReceiver, type Received } from '../../support/receiver.ts';
import { makeKey, startTestService, testPublicUrl } from '../../support/service.ts';

const service = await startTestService({
  worker: true,
  env: { ...loopbackAllowed, WEBHOOK_RETRY_BASE_MS: '1', WEBHOOK_RETRY_FACTOR: '1' },
});
const { database } = service;
await put(database, 'orgs', [
  { slug: 'acme', name: 'Acme, "Ünïcode" & 北京 <script>' },
  { slug: 'rival', name: 'Rival' },
]);
const acme = (await findOrg(database, 'acme'))!;
const application = { id: 'a-1', applicantHandle: 'h', submittedAt: '2026-11-20T12:00:00.000Z' };

const publish = (name = 'org.created', org = 'acme', data: unknown = null) =>
  database
    .transaction()
    .execute((tx) =>
      publishEvent(tx, { name, org, alliance: null, data, publicUrl: testPublicUrl }),
    );
const post = (path: string, json?: unknown, key = service.key) =>
  service.call(path, { method: 'POST', key, ...(json === undefined ? {} : { json }) });
const patch = (path: string, json: unknown, key = service.key) =>
  service.call(path, { method: 'PATCH', key, json });

async function register(url: string, key = service.key, events: string[] | null = null) {
  const { body } = await post('/webhooks', { url, events }, key);
  return body.data as { id: string; secret: string };
}

test('a published event arrives once, in the exact format, with both signatures', async () => {
  const receiver = await startReceiver();
  const webhook = await register(receiver.url, service.key, ['org.created']);
  const eventId = await publish();
  const [delivery] = (await receiver.waitFor(1)) as [Received];
  const ended = await endedDelivery(service, webhook.id);

  assert.equal(delivery.method, 'POST');
  const text = delivery.body.toString();
  const message = JSON.parse(text);
  assert.deepEqual(Object.keys(message), ['id', 'event', 'createdAt', 'data']);
  assert.equal(message.id, ended.id);
  checkDelivery('org.created', message);
  const direct = await service.call('/orgs/acme');
  assert.deepEqual(
    message.data,
    direct.body.data,
    'the object of an event is the object of a read',
  );

  const { headers } = delivery;
  assert.equal(headers['content-type'], 'application/json; charset=utf-8');
  assert.equal(headers['user-agent'], `Service-Webhooks/${version}`);
  assert.ok(delivery.rawHeaders.includes('X-Service-Event'));
  assert.equal(headers['x-service-event'], 'org.created');
  assert.equal(headers['x-service-delivery'], message.id);
  assert.equal(
    headers['x-service-signature'],
    `sha256=${createHmac('sha256', webhook.secret).update(delivery.body).digest('hex')}`,
  );
  assert.doesNotThrow(() => new StandardWebhook(webhook.secret).verify(text, headers));
  assert.throws(() => new StandardWebhook(webhook.secret).verify(`${text} `, headers));

  const { rows } = await sql<{ data: string; position: number; deliveries: number }>`
    select data, position, (select count(*) from deliveries d where d.event_id = e.id) as deliveries
    from events e where id = ${eventId}
  `.execute(database);
  assert.ok(rows[0]);
  assert.equal(
    text,
    `{"id":"${message.id}","event":"org.created","createdAt":"${message.createdAt}","data":${rows[0].data}}`,
  );
  assert.equal(rows[0].deliveries, 1);
  assert.ok(rows[0].position > 0);
  await service.call(`/webhooks/${webhook.id}`, { method: 'DELETE' });
});

test('a failed attempt is retried with the same bytes, six attempts at most, all recorded', async () => {
  const receiver = await startReceiver((response) =>
    response.writeHead(500, { 'x-reason': 'broken' }).end('no\0\xff'),
  );
  const webhook = await register(receiver.url, service.key, ['org.created']);
  await publish();
  const ended = await endedDelivery(service, webhook.id);
  assert.equal(ended.status, 'failed');
  assert.equal(ended.attempt_count, 6);
  assert.equal(receiver.received.length, 6);
  for (const each of receiver.received) assert.deepEqual(each.body, receiver.received[0]?.body);
  assert.equal(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size, 1);
  const { rows } = await sql<{
    number: number;
    status_code: number;
    error: null;
    headers: string;
    response_body: Buffer;
  }>`
    select number, status_code, error, convert_from(response_headers, 'utf8') as headers, response_body
    from attempts where delivery_id = ${ended.id} order by number
  `.execute(database);
  assert.deepEqual(
    rows.map(({ number }) => number),
    [1, 2, 3, 4, 5, 6],
  );
  for (const row of rows) {
    assert.equal(row.status_code, 500);
    assert.equal(row.error, null);
    assert.equal(JSON.parse(row.headers)['x-reason'], 'broken');
    assert.ok(row.response_body.includes(0), 'a NUL in an answer is kept');
  }
  // Simulates many redeliveries.
  await sql`
    insert into attempts (delivery_id, number, trigger, started_at, duration_ms, status_code)
    select ${ended.id}, n, 'redelivery', now(), 1, 200 from generate_series(7, 150) as n
  `.execute(database);
  const detail = await service.call(`/webhooks/${webhook.id}/deliveries/${ended.id}`);
  assert.deepEqual(
    detail.body.data.attempts.map(({ number }: { number: number }) => number),
    Array.from({ length: 100 }, (_, index) => 51 + index),
  );
  await service.call(`/webhooks/${webhook.id}`, { method: 'DELETE' });
});

test('of what is deleted, an alliance and a blueprint are still sent, and an organisation is not', async () => {
  await put(database, 'orgs', [{ slug: 'brief', name: 'Brief' }]);
  await put(database, 'alliances', [{ slug: 'brief', name: 'Brief' }]);
  const receiver = await startReceiver();
  const events = ['org.created', 'alliance.created', 'blueprint.updated'];
  const webhook = await register(receiver.url, service.key, events);
  await publish('org.created', 'brief');
  await database.transaction().execute((tx) =>
    publishEvent(tx, {
      name: 'alliance.created',
      org: null,
      alliance: 'brief',
      data: null,
      publicUrl: testPublicUrl,
    }),
  );
  await put(database, 'blueprints', [blueprint({ key: 'brief', slug: 'brief' })], {
    emitEvents: true,
  });
  const ended = await eventually(async () => {
    const { rows } = await sql<{ id: string; event: string }>`
      select id, event from deliveries where webhook_id = ${webhook.id} and status = 'succeeded' order by event
    `.execute(database);
    return rows.length === events.length && rows;
  });
  for (const table of ['orgs', 'alliances', 'blueprints'])
    await sql`delete from ${sql.table(table)} where slug = 'brief'`.execute(database);
  const redelivered: Record<string, number> = {};
  for (const { id, event } of ended) {
    const path = `/webhooks/${webhook.id}/deliveries/${id}`;
    const { body } = await service.call(path);
    const { status } = await service.call(`${path}/redeliver`, { method: 'POST' });
    redelivered[event] = status;
    assert.equal(body.data.body === null, event === 'org.created', event);
  }
  assert.deepEqual(redelivered, {
    'alliance.created': 202,
    'blueprint.updated': 202,
    'org.created': 409,
  });
  await service.call(`/webhooks/${webhook.id}`, { method: 'DELETE' });
});

test('a webhook is read, changed, deactivated and activated', async () => {
  const receiver = await startReceiver();
  const { id } = await register('https://example.org/old');
  const first = await service.call(`/webhooks/${id}`);
  assert.equal(first.body.data.url, 'https://example.org/old');
  const again = await service.call(`/webhooks/${id}`, {
    headers: { 'if-none-match': first.headers.get('etag') ?? '' },
  });
  assert.equal(again.status, 304);

  const changed = await patch(`/webhooks/${id}`, {
    url: receiver.url,
    events: ['org.created'],
    description: 'New',
  });
  assert.deepEqual(
    [
      changed.status,
      changed.body.data.url,
      changed.body.data.events,
      changed.body.data.description,
    ],
    [200, receiver.url, ['org.created'], 'New'],
  );
  const off = await patch(`/webhooks/${id}`, { active: false });
  assert.deepEqual([off.body.data.active, off.body.data.deactivatedReason], [false, 'owner']);
  const offAgain = await patch(`/webhooks/${id}`, { active: false });
  assert.equal(offAgain.body.data.deactivatedAt, off.body.data.deactivatedAt);
  const eventId = await publish();
  // To whom an event goes is settled when it is fanned out, which must be while the webhook is off.
  await eventually(
    async () =>
      (await countRows(database, sql`events where id = ${eventId} and position is not null`)) === 1,
  );
  const on = await patch(`/webhooks/${id}`, { active: true, events: null });
  assert.deepEqual(
    [on.body.data.active, on.body.data.deactivatedReason, on.body.data.events],
    [true, null, null],
  );
  await publish('org.created', 'rival');
  const received = await receiver.waitFor(1);
  assert.deepEqual(
    received.map(({ body }) => JSON.parse(String(body)).data.slug),
    ['rival'],
    'what happened meanwhile is not delivered',
  );
  await service.call(`/webhooks/${id}`, { method: 'DELETE' });
});

test('an invalid change changes nothing', async () => {
  const { id } = await register('https://example.org/hook');
  const before = await service.call(`/webhooks/${id}`);
  for (const changes of [
    { url: 'https://10.0.0.1/' },
    { events: ['no.such'] },
    { description: 'x', events: ['application.created'] },
    { active: 'yes' },
    {},
    { secret: 'x' },
  ]) {
    assert.equal((await patch(`/webhooks/${id}`, changes)).status, 400, JSON.stringify(changes));
  }
  assert.equal((await service.call(`/webhooks/${id}`)).text, before.text);
  await service.call(`/webhooks/${id}`, { method: 'DELETE' });
});

test('after a rotation both secrets verify during the overlap', async () => {
  const receiver = await startReceiver();
  const { id, secret: old } = await register(receiver.url);
  const rotated = await post(`/webhooks/${id}/rotate-secret`, { overlapSeconds: 3600 });
  const { secret: fresh, previousSecretExpiresAt } = rotated.body.data;
  assert.notEqual(fresh, old);
  assert.ok(previousSecretExpiresAt);
  await post(`/webhooks/${id}/test`);
  const [during] = receiver.received;
  const text = String(during?.body);
  for (const secret of [old, fresh])
    assert.doesNotThrow(() => new StandardWebhook(secret).verify(text, during?.headers ?? {}));
  assert.equal(during?.headers['x-service-signature'], githubSignature(old, text));

  await sql`update webhooks set previous_secret_expires_at = now() where id = ${id}`.execute(
    database,
  );
  await post(`/webhooks/${id}/test`);
  const later = receiver.received[1];
  assert.throws(() => new StandardWebhook(old).verify(String(later?.body), later?.headers ?? {}));
  assert.equal(later?.headers['x-service-signature'], githubSignature(fresh, String(later?.body)));
  assert.equal((await service.call(`/webhooks/${id}`)).body.data.previousSecretExpiresAt, null);

  const atOnce = await post(`/webhooks/${id}/rotate-secret`, { overlapSeconds: 0 });
  assert.equal(atOnce.body.data.previousSecretExpiresAt, null);
  const byDefault = await post(`/webhooks/${id}/rotate-secret`);
  const overlapMs =
    Date.parse(byDefault.body.data.previousSecretExpiresAt) -
    Date.parse(byDefault.body.data.updatedAt);
  assert.equal(overlapMs, 86_400_000);
  await service.call(`/webhooks/${id}`, { method: 'DELETE' });
});

test('a secret that is rotated under the id in upper case signs deliveries', async () => {
  const receiver = await startReceiver();
  const { id } = await register(receiver.url);
  const { body } = await post(`/webhooks/${id.toUpperCase()}/rotate-secret`, { overlapSeconds: 0 });
  const { status } = await post(`/webhooks/${id}/test`);
  assert.equal(status, 200);
  const [request] = receiver.received;
  assert.equal(
    request?.headers['x-service-signature'],
    githubSignature(body.data.secret, String(request?.body)),
  );
  await service.call(`/webhooks/${id}`, { method: 'DELETE' });
});

test('zero bytes of any type are no body, as generated clients send them, and null is refused', async () => {
  const receiver = await startReceiver();
  const { key } = await makeKey(service);
  const { id } = await register(receiver.url, key);
  const json = 'application/json';
  const form = 'application/x-www-form-urlencoded';
  const send = (method: string, path: string, body: string, type = json) =>
    service.call(path, { method, key, body, headers: { 'content-type': type } });
  for (const body of ['', ' null '])
    assert.equal((await send('POST', '/webhooks', body)).status, 400, body);
  const actions = [`/webhooks/${id}/test`, `/webhooks/${id}/rotate-secret`];
  for (const path of actions) {
    assert.equal((await send('POST', path, '')).status, 200, path);
    const refused = await send('POST', path, ' null ');
    assert.equal(refused.status, 400, path);
    assert.deepEqual(refused.body.error.details.issues, [
      { path: 'body', message: 'must not be null' },
    ]);
    assert.equal((await send('POST', path, '', form)).status, 200, path);
  }
  assert.equal((await send('POST', '/webhooks', '', form)).status, 400);
  assert.equal((await send('DELETE', `/webhooks/${id}`, 'null')).status, 400);
  assert.equal((await send('DELETE', `/webhooks/${id}`, '')).status, 200);
});

test('an event that is listed twice counts once', async () => {
  const receiver = await startReceiver();
  const twice = { events: ['org.created', 'alliance.created', 'org.created'] };
  const once = ['org.created', 'alliance.created'];
  const created = await post('/webhooks', { url: receiver.url, ...twice });
  assert.deepEqual(created.body.data.events, once);
  const path = `/webhooks/${created.body.data.id}`;
  const updated = await service.call(path, { method: 'PATCH', json: twice });
  assert.deepEqual(updated.body.data.events, once);
});

test('filters take every time of RFC 3339', async () => {
  const receiver = await startReceiver();
  const { key } = await makeKey(service);
  const { id } = await register(receiver.url, key);
  await post(`/webhooks/${id}/test`, undefined, key);
  const count = async (query: Record<string, string>) => {
    const path = `/webhooks/${id}/deliveries?${new URLSearchParams(query).toString()}`;
    return (await service.call(path, { key })).body.pagination.total;
  };
  assert.equal(await count({ since: '2016-12-31T23:59:60Z' }), 1);
  assert.equal(await count({ since: '2026-01-01T00:00:00.000000000001+23:59' }), 1);
  assert.equal(await count({ until: '2026-01-01t00:00:00z' }), 0);
});

test('deliveries are listed newest first, filtered, and shown with body and attempts', async () => {
  const receiver = await startReceiver((response, _, count) =>
    response.writeHead(count === 1 ? 500 : 200).end(),
  );
  const { key } = await makeKey(service);
  const { id } = await register(receiver.url, key);
  await publish();
  await endedDelivery(service, id);
  await post(`/webhooks/${id}/test`, undefined, key);
  const list = async (query = '') =>
    (await service.call(`/webhooks/${id}/deliveries${query}`, { key })).body;
  const all = await list();
  assert.deepEqual(
    all.data.map((each: any) => [each.event, each.status, each.attemptCount]),
    [
      ['webhook.test', 'succeeded', 1],
      ['org.created', 'succeeded', 2],
    ],
  );
  assert.equal(all.pagination.total, 2);
  assert.deepEqual((await list('?limit=1&page=2')).data[0].id, all.data[1].id);
  assert.deepEqual(
    (await list('?event=org.created')).data.map((each: any) => each.id),
    [all.data[1].id],
  );
  assert.equal((await list('?status=failed')).pagination.total, 0);
  assert.equal((await list('?status=pending')).pagination.total, 0);
  assert.equal((await list(`?since=${all.data[0].createdAt}`)).pagination.total, 1);
  assert.equal(
    (await list(`?until=${all.data[0].createdAt}&status=succeeded`)).pagination.total,
    1,
  );
  const detail = await service.call(`/webhooks/${id}/deliveries/${all.data[1].id}`, { key });
  assert.deepEqual(
    detail.body.data.attempts.map((each: any) => [each.number, each.trigger, each.statusCode]),
    [
      [1, 'event', 500],
      [2, 'event', 200],
    ],
  );
  assert.equal(detail.body.data.body, String(receiver.received[0]?.body));
  for (const path of [
    `/webhooks/${id}/deliveries`,
    `/webhooks/${id}/deliveries/${all.data[0].id}`,
  ]) {
    assert.equal((await service.call(path)).status, 404, "another app's");
  }
  await service.call(`/webhooks/${id}`, { method: 'DELETE', key });
});

test('a redelivery has the same id and bytes, in a new cycle', async () => {
  const receiver = await startReceiver((response) => response.writeHead(500).end());
  const { key } = await makeKey(service);
  const { id } = await register(receiver.url, key);
  await publish();
  const ended = await endedDelivery(service, id);
  assert.equal(ended.status, 'failed');
  // Held until all have asked: once the attempt is recorded, another redelivery is welcome.
  const held: ServerResponse[] = [];
  receiver.respond = (response) => held.push(response);
  const answers = await Promise.all(
    [1, 2, 3].map(() => post(`/webhooks/${id}/deliveries/${ended.id}/redeliver`, undefined, key)),
  );
  await receiver.waitFor(7);
  receiver.respond = (response) => response.end();
  for (const response of held) response.end();
  assert.equal(answers.filter(({ status }) => status === 202).length, 1);
  assert.ok(answers.every(({ status }) => status === 202 || status === 409));
  const detail = await eventually(async () => {
    const { body } = await service.call(`/webhooks/${id}/deliveries/${ended.id}`, { key });
    return body.data.status === 'succeeded' ? body.data : null;
  });
  assert.equal(detail.attemptCount, 7);
  assert.deepEqual(detail.attempts.at(-1).trigger, 'redelivery');
  assert.equal(receiver.received.length, 7);
  assert.deepEqual(receiver.received[6]?.body, receiver.received[0]?.body);

  const tested = await post(`/webhooks/${id}/test`, undefined, key);
  assert.equal(
    (await post(`/webhooks/${id}/deliveries/${tested.body.data.id}/redeliver`, undefined, key))
      .status,
    409,
  );
  assert.equal(
    (await post(`/webhooks/${id}/deliveries/${id}/redeliver`, undefined, key)).status,
    404,
  );
  await patch(`/webhooks/${id}`, { active: false }, key);
  assert.equal(
    (await post(`/webhooks/${id}/deliveries/${ended.id}/redeliver`, undefined, key)).status,
    409,
  );
  await service.call(`/webhooks/${id}`, { method: 'DELETE', key });
});

test('an event that is gone, or that the app may no longer have, is neither shown nor redelivered', async () => {
  for (const isGone of [true, false]) {
    const receiver = await startReceiver();
    const subject = { kind: 'organization', id: acme.id } as const;
    const { key, owner } = await makeKey(service, { bindTo: subject });
    const { id } = await register(receiver.url, key);
    await publish('application.created', 'acme', application);
    const { id: deliveryId, event_id: eventId } = await endedDelivery(service, id);
    const path = `/webhooks/${id}/deliveries/${deliveryId}`;
    assert.match((await service.call(path, { key })).body.data.body, /applicantHandle/);
    if (isGone) await sql`delete from events where id = ${eventId}`.execute(database);
    else await database.transaction().execute((tx) => removeManager(tx, testActor, subject, owner));
    const { status, body, text } = await service.call(path, { key });
    assert.deepEqual(
      [status, body.data.body, text.includes('applicantHandle')],
      [200, null, false],
    );
    const again = await post(`${path}/redeliver`, undefined, key);
    assert.equal(again.status, 409);
    assert.match(again.body.error.message, /can no longer get this event/);
    await service.call(`/webhooks/${id}`, { method: 'DELETE', key });
  }
});

test('recovery redelivers failed deliveries and those that a deactivation cancelled', async () => {
  let healthy = false;
  const receiver = await startReceiver((response) => response.writeHead(healthy ? 200 : 500).end());
  const { key } = await makeKey(service);
  const { id } = await register(receiver.url, key);
  const since = new Date().toISOString();
  for (let index = 0; index < 5; index += 1) await publish();
  const deactivated = await eventually(async () => {
    const { data } = (await service.call(`/webhooks/${id}`, { key })).body;
    return !data.active && data;
  });
  assert.deepEqual([deactivated.deactivatedReason, deactivated.exhaustedInARow], ['failing', 5]);
  assert.equal(deactivated.updatedAt, deactivated.deactivatedAt);
  assert.deepEqual([deactivated.lastSuccessAt, deactivated.lastFailureAt >= since], [null, true]);
  assert.equal(
    (await post(`/webhooks/${id}/recover`, { since }, key)).status,
    409,
    'it must be activated first',
  );
  healthy = true;
  const active = await patch(`/webhooks/${id}`, { active: true }, key);
  assert.equal(active.body.data.exhaustedInARow, 0);
  const recovered = await post(`/webhooks/${id}/recover`, { since }, key);
  assert.deepEqual([recovered.status, recovered.body.data.count], [202, 5]);
  await eventually(
    async () =>
      (await service.call(`/webhooks/${id}/deliveries?status=succeeded`, { key })).body.pagination
        .total === 5,
  );
  await eventually(
    async () => (await service.call(`/webhooks/${id}`, { key })).body.data.lastSuccessAt >= since,
  );
  assert.equal((await post(`/webhooks/${id}/recover`, { since }, key)).body.data.count, 0);
  for (const bad of [{}, { since: 'yesterday' }, { since: '2020-01-01T00:00:00Z' }]) {
    assert.equal((await post(`/webhooks/${id}/recover`, bad, key)).status, 400);
  }
  await service.call(`/webhooks/${id}`, { method: 'DELETE', key });
});

test('a time range that begins in the future or ends before it begins is refused', async () => {
  const { id } = await register('https://example.org/');
  const at = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
  const issueOf = ({ status, body }: Awaited<ReturnType<typeof post>>) => [
    status,
    body.error?.details.issues[0],
  ];
  const future = { path: 'body.since', message: 'must not be in the future' };
  const backwards = { path: 'body.until', message: 'must not be before since' };
  for (const [operation, range, issue] of [
    ['recover', { since: at(1) }, future],
    ['replay', { since: at(1), until: at(2) }, future],
    ['replay', { since: at(-1), until: at(-2), dryRun: true }, backwards],
  ] as const)
    assert.deepEqual(issueOf(await post(`/webhooks/${id}/${operation}`, range)), [400, issue]);
  const list = (range: Record<string, string>) =>
    service.call(`/webhooks/${id}/deliveries?${new URLSearchParams(range).toString()}`);
  for (const [range, issue] of [
    [{ since: at(1) }, { ...future, path: 'query.since' }],
    [
      { since: at(-1), until: at(-2) },
      { ...backwards, path: 'query.until' },
    ],
  ] as const)
    assert.deepEqual(issueOf(await list(range)), [400, issue]);
  // A caller's clock may be a little ahead, and an empty range is one.
  const soon = new Date(Date.now() + 5_000).toISOString();
  assert.equal((await list({ since: soon, until: soon })).status, 200);
});

test('a redelivery refuses fields, as other operations do', async () => {
  const { id } = await register('https://example.org/');
  const path = `/webhooks/${id}/deliveries/${id}/redeliver`;
  const { status, body } = await post(path, { attempts: 1 });
  assert.deepEqual(
    [status, body.error.details.issues],
    [400, [{ path: 'body.attempts', message: 'is not known here' }]],
  );
  assert.equal((await post(path, {})).status, 404);
});

test('an app makes a limited number of changes per minute, each of which is kept for good', async () => {
  const own = await makeKey(service);
  const call = (method: string, path: string, json?: object) =>
    service.call(`/webhooks${path}`, { method, key: own.key, ...(json && { json }) });
  const { body } = await call('POST', '', { url: 'https://example.org/' });
  const path = `/${body.data.id}`;
  for (let change = 1; change < changesPerMinute; change += 1)
    assert.equal((await call('PATCH', path, { active: change % 2 === 0 })).status, 200);
  const refused = await call('PATCH', path, { active: true });
  assert.equal(refused.status, 429);
  assert.match(refused.body.error.message, new RegExp(`${changesPerMinute} changes per minute`));
  assert.ok(Number(refused.headers.get('retry-after')) > 0);
  assert.equal((await call('GET', path)).status, 200);
  assert.equal(
    await countRows(service.database, sql`audit_log where subject_id = ${body.data.id}`),
    changesPerMinute,
  );
});
