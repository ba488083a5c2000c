import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { sql } from '../../../src/database/database.ts';
import { findAlliance } from '../../../src/directory/alliances.ts';
import { findOrg } from '../../../src/directory/orgs.ts';
import { publicById } from '../../../src/directory/public-entries.ts';
import { publishEvent } from '../../../src/directory/publish-in-groups.ts';
import { bindApp } from '../../../src/access/bindings.ts';
import { addManager, removeManager } from '../../../src/access/managers.ts';
import { recordEvents } from '../../../src/events/record-event.ts';
import { version } from '../../../src/runtime/version.ts';
import { testActor } from '../../support/actor.ts';
import { blueprint, put } from '../../support/directory.ts';
import { endedDelivery, eventually } from '../../support/eventually.ts';
import { checkDelivery } from '../../support/openapi-check.ts';
import { loopbackAllowed, startReceiver, type Received } from '../../support/receiver.ts';
import { makeKey, startTestService, testPublicUrl } from '../../support/service.ts';

const service = await startTestService({
  worker: true,
  env: {
    ...loopbackAllowed,
    WEBHOOK_RETRY_BASE_MS: '1',
    WEBHOOK_RETRY_FACTOR: '1',
    WEBHOOK_TIMEOUT_MS: '2000',
  },
});
const { database } = service;
await put(database, 'alliances', [
  { slug: 'league', name: 'League' },
  { slug: 'other-league', name: 'Other League' },
]);
await put(database, 'orgs', [
  { slug: 'acme', name: 'Acme, "Ünïcode" & 北京 <script>', alliance: 'league' },
  { slug: 'rival', name: 'Rival' },
  { slug: 'hidden', name: 'Hidden', listed: false },
]);
const acme = (await findOrg(database, 'acme'))!;
const rival = (await findOrg(database, 'rival'))!;
const league = (await findAlliance(database, 'league'))!;
const rivalData = (await publicById(database, 'orgs', [rival.id], testPublicUrl))[0]!;

type Publication = { org?: string; alliance?: string; data?: unknown };

function publish(name: string, { org, alliance, data }: Publication = {}): Promise<string> {
  return database.transaction().execute((tx) =>
    publishEvent(tx, {
      name,
      org: org ?? null,
      alliance: alliance ?? null,
      data: data ?? null,
      publicUrl: testPublicUrl,
    }),
  );
}

async function register(url: string, options: { key?: string; events?: string[] } = {}) {
  const { status, body } = await service.call('/webhooks', {
    method: 'POST',
    key: options.key ?? service.key,
    json: { url, ...(options.events ? { events: options.events } : {}) },
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body.data as { id: string; secret: string };
}

function unregister(id: string, key = service.key) {
  return service.call(`/webhooks/${id}`, { method: 'DELETE', key });
}

const application = {
  id: 'a-1',
  applicantHandle: 'wanderer',
  submittedAt: '2026-11-20T12:00:00.000Z',
};
const request = {
  id: 'r-1',
  organization: 'Acme',
  title: 'Iron',
  items: [{ name: 'Iron', quantity: 1e9, unit: null }],
  deadline: null,
};

test('a published event arrives once, in the exact format, with both signatures', async () => {
  const receiver = await startReceiver();
  const webhook = await register(receiver.url, { events: ['org.created'] });
  const eventId = await publish('org.created', { org: 'acme' });
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
  await unregister(webhook.id);
});

test('a failed attempt is retried with the same bytes, six attempts at most, all recorded', async () => {
  const receiver = await startReceiver((response) =>
    response.writeHead(500, { 'x-reason': 'broken' }).end('no\0\xff'),
  );
  const webhook = await register(receiver.url, { events: ['org.created'] });
  await publish('org.created', { org: 'acme' });
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
  await unregister(webhook.id);
});

test('a successful retry ends the delivery', async () => {
  const receiver = await startReceiver((response, _, count) =>
    response.writeHead(count < 3 ? 503 : 204).end(),
  );
  const webhook = await register(receiver.url, { events: ['org.created'] });
  await publish('org.created', { org: 'acme' });
  const ended = await endedDelivery(service, webhook.id);
  assert.deepEqual(
    [ended.status, ended.attempt_count, receiver.received.length],
    ['succeeded', 3, 3],
  );
  // The worker updates health a moment after it has recorded the attempts.
  const found = await eventually(async () => {
    const { body } = await service.call('/webhooks');
    const each = body.data.find(({ id }: { id: string }) => id === webhook.id);
    return each.lastSuccessAt ? each : null;
  });
  assert.ok(found.lastFailureAt);
  assert.equal(found.exhaustedInARow, 0);
  await unregister(webhook.id);
});

test('redirects are failures and are not followed', async () => {
  const target = await startReceiver();
  const receiver = await startReceiver((response) =>
    response.writeHead(307, { location: target.url }).end(),
  );
  const webhook = await register(receiver.url, { events: ['org.created'] });
  await publish('org.created', { org: 'acme' });
  assert.equal((await endedDelivery(service, webhook.id)).status, 'failed');
  assert.equal(target.received.length, 0);
  await unregister(webhook.id);
});

test('events of an organisation or alliance reach only bound apps', async () => {
  const targets = await Promise.all(
    [
      null,
      { kind: 'organization', id: acme.id },
      { kind: 'organization', id: rival.id },
      { kind: 'alliance', id: league.id },
    ].map(async (bindTo) => {
      const { key } = await makeKey(
        service,
        bindTo ? { bindTo: bindTo as { kind: 'organization' | 'alliance'; id: string } } : {},
      );
      const receiver = await startReceiver();
      return { key, receiver, webhook: await register(receiver.url, { key }) };
    }),
  );
  await publish('application.created', { org: 'acme', data: application });
  await publish('resource.request.created', { alliance: 'league', data: request });
  await publish('org.created', { org: 'rival' });
  // The last is global: everyone has it, and what they should have before it has been fanned out by then.
  await Promise.all(
    targets.map(({ receiver }, index) => receiver.waitFor(index % 2 === 0 ? 1 : 2)),
  );
  await Promise.all(
    targets.map(({ webhook }, index) =>
      eventually(async () => {
        const { rows } = await sql<{
          count: number;
        }>`select count(*) from deliveries where webhook_id = ${webhook.id}`.execute(database);
        return rows[0]?.count === (index % 2 === 0 ? 1 : 2);
      }),
    ),
  );
  const { rows: left } = await sql`select 1 from pending_deliveries`.execute(database);
  assert.equal(left.length, 0);
  const names = targets.map(({ receiver }) =>
    receiver.received.map(({ headers }) => headers['x-service-event']).sort(),
  );
  assert.deepEqual(names, [
    ['org.created'],
    ['application.created', 'org.created'],
    ['org.created'],
    ['org.created', 'resource.request.created'],
  ]);
  const bound = targets[1]!.receiver.received.find(
    ({ headers }) => headers['x-service-event'] === 'application.created',
  );
  const message = JSON.parse(String(bound?.body));
  checkDelivery('application.created', message);
  assert.deepEqual(message.data, {
    organizationId: acme.id,
    organization: { id: acme.id, slug: 'acme', name: acme.name },
    application,
  });
  for (const { webhook, key } of targets) await unregister(webhook.id, key);
});

test('a delivery whose app loses access before the next attempt is cancelled', async () => {
  const { key, owner } = await makeKey(service, { bindTo: { kind: 'organization', id: acme.id } });
  const receiver = await startReceiver((response) => {
    void database
      .transaction()
      .execute((tx) => removeManager(tx, testActor, { kind: 'organization', id: acme.id }, owner))
      .then(() => response.writeHead(500).end());
  });
  const webhook = await register(receiver.url, { key });
  await publish('application.created', { org: 'acme', data: application });
  const ended = await endedDelivery(service, webhook.id);
  assert.deepEqual(
    [ended.status, ended.attempt_count, receiver.received.length],
    ['cancelled', 1, 1],
  );
  await unregister(webhook.id, key);
});

test('a new binding does not revive deliveries of the previous one', async () => {
  const subject = { kind: 'organization', id: acme.id } as const;
  const { key, owner, appId } = await makeKey(service, { bindTo: subject });
  const receiver = await startReceiver((response) => {
    void database
      .transaction()
      .execute((tx) => removeManager(tx, testActor, subject, owner))
      .then(() => database.transaction().execute((tx) => addManager(tx, testActor, subject, owner)))
      .then(() => database.transaction().execute((tx) => bindApp(tx, testActor, appId, subject)))
      .then(() => response.writeHead(500).end());
  });
  const webhook = await register(receiver.url, { key });
  await publish('application.created', { org: 'acme', data: application });
  const ended = await endedDelivery(service, webhook.id);
  assert.deepEqual([ended.status, ended.attempt_count], ['cancelled', 1]);
  receiver.respond = (response) => response.writeHead(200).end();
  await publish('application.created', { org: 'acme', data: application });
  await receiver.waitFor(2);
  await unregister(webhook.id, key);
});

test('deliveries start while other events wait for fan-out', async () => {
  const waiting = async () =>
    (
      await sql<{ count: number }>`
        select count(*) from outbox
      `.execute(database)
    ).rows[0]?.count ?? 0;
  let left: number | undefined;
  const receiver = await startReceiver((response) => {
    response.writeHead(200).end();
    if (left === undefined) void waiting().then((count) => (left = count));
  });
  const webhook = await register(receiver.url, { events: ['org.created'] });
  const events = Array.from({ length: 10_000 }, () => ({
    name: 'org.created' as const,
    data: rivalData,
    orgId: rival.id,
  }));
  await database.transaction().execute((tx) => recordEvents(tx, events));
  await eventually(async () => left !== undefined);
  assert.notEqual(left, 0);
  await unregister(webhook.id);
  await eventually(async () => (await waiting()) === 0);
});

test('an unlisted organisation is not announced', async () => {
  await put(database, 'orgs', [{ slug: 'fleeting', name: 'Fleeting' }]);
  const receiver = await startReceiver((response) => {
    void put(database, 'orgs', [{ slug: 'fleeting', name: 'Fleeting', listed: false }]).then(() =>
      response.writeHead(500).end(),
    );
  });
  const webhook = await register(receiver.url, { events: ['org.created'] });
  await publish('org.created', { org: 'fleeting' });
  const ended = await endedDelivery(service, webhook.id);
  assert.deepEqual([ended.status, ended.attempt_count], ['cancelled', 1]);
  await assert.rejects(publish('org.created', { org: 'hidden' }), /not listed/);
  await unregister(webhook.id);
});

test('of what is deleted, an alliance and a blueprint are still sent, and an organisation is not', async () => {
  await put(database, 'orgs', [{ slug: 'brief', name: 'Brief' }]);
  await put(database, 'alliances', [{ slug: 'brief', name: 'Brief' }]);
  const receiver = await startReceiver();
  const events = ['org.created', 'alliance.created', 'blueprint.updated'];
  const webhook = await register(receiver.url, { events });
  await publish('org.created', { org: 'brief' });
  await publish('alliance.created', { alliance: 'brief' });
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
  await unregister(webhook.id);
});

test('a webhook is deactivated as gone after a final 410, and as failing after five failed deliveries', async () => {
  const gone = await startReceiver((response) => response.writeHead(410).end());
  const goneHook = await register(gone.url, { events: ['org.created'] });
  await publish('org.created', { org: 'acme' });
  await endedDelivery(service, goneHook.id);
  const state = async (id: string) =>
    (await service.call('/webhooks?limit=100')).body.data.find(
      (each: { id: string }) => each.id === id,
    );
  const afterGone = await eventually(async () => {
    const found = await state(goneHook.id);
    return found.active ? null : found;
  });
  assert.equal(afterGone.deactivatedReason, 'gone');
  await unregister(goneHook.id);

  const failing = await startReceiver((response) => response.writeHead(500).end());
  const failingHook = await register(failing.url, { events: ['org.created'] });
  for (let index = 0; index < 5; index += 1) await publish('org.created', { org: 'acme' });
  const afterFailing = await eventually(async () => {
    const found = await state(failingHook.id);
    return found.active ? null : found;
  });
  assert.deepEqual([afterFailing.deactivatedReason, afterFailing.exhaustedInARow], ['failing', 5]);
  assert.ok(afterFailing.deactivatedAt);
  assert.equal(afterFailing.updatedAt, afterFailing.deactivatedAt);
  const before = failing.received.length;
  const other = await startReceiver();
  const otherHook = await register(other.url, { events: ['org.created'] });
  await publish('org.created', { org: 'acme' });
  await other.waitFor(1);
  assert.equal(failing.received.length, before, 'a deactivated webhook gets no new deliveries');
  await unregister(failingHook.id);
  await unregister(otherHook.id);
});

test('a rolled-back event is never sent', async () => {
  const receiver = await startReceiver();
  const webhook = await register(receiver.url, { events: ['org.created'] });
  await assert.rejects(
    database.transaction().execute(async (tx) => {
      await publishEvent(tx, {
        name: 'org.created',
        org: 'acme',
        alliance: null,
        data: null,
        publicUrl: testPublicUrl,
      });
      throw new Error('undo');
    }),
    /undo/,
  );
  await publish('org.created', { org: 'rival' });
  const received = await receiver.waitFor(1);
  await endedDelivery(service, webhook.id);
  assert.deepEqual(
    received.map(({ body }) => JSON.parse(String(body)).data.slug),
    ['rival'],
  );
  await unregister(webhook.id);
});

test('deleting a webhook cancels its pending deliveries', async () => {
  let hold: () => void = () => {};
  const held = new Promise<void>((resolve) => (hold = resolve));
  const receiver = await startReceiver(
    (response) => void held.then(() => response.writeHead(500).end()),
  );
  const webhook = await register(receiver.url, { events: ['org.created'] });
  for (let index = 0; index < 10; index += 1) await publish('org.created', { org: 'acme' });
  await receiver.waitFor(2);
  await eventually(async () => {
    const { rows } = await sql<{
      count: number;
    }>`select count(*) from pending_deliveries where webhook_id = ${webhook.id}`.execute(database);
    return rows[0]?.count === 10;
  });
  assert.equal((await unregister(webhook.id)).status, 200);
  const ended = async () =>
    (
      await sql<{
        status: string;
      }>`select status from deliveries where webhook_id = ${webhook.id}`.execute(database)
    ).rows;
  // Two are in flight: a webhook that has not responded yet gets no more.
  await eventually(async () => (await ended()).length >= 8);
  hold();
  await eventually(async () => (await ended()).length === 10);
  assert.ok((await ended()).every(({ status }) => status === 'cancelled'));
  // On a slow machine the two may have timed out before, and others begun.
  assert.ok(receiver.received.length < 10);
});
