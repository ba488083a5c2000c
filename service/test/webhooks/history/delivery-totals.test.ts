/** Totals of deliveries equal the number of rows at all times, and past statistics don't change. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { sql } from '../../../src/database/database.ts';
import { countDeliveries } from '../../../src/webhooks/management/find-page.ts';
import { readDeliveryStats } from '../../../src/webhooks/management/delivery-stats.ts';
import type { DeliveryFilter } from '../../../src/webhooks/management/delivery-filter.ts';
import { cancelPending } from '../../../src/webhooks/queue/cancel-pending.ts';
import {
  dropOldStats,
  foldDeliveryChanges,
} from '../../../src/webhooks/history/fold-delivery-changes.ts';
import { recordAttempts } from '../../../src/webhooks/queue/record/record.ts';
import { requeue } from '../../../src/webhooks/replay/redeliver.ts';
import { rotatePartitions } from '../../../src/webhooks/history/retention.ts';
import { unsent, type RecordedAttempt } from '../../../src/webhooks/sending/deliver.ts';
import { systemClock } from '../../../src/webhooks/sending/clock.ts';
import { openTestDatabase } from '../../support/database.ts';
import { attemptOf } from '../../support/queue-steps.ts';

const { database } = await openTestDatabase();
const days = 4;
const hours = days * 24;
const webhooks = [0, 1, 2].map(() => randomUUID());
const events = ['org.created', 'alliance.created', 'webhook.test'];
const statuses = ['pending', 'succeeded', 'failed', 'cancelled', 'undelivered'] as const;
const appId = randomUUID();

await sql`insert into apps (id, name) values (${appId}, 'Totals')`.execute(database);
await sql`
  insert into webhooks (id, app_id, url, secret)
  select id, ${appId}, 'https://example.org/', '' from unnest(${webhooks}::uuid[]) as w(id)
`.execute(database);

const ensureDays = () =>
  sql`select ensure_partitions(current_date - ${days + 1}::int, current_date + 1)`.execute(
    database,
  );

type New = { webhook: number; event: number; hoursAgo: number; skewMinutes: number };

/** Deliveries under lease. Their ids are of another time than they are if the clocks differ. */
async function lease(made: New[]): Promise<RecordedAttempt['delivery'][]> {
  const leaseToken = randomUUID();
  const { rows } = await sql<RecordedAttempt['delivery']>`
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, due_at, created_at, lease_token, leased_at,
      attempt_count, cycle_attempts)
    select uuid_v7(at + skew * interval '1 minute'), uuid_v7(at), event, webhook_id,
      case when event = 'webhook.test' then 'test' else 'event' end, now(), at, ${leaseToken}, now(), 1, 1
    from (
      select now() - hours_ago * interval '1 hour' as at, n.*
      from unnest(${made.map(({ webhook }) => webhooks[webhook])}::uuid[], ${made.map(({ event }) => events[event])}::text[],
        ${made.map(({ hoursAgo }) => hoursAgo)}::float8[], ${made.map(({ skewMinutes }) => skewMinutes)}::int[]
      ) as n(webhook_id, event, hours_ago, skew)
    ) given
    returning id, event_id as "eventId", event, webhook_id as "webhookId", trigger, ${leaseToken} as "leaseToken",
      0 as "leaseEndsAt", 1 as number, 1 as "cycleAttempt", (extract(epoch from created_at) * 1000)::float8 as "createdAtMs"
  `.execute(database);
  return rows;
}

type End = 'succeeded' | 'failed' | 'cancelled' | 'retry';

async function record(made: New[], ends: End[], durationMs = 100): Promise<string[]> {
  const leased = await lease(made);
  await recordAttempts(
    database,
    leased.map((delivery, index) => attemptFor(delivery, ends[index % ends.length], durationMs)),
  );
  return leased.map(({ id }) => id);
}

function attemptFor(
  delivery: RecordedAttempt['delivery'],
  end: End | undefined,
  durationMs: number,
): RecordedAttempt {
  if (end === 'cancelled')
    return unsent(delivery, { kind: 'cancelled', by: 'deactivation' }, systemClock);
  if (end === 'succeeded')
    return attemptOf(delivery, { durationMs, statusCode: 200, verdict: { kind: 'succeeded' } });
  if (end === 'failed') return attemptOf(delivery, { durationMs, verdict: { kind: 'failed' } });
  return attemptOf(delivery, { durationMs });
}

async function foldAll(): Promise<void> {
  while ((await foldDeliveryChanges(database)).more);
}

async function redeliverSome(count: number): Promise<void> {
  for (const webhookId of webhooks) {
    const { rows } = await sql<{ id: string }>`
      select id from deliveries where webhook_id = ${webhookId} limit ${count}
    `.execute(database);
    const ids = rows.map(({ id }) => id);
    await database.transaction().execute((tx) => requeue(tx, appId, webhookId, ids));
  }
}

/** A day whose deliveries are queued again stays, so the queue is emptied first. */
async function drop(retentionDays: number): Promise<void> {
  await cancelPending(database, webhooks, 'deletion');
  await rotatePartitions(database, retentionDays);
  await ensureDays();
}

type Command =
  | { do: 'record'; made: New[]; ends: End[] }
  | { do: 'redeliver'; count: number }
  | { do: 'cancel'; webhook: number }
  | { do: 'drop'; retentionDays: number }
  | { do: 'fold' };

const aNew = fc.record({
  webhook: fc.nat(2),
  event: fc.nat(2),
  hoursAgo: fc.double({ min: 0, max: hours - 2, noNaN: true }),
  skewMinutes: fc.integer({ min: -70, max: 70 }),
});
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('record' as const),
      made: fc.array(aNew, { minLength: 1, maxLength: 40 }),
      ends: fc.array(fc.constantFrom<End>('succeeded', 'failed', 'cancelled', 'retry'), {
        minLength: 1,
        maxLength: 5,
      }),
    }),
  },
  fc.record({ do: fc.constant('redeliver' as const), count: fc.integer({ min: 1, max: 10 }) }),
  fc.record({ do: fc.constant('cancel' as const), webhook: fc.nat(2) }),
  fc.record({ do: fc.constant('drop' as const), retentionDays: fc.integer({ min: 1, max: days }) }),
  { weight: 3, arbitrary: fc.constant({ do: 'fold' as const }) },
);

/** For a moment. */
async function deactivate(webhookId: string): Promise<void> {
  await database.transaction().execute(async (tx) => {
    const where = sql`where id = ${webhookId}`;
    await sql`
      update webhooks set active = false, deactivated_at = now(), deactivated_reason = 'owner' ${where}
    `.execute(tx);
    await cancelPending(tx, [webhookId], 'deactivation');
    await sql`
      update webhooks set active = true, deactivated_at = null, deactivated_reason = null ${where}
    `.execute(tx);
  });
}

async function perform(one: Command): Promise<void> {
  if (one.do === 'record') await record(one.made, one.ends);
  else if (one.do === 'redeliver') await redeliverSome(one.count);
  else if (one.do === 'cancel') await deactivate(webhooks[one.webhook] ?? '');
  else if (one.do === 'drop') await drop(one.retentionDays);
  else await foldDeliveryChanges(database);
}

const time = fc.option(fc.double({ min: 0, max: hours, noNaN: true }), { nil: undefined });
const filter = fc.record({
  status: fc.option(fc.constantFrom(...statuses), { nil: undefined }),
  event: fc.option(fc.constantFrom(...events), { nil: undefined }),
  sinceHoursAgo: time,
  untilHoursAgo: time,
  onTheHour: fc.boolean(),
  webhookCount: fc.integer({ min: 1, max: 3 }),
});

const hourMs = 3_600_000;
function timeOf(hoursAgo: number | undefined, onTheHour: boolean): string | undefined {
  if (hoursAgo === undefined) return undefined;
  const ms = Date.now() - hoursAgo * hourMs;
  return new Date(onTheHour ? Math.floor(ms / hourMs) * hourMs : ms).toISOString();
}

/** How many there are, by reading all rows. */
async function countRows(ids: string[], one: DeliveryFilter): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) from (
      select webhook_id, event, 'pending' as status, created_at from pending_deliveries
      union all
      select webhook_id, event, status, created_at from deliveries
    ) d
    where webhook_id = any(${ids}::uuid[])
      and case when ${one.status ?? null}::text = 'undelivered' then status in ('failed', 'cancelled') and event <> 'webhook.test'
        else status = coalesce(${one.status ?? null}, status) end
      and event = coalesce(${one.event ?? null}, event)
      and created_at >= coalesce(${one.since ?? null}::timestamptz, '-infinity')
      and created_at < coalesce(${one.until ?? null}::timestamptz, 'infinity')
  `.execute(database);
  return rows[0]?.count ?? 0;
}

test('totals equal the number of rows after every step, with any filter', async () => {
  await ensureDays();
  await fc.assert(
    fc.asyncProperty(
      fc.array(command, { minLength: 3, maxLength: 12 }),
      fc.array(filter, { minLength: 2, maxLength: 4 }),
      async (commands, filters) => {
        for (const each of commands) {
          await perform(each);
          for (const {
            webhookCount,
            sinceHoursAgo,
            untilHoursAgo,
            onTheHour,
            ...rest
          } of filters) {
            const ids = webhooks.slice(0, webhookCount);
            const since = timeOf(sinceHoursAgo, onTheHour);
            const until = timeOf(untilHoursAgo, onTheHour);
            const query = { ...rest, since, until };
            const counts = await countDeliveries(database, ids, query);
            const total = counts.reduce((sum, { count }) => sum + count, 0);
            assert.equal(total, await countRows(ids, query), JSON.stringify({ each, query }));
          }
        }
      },
    ),
    { numRuns: 15 },
  );
});

test('deliveries that end while totals are added are counted once', async () => {
  const before = await countRows(webhooks, {});
  const made = Array.from({ length: 20 }, () => ({
    webhook: 0,
    event: 0,
    hoursAgo: 1,
    skewMinutes: 0,
  }));
  await Promise.all(
    Array.from({ length: 12 }, (_, index) =>
      index % 3 === 0 ? record(made, ['succeeded']) : foldDeliveryChanges(database),
    ),
  );
  await foldAll();
  const { rows } = await sql`select from delivery_changes`.execute(database);
  assert.equal(rows.length, 0);
  const counts = await countDeliveries(database, webhooks, {});
  assert.equal(
    counts.reduce((sum, { count }) => sum + count, 0),
    before + 80,
  );
});

async function stats(webhookId: string) {
  const { rows } = await sql<{ status: string; bucket: number; deliveries: number }>`
    select status, bucket, deliveries from webhook_stats where webhook_id = ${webhookId} order by status, bucket
  `.execute(database);
  return rows;
}

test('statistics count the first outcome of each delivery, and no tests', async () => {
  const webhookId = randomUUID();
  webhooks[0] = webhookId;
  await sql`
    insert into webhooks (id, app_id, url, secret) values (${webhookId}, ${appId}, 'https://example.org/', '')
  `.execute(database);
  const made = (event: number) => ({ webhook: 0, event, hoursAgo: 0, skewMinutes: 0 });
  const [failed = ''] = await record([made(0)], ['failed']);
  await record(
    [made(0), made(1), made(0), made(2)],
    ['succeeded', 'cancelled', 'retry', 'succeeded'],
  );
  await foldAll();
  const first = [
    { status: 'cancelled', bucket: 0, deliveries: 1 },
    { status: 'failed', bucket: 0, deliveries: 1 },
    // 2^(27/4) is the first above 100 ms.
    { status: 'succeeded', bucket: 27, deliveries: 1 },
  ];
  assert.deepEqual(await stats(webhookId), first);
  await database.transaction().execute((tx) => requeue(tx, appId, webhookId, [failed]));
  await deactivate(webhookId);
  await foldAll();
  // The one that waited for its retry has ended now, and the redelivery has not changed the past.
  assert.deepEqual(await stats(webhookId), [
    { status: 'cancelled', bucket: 0, deliveries: 2 },
    ...first.slice(1),
  ]);
});

for (const [reason, byFailure] of [
  ['failing', 2],
  ['gone', 2],
  ['owner', 0],
  ['suspended', 0],
] as const)
  test(`of deliveries that a deactivation as ${reason} cancelled, statistics count ${byFailure} as failures of the webhook`, async () => {
    const webhookId = randomUUID();
    webhooks[0] = webhookId;
    await sql`
      insert into webhooks (id, app_id, url, secret, active, deactivated_at, deactivated_reason)
      values (${webhookId}, ${appId}, 'https://example.org/', '', false, now(), ${reason})
    `.execute(database);
    const counts = async (range: 'hour' | 'day' = 'day') => {
      const { total } = await readDeliveryStats(database, [webhookId], range);
      return [total.succeeded, total.failed, total.cancelled, total.cancelledByFailure];
    };
    const made = { webhook: 0, event: 0, hoursAgo: 0, skewMinutes: 0 };
    await record([made, { ...made, event: 2 }], ['succeeded', 'cancelled']);
    // One is cancelled when it is claimed, the others with the deactivation: a delivery and a test.
    await record([made], ['cancelled']);
    await record([made, { ...made, event: 2 }], ['retry']);
    await cancelPending(database, [webhookId], 'deactivation');
    const expected = [1, 0, 2, byFailure];
    assert.deepEqual(await counts(), expected, 'before they are added to the totals');
    await foldAll();
    assert.deepEqual(await counts(), expected);
    await sql`update webhooks set active = true, deactivated_at = null, deactivated_reason = null where id = ${webhookId}`.execute(
      database,
    );
    for (const range of ['hour', 'day'] as const)
      assert.deepEqual(await counts(range), expected, `${range}, and it is active again`);
  });

test('statistics outlive their deliveries, until they are old themselves', async () => {
  const webhookId = webhooks[1] ?? '';
  await sql`delete from webhook_stats`.execute(database);
  await sql`delete from service_stats`.execute(database);
  await record([{ webhook: 1, event: 0, hoursAgo: 60, skewMinutes: 0 }], ['succeeded']);
  await foldAll();
  await drop(1);
  await dropOldStats(database);
  assert.equal((await stats(webhookId)).length, 1);
  await sql`update webhook_stats set hour = hour - interval '8 days'`.execute(database);
  await sql`update service_stats set hour = hour - interval '31 days'`.execute(database);
  await dropOldStats(database);
  assert.equal((await stats(webhookId)).length, 0);
  assert.equal((await sql`select from service_stats`.execute(database)).rows.length, 0);
});

test('deliveries that have ended are counted for their app, each once', async () => {
  const counted = async () => {
    await foldAll();
    const { rows } = await sql<{ day: string; used: number }>`
      select day::text, deliveries as used from usage where app_id = ${appId} and key_id is null order by day
    `.execute(database);
    return new Map(rows.map(({ day, used }) => [day, used]));
  };
  const before = await counted();
  const made = [2, 2, 30].map((hoursAgo) => ({ webhook: 1, event: 0, hoursAgo, skewMinutes: 0 }));
  await record(made, ['succeeded', 'failed', 'cancelled']);
  await sql`
    update webhooks set active = true, deactivated_at = null, deactivated_reason = null
  `.execute(database);
  await redeliverSome(1);
  const after = await counted();
  const grown = [...after].map(([day, used]) => used - (before.get(day) ?? 0)).filter(Boolean);
  assert.equal(
    grown.reduce((sum, each) => sum + each, 0),
    3,
  );
});
