/** Webhooks that are locked, late or dead next to healthy ones, and workers that freeze or cannot read a secret. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { openDatabase, sql, type Database } from '../service/src/database/database.ts';
import { dropLock, rotatePartitions } from '../service/src/webhooks/history/retention.ts';
import { createSecretBox } from '../service/src/runtime/secret-box.ts';
import { generateSecret } from '../service/src/webhooks/sending/sign.ts';
import { commonEvent, rareEvent } from '../harness/publisher.ts';
import { fillQueue } from './fill-queue.ts';
import { isEmpty, until } from '../harness/world.ts';
import type { Received } from '../harness/receivers.ts';
import {
  delayMs,
  endWell,
  isTo,
  publishedAt,
  requestsTo,
  smallScenario,
  stopWorkers,
} from './scenario.ts';
import { leaseMs } from '../harness/service.ts';

/** The default deadline and backoff, with the short lease margin of the other scenarios. */
const usualTimes = {
  WEBHOOK_TIMEOUT_MS: '10000',
  WEBHOOK_RETRY_BASE_MS: '10000',
  WEBHOOK_RETRY_FACTOR: '6',
};
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

const lockedMs = 20_000;
/** Outcomes may wait for a second, each process looks for those once a second, and the rest is for a busy machine. */
const blockedAfterMs = 4_000;
const servedAfterMs = 5_000;
/** What a failing webhook can leave on a quick machine until it is blocked; more than one health update takes. */
const outcomesOfLocked = 1_000;

smallScenario(
  'a locked webhook',
  {
    kinds: [
      { behaviour: 'prompt', webhooks: 20, event: commonEvent },
      { behaviour: 'error', webhooks: 1, event: commonEvent },
    ],
  },
  async (scene) => {
    await scene.startWorkers(2);
    await scene.publisher.publish(100);
    const locker = openDatabase(scene.store.connection, { applicationName: 'faults locker' });
    const times = await lockWhile(locker, async () => {
      await noteOutcomes(scene.database, '/error', outcomesOfLocked);
      await scene.publisher.publishSlowly(lockedMs / 100, 100);
    });
    await locker.destroy();
    const publishedAll = Date.now();
    await endWell('a locked webhook', scene);
    const received = await scene.receivers.report();
    const meanwhile = received.filter(
      ({ at }) => at > times.from + blockedAfterMs && at < times.until,
    );
    assert.equal(meanwhile.filter(isTo('/error')).length, 0, 'the locked one gets nothing');
    const others = received.filter(isTo('/prompt'));
    // The events from before the lock are a backlog.
    const events = others.filter((one) => publishedAt(one) > times.from + blockedAfterMs);
    assert.equal(
      events.filter((one) => delayMs(one) > servedAfterMs).length,
      0,
      'the others get everything at once',
    );
    const next = received.find((one) => isTo('/error')(one) && one.at > times.until);
    assert.ok(next && next.at - times.until < servedAfterMs, 'it is served when it is free');
    assert.ok(publishedAll > times.from + lockedMs - 1_000);
    await assertNone(scene.database, sql`select from attempts where error = 'interrupted'`);
    await assertNone(
      scene.database,
      sql`
        select from webhooks w left join webhook_health h on h.webhook_id = w.id where coalesce(exhausted_in_a_row, 0) <>
          (select count(*) from deliveries d where d.webhook_id = w.id and d.status = 'failed')
        or last_success_at is null and url like '%/prompt/%'
      `,
    );
  },
);

/** Notes outcomes that change nothing in the count of exhausted deliveries. */
async function noteOutcomes(database: Database, path: string, count: number): Promise<void> {
  await sql`
    insert into webhook_outcomes (webhook_id, verdict, status_code, gone)
    select id, 'retry', 500, false from webhooks, generate_series(1, ${count}::int) where url like '%://%' || ${path}::text || '/%'
  `.execute(database);
}

/** Locks the rows of failing webhooks during `act`. */
async function lockWhile(
  locker: Database,
  act: () => Promise<void>,
): Promise<{ from: number; until: number }> {
  return locker.transaction().execute(async (tx) => {
    await sql`set local idle_in_transaction_session_timeout = 0`.execute(tx);
    await sql`select from webhooks where url like '%/error/%' for update`.execute(tx);
    const from = Date.now();
    await act();
    return { from, until: Date.now() };
  });
}

const deadWebhooks = 80;
const rowsPerDead = 60;
/** The longest backoff after the first attempt, and what a busy machine adds. */
const firstRetryMaxMs = 12_000 + 5_000;

smallScenario(
  'one retry next to dead webhooks',
  {
    kinds: [
      { behaviour: 'hung', webhooks: deadWebhooks, event: rareEvent },
      { name: 'recovering', behaviour: 'fails-2', webhooks: 1, event: commonEvent },
    ],
    settings: usualTimes,
  },
  async (scene) => {
    await fillQueue(scene, {
      path: '/hung',
      count: rowsPerDead,
      dueWithinMs: firstRetryMaxMs,
    });
    await scene.startWorkers(1);
    await scene.publisher.publish(1);
    const retries = () => requestsTo(scene, '/recovering');
    await until('the retry', firstRetryMaxMs * 2, async () => (await retries()).length >= 2);
    const [first, second] = (await retries()) as [Received, Received];
    assert.ok(second.at - first.at < firstRetryMaxMs, `after ${second.at - first.at} ms`);
  },
);

// Interrupted deliveries are not retried within the scenario, so every second request of one was sent by a thawed worker.
smallScenario(
  'a worker thawed after its lease',
  {
    kinds: [{ behaviour: 'prompt', webhooks: 20, event: commonEvent }],
    settings: { WEBHOOK_RETRY_BASE_MS: String(hourMs) },
  },
  async (scene) => {
    await fillQueue(scene, { path: '/prompt', count: 300 });
    const [frozen] = await scene.startWorkers(1);
    await scene.receivers.more(500);
    frozen?.signal('SIGSTOP');
    await scene.startWorkers(1);
    await until('recovery', leaseMs * 4, () => isEmpty(scene.database, leasedOrDue));
    const before = (await scene.receivers.report()).length;
    frozen?.signal('SIGCONT');
    await wait(leaseMs);
    const late = (await scene.receivers.report()).slice(before);
    // Those whose connection was being opened: it may open after the thaw.
    const inFlight = 20 * 8;
    assert.ok(late.length <= inFlight, `${late.length} requests after the thaw`);
    assert.deepEqual(
      late.filter(
        ({ deliveryId }, index) => late.findIndex((one) => one.deliveryId === deliveryId) !== index,
      ),
      [],
    );
    await stopWorkers(scene);
    await assertNone(scene.database, sql`select from attempts where number > 1`);
  },
);

async function assertNone(database: Database, query: ReturnType<typeof sql>): Promise<void> {
  assert.equal((await query.execute(database)).rows.length, 0);
}

const leasedOrDue = sql`select from pending_deliveries where lease_token is not null or due_at < queue_now()`;

smallScenario(
  'a secret that no key opens',
  { kinds: [{ behaviour: 'prompt', webhooks: 2, event: commonEvent }] },
  async (scene) => {
    await fillQueue(scene, { path: '/prompt', count: 50 });
    const { rows } = await sql<{ id: string }>`
      select id from webhooks where url like '%/prompt/0?%'
    `.execute(scene.database);
    const id = rows[0]?.id ?? '';
    const sealed = createSecretBox([randomBytes(32)]).seal(generateSecret(), id);
    await sql`update webhooks set secret = ${sealed} where id = ${id}`.execute(scene.database);
    // Half of them have waited for longer than retention.
    const past = new Date(Date.now() - 40 * dayMs);
    await sql`select ensure_partitions(${past}::date - 1, ${past}::date + 1)`.execute(
      scene.database,
    );
    await sql`
      update pending_deliveries set created_at = ${past}, id = uuid_v7(${past}::timestamptz)
      where ctid = any(array(select ctid from pending_deliveries where webhook_id = ${id} limit 25))
    `.execute(scene.database);
    await scene.database.transaction().execute(async (tx) => {
      // Otherwise the worker may drop their day before they are looked at.
      await sql`select pg_advisory_xact_lock(${dropLock})`.execute(tx);
      await scene.startWorkers(1);
      await until('the end of old deliveries', 10_000, () =>
        isEmpty(
          scene.database,
          sql`select from pending_deliveries where webhook_id <> ${id} or created_at < queue_now() - interval '1 day'`,
        ),
      );
      const { rows: ended } = await sql<{ status: string; attempts: number; count: number }>`
        select status, attempt_count as attempts, count(*) from deliveries group by 1, 2 order by 1
      `.execute(scene.database);
      assert.deepEqual(ended, [
        { status: 'failed', attempts: 0, count: 25 },
        { status: 'succeeded', attempts: 1, count: 50 },
      ]);
    });
    await assertNone(scene.database, sql`select from attempts where error is not null`);
    assert.equal((await requestsTo(scene, '/prompt/0')).length, 0);
    await stopWorkers(scene);
    await rotatePartitions(scene.database, 30, ({ day }) => assert.fail(`${day} is kept`));
    await assertNone(scene.database, sql`select from deliveries where status = 'failed'`);
  },
);

smallScenario(
  'connections that are reset when they are used again',
  { kinds: [{ behaviour: 'fickle', webhooks: 10, event: commonEvent }] },
  async (scene) => {
    await scene.startWorkers(1);
    await scene.publisher.publishSlowly(100, 20);
    await endWell('reset when used again', scene);
    // A machine that stalls may make any attempt reach its deadline.
    await assertNone(
      scene.database,
      sql`select from attempts where coalesce(error, 'none') not in ('none', 'timeout')`,
    );
  },
);

/** More than one statement cancels. */
const backlog = 10_500;
/** Enough to see how fast a healthy webhook gets its deliveries. */
const sample = 3_000;
/** A receiver that is well again gets as many attempts at once as before after a few responses. */
const slowdownMax = 2;
/** Until the attempts that were in flight reach their deadline, and the next one is claimed. */
const firstMaxMs = 3_000;

smallScenario(
  'a dead webhook recovers',
  {
    kinds: [
      { behaviour: 'hung', webhooks: 1, event: commonEvent },
      { behaviour: 'prompt', webhooks: 1, event: commonEvent },
    ],
    settings: { WEBHOOK_TIMEOUT_MS: '2000', WEBHOOK_RETRY_BASE_MS: String(hourMs) },
  },
  async (scene) => {
    await fillQueue(scene, { path: '/prompt', count: sample });
    await scene.startWorkers(1);
    await until('the healthy one', 60_000, async () => isEmpty(scene.database, leasedOrDue));
    const first = span(await requestsTo(scene, '/prompt'));
    await fillQueue(scene, { path: '/hung', count: backlog });
    await scene.receivers.more(10);
    const healedAt = Date.now();
    await scene.receivers.heal();
    await until('the backlog', 60_000, async () => isEmpty(scene.database, leasedOrDue));
    // Another scenario may have taken the machine meanwhile.
    await fillQueue(scene, { path: '/prompt', count: sample });
    await until('the healthy one again', 60_000, async () => isEmpty(scene.database, leasedOrDue));
    const second = span((await requestsTo(scene, '/prompt')).slice(sample));
    const usual = (Math.max(first, second) / sample) * backlog;
    const healed = (await requestsTo(scene, '/hung')).filter(({ status }) => status !== null);
    const firstAfterMs = (healed[0]?.at ?? Infinity) - healedAt;
    assert.ok(firstAfterMs < 2_000 + firstMaxMs, `the first came after ${firstAfterMs} ms`);
    assert.ok(span(healed) < usual * slowdownMax, `${span(healed)} ms, not ${usual}`);
  },
);

function span(received: Received[]): number {
  return (received.at(-1)?.at ?? 0) - (received[0]?.at ?? 0);
}
