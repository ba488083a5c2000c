import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../src/database/database.ts';
import { createMetrics } from '../../src/runtime/metrics.ts';
import { outcomeClass } from '../../src/webhooks/sending/deliver.ts';
import { createPing, createQueueReader } from '../../src/system/queue-state.ts';
import { openCuttableDatabase } from '../support/cuttable-database.ts';
import { openTestDatabase } from '../support/database.ts';
import { put } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { loopbackAllowed, startReceiver } from '../support/receiver.ts';
import { samples } from '../support/samples.ts';
import { startTestService } from '../support/service.ts';

test('an attempt has one class: its error, or the class of its status', () => {
  assert.equal(outcomeClass({ statusCode: 200, error: null }), 'succeeded');
  assert.equal(outcomeClass({ statusCode: 299, error: null }), 'succeeded');
  assert.equal(outcomeClass({ statusCode: 302, error: null }), '3xx');
  assert.equal(outcomeClass({ statusCode: 410, error: null }), '4xx');
  assert.equal(outcomeClass({ statusCode: 503, error: null }), '5xx');
  assert.equal(outcomeClass({ statusCode: 200, error: 'timeout' }), 'timeout');
  assert.equal(outcomeClass({ statusCode: null, error: 'dns' }), 'dns');
  for (const odd of [100, 199, 600, 999])
    assert.equal(outcomeClass({ statusCode: odd, error: null }), 'reset');
});

test('attempts are counted by outcome and trigger, with durations in seconds', async () => {
  const metrics = createMetrics();
  metrics.attempted({ outcome: 'succeeded', trigger: 'event', durationMs: 4 });
  metrics.attempted({ outcome: 'succeeded', trigger: 'event', durationMs: 40 });
  metrics.attempted({ outcome: 'timeout', trigger: 'redelivery', durationMs: 10_001 });
  metrics.claimed(7);
  metrics.recorded(3);
  metrics.recorded(150);
  metrics.fannedOut({ events: 2, deliveries: 9 });
  metrics.rejected(8);
  metrics.cancelled(4);
  metrics.unreadable();
  metrics.leasesRecovered(5);
  metrics.deactivated('gone');
  metrics.inFlight(() => 6);
  const found = samples(await metrics.render());
  const expected: Record<string, number> = {
    'orgdir_delivery_attempts_total{outcome="succeeded",trigger="event"}': 2,
    'orgdir_delivery_attempts_total{outcome="timeout",trigger="redelivery"}': 1,
    'orgdir_delivery_attempt_duration_seconds_bucket{le="0.005",outcome="succeeded"}': 1,
    'orgdir_delivery_attempt_duration_seconds_bucket{le="0.05",outcome="succeeded"}': 2,
    'orgdir_delivery_attempt_duration_seconds_bucket{le="10",outcome="timeout"}': 0,
    'orgdir_delivery_attempt_duration_seconds_bucket{le="30",outcome="timeout"}': 1,
    orgdir_claim_batch_deliveries_sum: 7,
    orgdir_claim_batch_deliveries_count: 1,
    'orgdir_record_batch_attempts_bucket{le="5"}': 1,
    'orgdir_record_batch_attempts_bucket{le="200"}': 2,
    orgdir_events_fanned_out_total: 2,
    orgdir_deliveries_created_total: 9,
    orgdir_events_rejected_total: 8,
    orgdir_deliveries_cancelled_total: 4,
    orgdir_deliveries_unreadable_total: 1,
    orgdir_delivery_leases_recovered_total: 5,
    'orgdir_webhooks_deactivated_total{reason="gone"}': 1,
    'orgdir_webhooks_deactivated_total{reason="failing"}': 0,
    orgdir_delivery_attempts_in_flight: 6,
  };
  for (const [name, value] of Object.entries(expected)) assert.equal(found.get(name), value, name);
  assert.ok((found.get('process_resident_memory_bytes') ?? 0) > 0);
});

test('two services in one process share no metrics', async () => {
  const [one, other] = [createMetrics(), createMetrics()];
  one.cancelled(3);
  const name = 'orgdir_deliveries_cancelled_total';
  assert.equal(samples(await one.render()).get(name), 3);
  assert.equal(samples(await other.render()).get(name), 0);
});

test("every metric follows Prometheus' naming and has a description", async () => {
  const metrics = createMetrics();
  metrics.inFlight(() => 0);
  metrics.queue(
    async () => none,
    async () => {},
  );
  metrics.retention(async () => 0);
  const text = await metrics.render();
  const types = [...text.matchAll(/^# TYPE (orgdir_\S+) (\S+)$/gm)];
  assert.ok(types.length >= 15);
  for (const [, name = '', type] of types) {
    assert.match(name, /^[a-z_]+$/);
    assert.equal(name.endsWith('_total'), type === 'counter', name);
    assert.match(text, new RegExp(`^# HELP ${name} [A-Z].+\\.$`, 'm'));
  }
});

const none = {
  due: 0,
  oldestDueSeconds: 0,
  pending: 0,
  leased: 0,
  eventsWaiting: 0,
  oldestEventSeconds: 0,
  setAside: {},
  setAsideExpiring: 0,
};
const queueNames = [
  'orgdir_deliveries_due',
  'orgdir_deliveries_oldest_due_age_seconds',
  'orgdir_deliveries_pending',
  'orgdir_deliveries_leased',
  'orgdir_events_waiting',
  'orgdir_events_oldest_waiting_age_seconds',
  'orgdir_rows_set_aside_expiring',
];

test('queue metrics are absent while the queue cannot be read, and come back', async () => {
  const metrics = createMetrics();
  let away = false;
  let answers = true;
  metrics.queue(
    async () => {
      if (away) throw new Error('away');
      return { ...none, due: 3 };
    },
    async () => {
      if (!answers) throw new Error('away');
    },
  );
  assert.equal(samples(await metrics.render()).get('orgdir_deliveries_due'), 3);
  away = true;
  const without = samples(await metrics.render());
  for (const name of queueNames) assert.ok(!without.has(name), name);
  assert.equal(without.get('orgdir_database_up'), 1);
  assert.ok(without.has('orgdir_deliveries_cancelled_total'));
  answers = false;
  assert.equal(samples(await metrics.render()).get('orgdir_database_up'), 0);
  away = false;
  const again = samples(await metrics.render());
  for (const name of queueNames) assert.ok(again.has(name), name);
  assert.equal(again.get('orgdir_database_up'), 1);
});

test('a late day of history is absent while the database is unavailable', async () => {
  const metrics = createMetrics();
  let away = false;
  metrics.retention(async () => (away ? Promise.reject(new Error('away')) : 90_000));
  const read = async () => samples(await metrics.render()).get('orgdir_retention_overdue_seconds');
  assert.equal(await read(), 90_000);
  away = true;
  assert.equal(await read(), undefined);
});

test('queue metrics match the database: due, leased, waiting events and ages, and parked ones have no age', async () => {
  const { database } = await openTestDatabase();
  await sql`create or replace function queue_now() returns timestamptz language sql as $$
    select timestamptz '2030-01-01 00:01:00Z' $$`.execute(database);
  await sql`
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, due_at, parked, lease_token, leased_at)
    select uuid_v7(), uuid_v7(), 'org.created', uuid_v7(), 'event', due_at, parked, token,
      case when token is not null then due_at end
    from (values
      (timestamptz '2030-01-01 00:00:02Z', true, null::uuid),
      (timestamptz '2030-01-01 00:02:00Z', true, null),
      (timestamptz '2030-01-01 00:00:18Z', false, null),
      (timestamptz '2030-01-01 00:00:50Z', false, null),
      (timestamptz '2030-01-01 00:02:00Z', false, null),
      (timestamptz '2030-01-01 00:00:01Z', false, gen_random_uuid())
    ) as given (due_at, parked, token)`.execute(database);
  await sql`
    insert into outbox (id, name, audience, data, created_at)
    values (uuid_v7(), 'org.created', 'global', '{}', timestamptz '2030-01-01 00:00:30Z')`.execute(
    database,
  );
  await sql`
    insert into events (id, name, audience, data, position)
    values (uuid_v7(), 'org.created', 'global', '{}', 1), (uuid_v7(), 'webhook.test', 'webhook', '{}', null)`.execute(
    database,
  );
  assert.deepEqual(await createQueueReader(database, 30)(), {
    due: 3,
    oldestDueSeconds: 42,
    pending: 5,
    leased: 1,
    eventsWaiting: 1,
    oldestEventSeconds: 30,
    setAside: {},
    setAsideExpiring: 0,
  });
  await sql`
    insert into published_events (id, name, org_id, created_at)
    values (uuid_v7(), 'org.created', uuid_v7(), timestamptz '2030-01-01 00:00:20Z')`.execute(
    database,
  );
  const { eventsWaiting, oldestEventSeconds } = await createQueueReader(database, 30)();
  assert.deepEqual([eventsWaiting, oldestEventSeconds], [2, 40]);
});

test('rows that were set aside are counted by stage, and those that are dropped within a day', async () => {
  const { database } = await openTestDatabase();
  await sql`
    insert into set_aside (source, stage, original, reason, set_aside_at)
    select 'outbox', stage, '{}', 'refused', queue_now() - age
    from (values ('fan-out', interval '0'), ('fan-out', '28 days'), ('record', '29 days 1 hour')) as given(stage, age)
  `.execute(database);
  await sql`
    insert into published_events (id, name, org_id, created_at, rejected_at, reason)
    select uuid_v7(), 'org.created', uuid_v7(), now(), queue_now() - age, 'not listed'
    from unnest(array[interval '28 days', '29 days 1 hour']) as age
  `.execute(database);
  const metrics = createMetrics();
  metrics.queue(createQueueReader(database, 30), createPing(database));
  const found = samples(await metrics.render());
  assert.equal(found.get('orgdir_rows_set_aside{stage="fan-out"}'), 2);
  assert.equal(found.get('orgdir_rows_set_aside{stage="record"}'), 1);
  assert.equal(found.get('orgdir_rows_set_aside_expiring'), 2, 'rejected ones too');
});

test('concurrent scrapes share one query, and a later one queries again', async () => {
  const { database } = await openTestDatabase();
  await sql`create sequence looks`.execute(database);
  await sql`create or replace function queue_now() returns timestamptz language sql volatile as $$
    select clock_timestamp() from (select nextval('orgdir.looks')) looked $$`.execute(database);
  const read = createQueueReader(database, 30);
  await Promise.all(Array.from({ length: 20 }, read));
  const looks = async () => {
    const { rows } = await sql<{ n: number }>`select last_value as n from looks`.execute(database);
    return rows[0]?.n ?? 0;
  };
  assert.equal(await looks(), 1);
  await eventually(async () => {
    await read();
    return (await looks()) === 2;
  });
});

test('a stalled database does not block a scrape', async () => {
  const { opened, cut, freeze } = await openCuttableDatabase();
  const scrape = async () => {
    // A new reader, as in a new process, without a cached result.
    const metrics = createMetrics();
    metrics.queue(createQueueReader(opened.database, 30), createPing(opened.database));
    return samples(await metrics.render()).get('orgdir_database_up');
  };
  assert.equal(await scrape(), 1);
  freeze();
  assert.equal(await scrape(), 0);
  cut();
  assert.equal(await scrape(), 0);
});

test("a worker's fan-out, claims, attempts, batches and deactivations are counted", async () => {
  const service = await startTestService({
    worker: true,
    env: {
      ...loopbackAllowed,
      WEBHOOK_RETRY_BASE_MS: '1',
      WEBHOOK_RETRY_FACTOR: '1',
      WEBHOOK_DEACTIVATE_AFTER: '1',
    },
  });
  const good = await startReceiver();
  const bad = await startReceiver((response) => response.writeHead(500).end());
  for (const { url } of [good, bad])
    await service.call('/webhooks', { method: 'POST', json: { url, events: ['org.created'] } });
  await put(service.database, 'orgs', [{ slug: 'acme', name: 'Acme' }], { emitEvents: true });
  await Promise.all([good.waitFor(1), bad.waitFor(6)]);
  const found = await eventually(async () => {
    const now = samples(await service.metrics.render());
    return now.get('orgdir_webhooks_deactivated_total{reason="failing"}') === 1 && now;
  });
  const expected: Record<string, number> = {
    'orgdir_delivery_attempts_total{outcome="succeeded",trigger="event"}': 1,
    'orgdir_delivery_attempts_total{outcome="5xx",trigger="event"}': 6,
    'orgdir_delivery_attempt_duration_seconds_count{outcome="5xx"}': 6,
    orgdir_events_fanned_out_total: 1,
    orgdir_deliveries_created_total: 2,
    orgdir_claim_batch_deliveries_sum: 7,
    orgdir_record_batch_attempts_sum: 7,
    orgdir_delivery_leases_recovered_total: 0,
  };
  for (const [name, value] of Object.entries(expected)) assert.equal(found.get(name), value, name);
  const webhookId = await service.call('/webhooks').then(({ body }) => body.data[0].id as string);
  await service.call(`/webhooks/${webhookId}/test`, { method: 'POST' });
  assert.equal(
    samples(await service.metrics.render()).get(
      'orgdir_delivery_attempts_total{outcome="succeeded",trigger="test"}',
    ),
    1,
  );
});
