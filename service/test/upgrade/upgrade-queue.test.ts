/** An installation with the old queue and work in it gets the new one. */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { sql } from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrate.ts';
import { createSecretBox } from '../../src/runtime/secret-box.ts';
import { queueDrained } from '../support/queue.ts';
import { loopbackAllowed, startReceiver } from '../support/receiver.ts';
import { startTestService } from '../support/service.ts';
import { openBeforeUpgrade } from '../support/upgrade.ts';

type Delivery = { id: string; eventId: string; webhookId: string };

const secretKeys = [randomBytes(32)];
const receiver = await startReceiver();
const old = await openBeforeUpgrade('0016_unlisted_names.sql');
const { database } = old;

async function insertWebhook(appId: string): Promise<string> {
  const id = randomUUID();
  const secret = createSecretBox(secretKeys).seal('whsec_c2VjcmV0', id);
  await sql`
    insert into webhooks (id, app_id, url, secret) values (${id}, ${appId}, ${receiver.url + id}, ${secret})
  `.execute(database);
  return id;
}

async function insertEvent(data: string, isFannedOut: boolean, audience = 'global') {
  const { rows } = await sql<{ id: string; name: string; data: string; createdAt: string }>`
    insert into events (id, name, audience, data, position)
    values (uuid_v7(), ${audience === 'webhook' ? 'webhook.test' : 'org.created'}, ${audience}, ${data},
      case when ${isFannedOut} then nextval('event_positions') end)
    returning id, name, data, created_at::text as "createdAt"
  `.execute(database);
  const [event] = rows;
  assert.ok(event);
  return event;
}

async function insertPending(
  eventId: string,
  webhookId: string,
  failing: boolean,
  trigger: 'event' | 'test' = 'event',
): Promise<Delivery> {
  const { rows } = await sql<Delivery>`
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, failing, due_at)
    values (uuid_v7(), ${eventId}, ${trigger === 'test' ? 'webhook.test' : 'org.created'}, ${webhookId}, ${trigger}, ${failing}, queue_now())
    returning id, event_id as "eventId", webhook_id as "webhookId"
  `.execute(database);
  const [delivery] = rows;
  assert.ok(delivery);
  return delivery;
}

/** Leases deliveries together, as a claim did. Returns when the lease ends. */
async function lease(deliveries: Delivery[], endsInSeconds: number): Promise<string> {
  const ids = deliveries.map(({ id }) => id);
  const { rows } = await sql<{ until: string }>`
    with lease as (
      insert into leases (token, delivery_ids, leased_until)
      values (gen_random_uuid(), ${ids}::uuid[], queue_now() + ${endsInSeconds} * interval '1 second')
      returning token, leased_until
    ),
    leased as (
      update pending_deliveries set lease_token = token, leased_at = leased_until - interval '90 seconds',
        attempt_count = 1, cycle_attempts = 1
      from lease where id = any(${ids}::uuid[])
    )
    select leased_until::text as until from lease
  `.execute(database);
  return rows[0]?.until ?? '';
}

test('an upgrade loses no event or delivery of the old queue, and a worker sends each once', async () => {
  const appId = randomUUID();
  await sql`
    insert into apps (id, name, owner_email) values (${appId}, 'Herald', 'ada@example.org')
  `.execute(database);
  const healthy = await insertWebhook(appId);
  const unhealthy = await insertWebhook(appId);
  const first = await insertEvent('{"n" : 1.0}', true);
  const second = await insertEvent('{"n" : 2.0}', true);
  const pending = [
    await insertPending(first.id, healthy, false),
    await insertPending(first.id, unhealthy, true),
  ];
  const dead = [await insertPending(second.id, healthy, false)];
  const alive = [await insertPending(second.id, unhealthy, true)];
  const waiting = [
    await insertEvent('{"n" : 3.0}', false),
    await insertEvent('{"n" : 4.0}', false),
  ];
  const tested = await insertEvent('{}', false, 'webhook');
  const testDelivery = await insertPending(tested.id, healthy, false, 'test');
  const deadUntil = await lease(dead, -10);
  const aliveUntil = await lease(alive, 60);
  const testUntil = await lease([testDelivery], 60);

  await migrate(database);

  const { rows: outbox } = await sql`
    select id, name, data, created_at::text as "createdAt" from outbox order by created_at
  `.execute(database);
  assert.deepEqual(outbox, waiting);
  const { rows: events } = await sql<{ id: string }>`select id from events order by id`.execute(
    database,
  );
  assert.deepEqual(
    events.map(({ id }) => id),
    [first.id, second.id, tested.id].sort(),
  );
  const { rows: leased } = await sql<{ id: string; until: string }>`
    select id, due_at::text as until from pending_deliveries where lease_token is not null
  `.execute(database);
  assert.deepEqual(
    new Map(leased.map(({ id, until }) => [id, until])),
    new Map([
      [dead[0]?.id, deadUntil],
      [alive[0]?.id, aliveUntil],
      [testDelivery.id, testUntil],
    ]),
  );
  const { rows: free } = await sql<{ id: string }>`
    select id from pending_deliveries where lease_token is null and not parked and due_at <= queue_now() order by id
  `.execute(database);
  assert.deepEqual(
    free.map(({ id }) => id),
    pending.map(({ id }) => id).sort(),
  );

  // A minute later.
  await sql`update pending_deliveries set due_at = queue_now() where lease_token is not null`.execute(
    database,
  );
  await startTestService({
    beside: { ...old, secretKeys },
    worker: true,
    env: { ...loopbackAllowed, WEBHOOK_RETRY_BASE_MS: '1', WEBHOOK_RETRY_FACTOR: '1' },
  });
  await queueDrained(database);

  const { rows: ended } = await sql<{ pair: string; status: string; attempts: string[] }>`
    select event_id || '/' || webhook_id as pair, status,
      (select array_agg(coalesce(error, status_code::text) order by number) from attempts where delivery_id = d.id) as attempts
    from deliveries d
  `.execute(database);
  const pair = ({ eventId, webhookId }: Omit<Delivery, 'id'>) => `${eventId}/${webhookId}`;
  const sent = (attempts: string[]) => ({ status: 'succeeded', attempts });
  assert.deepEqual(
    new Map(ended.map(({ pair: key, ...rest }) => [key, rest])),
    new Map([
      ...pending.map((one) => [pair(one), sent(['200'])] as const),
      ...[...dead, ...alive].map((one) => [pair(one), sent(['interrupted', '200'])] as const),
      ...waiting.flatMap(({ id: eventId }) =>
        [healthy, unhealthy].map(
          (webhookId) => [pair({ eventId, webhookId }), sent(['200'])] as const,
        ),
      ),
      [pair(testDelivery), { status: 'failed', attempts: ['interrupted'] }],
    ]),
  );
  assert.equal(ended.length, receiver.received.length + 1);
  const { rows: inOrder } = await sql<{ id: string }>`
    select id from events where position is not null order by position
  `.execute(database);
  assert.deepEqual(
    inOrder.map(({ id }) => id),
    [first.id, second.id, ...waiting.map(({ id }) => id).sort()],
  );
});
