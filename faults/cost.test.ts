/** The cost of delivering: row changes, pages and statements, and the latency of healthy webhooks next to late ones. */
import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { quantile } from '../harness/figures.ts';
import { openDatabase, sql, type Database } from '../service/src/database/database.ts';
import { commonEvent } from '../harness/publisher.ts';
import { fillQueue } from './fill-queue.ts';
import { isEmpty, readValue, until } from '../harness/world.ts';
import type { Received } from '../harness/receivers.ts';
import { delayMs, isTo, publishedAt, smallScenario, stopWorkers, type Scene } from './scenario.ts';

const usualTimes = {
  WEBHOOK_TIMEOUT_MS: '10000',
  WEBHOOK_LEASE_MARGIN_MS: '20000',
  WEBHOOK_RETRY_BASE_MS: '600000',
  WEBHOOK_RETRY_FACTOR: '6',
};

const waitingForOne = 9_500;
const attemptsMeasured = 1_500;
/** Claiming, deleting, and inserting and parking the retry of a failure make four. */
const rowChangesMax = 5;

smallScenario(
  'row changes of a receiver that alternates',
  {
    kinds: [{ behaviour: 'alternating', webhooks: 1, event: commonEvent }],
    settings: usualTimes,
  },
  async (scene) => {
    await fillQueue(scene, { path: '/alternating', count: waitingForOne });
    // Sessions report what they changed when they end, so each worker's are complete.
    await scene.startWorkers(1);
    await until('parking', 60_000, () =>
      isEmpty(
        scene.database,
        sql`select from pending_deliveries where lease_token is null and not parked and due_at < queue_now()`,
      ),
    );
    await stopWorkers(scene);
    const before = await rowChanges(scene.database);
    const sent = (await scene.receivers.report()).length;
    await scene.startWorkers(1);
    await scene.receivers.more(attemptsMeasured);
    await stopWorkers(scene);
    const attempts = (await scene.receivers.report()).length - sent;
    const perAttempt = ((await rowChanges(scene.database)) - before) / attempts;
    assert.ok(perAttempt <= rowChangesMax, `${perAttempt} row changes per attempt`);
  },
);

async function rowChanges(database: Database): Promise<number> {
  const changes = sql`
    select n_tup_ins + n_tup_upd + n_tup_del as value from pg_stat_user_tables where relname = 'pending_deliveries'
  `;
  return readValue(database, changes);
}

const eventsMeasured = 150;
const eventEveryMs = 100;
/** Until the late ones have all that they may have in flight. */
const fillUpMs = 5_000;
const latencyRatioMax = 2;
const comparisonsMax = 3;
/** On a busy machine a few events take longer with and without late webhooks. */
const latencyFloorMs = 20;

smallScenario(
  'late webhooks of one owner',
  {
    kinds: [
      { behaviour: 'prompt', webhooks: 10, event: commonEvent },
      { name: 'late', behaviour: 'after-9000', webhooks: 200, event: commonEvent },
    ],
    settings: usualTimes,
  },
  async (scene) => {
    const activate = (active: boolean) =>
      sql`
        update webhooks set active = ${active}, deactivated_at = case when not ${active} then now() end,
          deactivated_reason = case when not ${active} then 'owner' end
        where url like '%/late/%'
      `.execute(scene.database);
    await scene.startWorkers(1);
    // Another scenario next to it may disturb one comparison.
    for (let tries = 1; ; tries += 1) {
      await activate(false);
      await scene.publisher.publishSlowly(20, eventEveryMs);
      const alone = await latencies(scene);
      await activate(true);
      await scene.publisher.publishSlowly(fillUpMs / eventEveryMs, eventEveryMs);
      const beside = await latencies(scene);
      const slower = [0.5, 0.99].flatMap((share) => {
        const [with_, without] = [quantile(beside, share), quantile(alone, share)];
        return with_ <= latencyRatioMax * without + latencyFloorMs
          ? []
          : [`p${share * 100} is ${with_} ms next to late webhooks, ${without} ms without`];
      });
      if (slower.length === 0) break;
      assert.ok(tries < comparisonsMax, slower.join(', '));
    }
  },
);

/** From publishing to receipt, of the healthy webhooks. */
async function latencies(scene: Scene): Promise<number[]> {
  const from = Date.now();
  await scene.publisher.publishSlowly(eventsMeasured, eventEveryMs);
  const isMeasured = (one: Received) => isTo('/prompt')(one) && publishedAt(one) >= from;
  const received = async () => (await scene.receivers.report()).filter(isMeasured);
  await until(
    'the deliveries of healthy webhooks',
    30_000,
    async () => (await received()).length >= eventsMeasured * 10,
  );
  return (await received()).map(delayMs);
}

const leasedRows = 40_000;
const goneRows = 50_000;
/**
 * The gone rows fell due within this time. Claims step over those of the last 20 seconds every three seconds, so the cost of these
 * depends on how long the machine takes; here they are few.
 */
const goneWithinMs = 3_600_000;
const pagesRatioMax = 2;
const eventsDelivered = 100;
const deliverEveryMs = 30;
/** Sessions report what they read within a second, if they are in use. */
const statisticsMs = 2_000;

// Compares pages read, which do not depend on the load of the machine, over the same publishing in the same time.
smallScenario(
  'rows that are leased, and rows that a snapshot keeps',
  { kinds: [{ behaviour: 'prompt', webhooks: 20, event: commonEvent }], settings: usualTimes },
  async (scene) => {
    const { database } = scene;
    await stopVacuums(database);
    const alone = await pagesOfDelivering(scene);
    await fillQueue(scene, { path: '/prompt', count: leasedRows / 20, leased: true });
    const besideLeased = await pagesOfDelivering(scene);
    await sql`delete from pending_deliveries`.execute(database);
    const gone = { path: '/prompt', count: goneRows / 20, dueWithinMs: -goneWithinMs };
    await fillQueue(scene, gone);
    const reader = openDatabase(scene.store.connection, { applicationName: 'faults reader' });
    await reader
      .transaction()
      .setIsolationLevel('repeatable read')
      .execute(async (tx) => {
        await sql`set local idle_in_transaction_session_timeout = 0`.execute(tx);
        await sql`select from pending_deliveries limit 1`.execute(tx);
        await sql`delete from pending_deliveries`.execute(database);
        const besideGone = await pagesOfDelivering(scene);
        assert.ok(
          besideLeased <= alone * pagesRatioMax,
          `${besideLeased} next to leased rows, ${alone} without`,
        );
        assert.ok(
          besideGone <= alone * pagesRatioMax,
          `${besideGone} next to gone rows, ${alone} without`,
        );
      });
    await reader.destroy();
  },
);

const queueTables = ['outbox', 'pending_deliveries', 'webhook_outcomes'];

/** The pages that autovacuum reads are in the same statistics, and it comes at any time. */
async function stopVacuums(database: Database): Promise<void> {
  for (const table of queueTables)
    await sql`alter table ${sql.table(table)} set (autovacuum_enabled = false)`.execute(database);
}

/**
 * Pages of the queue's tables that a worker reads while it delivers. The lesser of two: a session that is idle reports
 * what it read at the start up to ten seconds later.
 */
async function pagesOfDelivering(scene: Scene): Promise<number> {
  await scene.startWorkers(1);
  // A worker looks at everything when it starts, and then once a minute.
  await scene.publisher.publishSlowly(20, deliverEveryMs);
  await wait(statisticsMs);
  const read = Math.min(await measurePages(scene), await measurePages(scene));
  await stopWorkers(scene);
  return read;
}

async function measurePages(scene: Scene): Promise<number> {
  const before = await pages(scene.database);
  const all = scene.receivers.more(eventsDelivered * 20);
  await scene.publisher.publishSlowly(eventsDelivered, deliverEveryMs);
  await all;
  await wait(statisticsMs);
  return (await pages(scene.database)) - before;
}

async function pages(database: Database): Promise<number> {
  const blocks = sql`
    select sum(heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)::float8 as value
    from pg_statio_user_tables where relname = any(${queueTables})
  `;
  return readValue(database, blocks);
}

const workersIdle = 2;
const statementsMax = 25;
const idleMs = 10_000;

smallScenario(
  'idle workers next to a dead webhook',
  {
    kinds: [{ behaviour: 'hung', webhooks: 1, event: commonEvent }],
    settings: { ...usualTimes, WEBHOOK_TIMEOUT_MS: '30000' },
  },
  async (scene) => {
    await fillQueue(scene, { path: '/hung', count: 1_000 });
    await scene.startWorkers(workersIdle);
    await scene.receivers.more(2);
    await wait(5_000);
    const before = await commits(scene.database);
    await wait(idleMs);
    const perSecond = ((await commits(scene.database)) - before) / workersIdle / (idleMs / 1_000);
    assert.ok(perSecond <= statementsMax, `${perSecond} statements per second of each worker`);
  },
);

async function commits(database: Database): Promise<number> {
  const count = sql`
    select xact_commit as value from pg_stat_database where datname = current_database()
  `;
  return readValue(database, count);
}
