/**
 * Runs the worker's tasks: takes in events published by SQL, fans out events, claims deliveries, attempts and records
 * them, updates the health of webhooks, recovers leases and rotates partitions. The tasks keep nothing only in memory
 * that must not be lost. Next: `dispatcher.ts`.
 *
 * One process leads: it is notified of new work and looks for it most often. The others take what is left for a moment,
 * because the leader is full, frozen or gone. So another worker costs next to nothing.
 */
import { setTimeout as wait } from 'node:timers/promises';
import {
  openDatabase,
  shortTransactionMs,
  type ConnectionSettings,
  type Database,
} from '../../database/database.ts';
import { createListener } from '../../database/listener.ts';
import { dropExpiredKeys } from '../../events/idempotency-keys.ts';
import { dropOldRejected, type Rejection } from '../../events/published-events.ts';
import { createDispatcher, type Dispatcher, type DispatcherDependencies } from './dispatcher.ts';
import { createEvery } from './every.ts';
import { createFloor, fullLookMs } from './floor.ts';
import { createLoop } from '../../loop.ts';
import { dropOldOperationalEvents } from '../notifications/operational-events.ts';
import { findWork } from './find-work.ts';
import { joinWorkers, leaveWorkers } from './members.ts';
import { queueChannel } from './queue-channel.ts';
import { recoverLeases } from './recover-leases.ts';
import { logDeactivations } from './log-deactivations.ts';
import { rotatePartitions } from './retention.ts';
import { updateWebhookHealth } from './update-webhook-health.ts';

export type WorkerDependencies = Omit<
  DispatcherDependencies,
  'database' | 'onDue' | 'onParked' | 'onRecorded' | 'outcomesFloor'
> & {
  connection: ConnectionSettings;
  retentionDays: number;
  /** Turns entries published by SQL into events, a batch at a time. */
  ingestPublished(
    database: Database,
    floor: string,
  ): Promise<{ accepted: number; rejected: Rejection[] }>;
};
export type Worker = {
  start(): void;
  stop(): Promise<void>;
  /** Tells it of events that this process has just published. Returns false if another process has to be told. */
  wake(): boolean;
};

const poolEndTimeoutMs = 500;
/** How often a process looks for work of which it may not have been notified. */
const lookMs = 100;
/** What has waited for this long is left for any process: the leader is full, frozen or gone, or has too much to do. */
const leftMs = 500;
const leaderLock = 70420013;
const leaseCheckMs = 1_000;
const joinMs = 1_000;
/** Failed updates are tried again after this time. Otherwise `join` finds outcomes that were left. */
const healthRetryMs = 1_000;
/** How long outcomes are collected before the health of their webhooks is updated, once. */
const healthDelayMs = 250;
const partitionCheckMs = 3_600_000;
/** The task has nothing to do until it is woken. */
const untilWokenMs = 3_600_000;
/** Tasks that are under way at the same time; the rare ones wait for a connection. */
const poolSize = 6;
/**
 * The queue's statements have one shape whatever the tables hold, and each has its index. PostgreSQL plans them once
 * per connection. If it did so while the queue is empty, when all plans cost the same, it could choose to read a whole
 * table or to sort, and keep doing so when the queue is full; these settings prevent that.
 */
export const queueSettings = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_sort: 'off',
  // Switched-off plan types count as expensive, so PostgreSQL would compile such a statement each time, for seconds.
  jit: 'off',
};

export function createWorker(dependencies: WorkerDependencies): Worker {
  const { log, connection, inFlight } = dependencies;
  let database: Database | null = null;
  let dispatcher: Dispatcher | null = null;
  let healthTimer: NodeJS.Timeout | undefined;
  let joined = false;
  const published = createFloor('0');
  const outcomes = createFloor('0');

  function opened(): { database: Database; dispatcher: Dispatcher } {
    if (!database || !dispatcher) throw new Error('the worker does not run');
    return { database, dispatcher };
  }

  function loop(name: string, turn: () => Promise<number>) {
    return createLoop({ name, log, turn });
  }

  /** Nothing is leased before this process knows its share of the limits. */
  const onceJoined = async (turn: () => Promise<number>) => (joined ? turn() : joinMs);
  const minAgeMs = () => (leader.listens() ? 0 : leftMs);
  const lookLoop = loop('look', async () => {
    const { outbox } = opened().dispatcher;
    const floors = { events: outbox.next(), published: published.next() };
    const found = await findWork(opened().database, floors, minAgeMs());
    outbox.reached(found.eventsFloor);
    published.reached(found.publishedFloor);
    if (found.events) fanOutLoop.wake();
    if (found.published) ingestLoop.wake();
    return lookMs;
  });
  const ingestLoop = loop('intake', () =>
    ingestBatch(opened().database, dependencies, published.current(), () => fanOutLoop.wake()),
  );
  const fanOutLoop = loop('fan-out', () =>
    onceJoined(() => opened().dispatcher.fanOutAll(minAgeMs())),
  );
  const dueLoop = loop('claim', () => onceJoined(() => opened().dispatcher.claimAllDue()));
  const parkedLoop = loop('parked', () => onceJoined(() => opened().dispatcher.claimAllParked()));
  const healthLoop = loop('health', () =>
    updateHealth(opened().database, dependencies, outcomes.current()),
  );
  const lookAtAllLeases = createEvery(fullLookMs);
  const leaseLoop = loop('leases', () =>
    recoverExpiredLeases(opened().database, dependencies, lookAtAllLeases(), () => dueLoop.wake()),
  );
  const joinLoop = loop('join', async () => {
    const { database: on, dispatcher: own } = opened();
    const joining = await joinWorkers(on, own.id, outcomes.next());
    const { place, workers, blocked, isLate } = joining;
    outcomes.reached(joining.outcomesFloor);
    inFlight.setShare(place, workers);
    inFlight.setBlocked(blocked);
    // Another process may have noted outcomes and died.
    if (isLate) healthLoop.wake();
    if (!joined) {
      // The others have to know of this process too, so that all together keep to the limits.
      if (workers > 1) await wait(joinMs);
      joined = true;
      wakeAll();
    }
    return joinMs;
  });
  const partitionLoop = loop('partitions', () => pruneHistory(opened().database, dependencies));
  const loops = [
    lookLoop,
    ingestLoop,
    fanOutLoop,
    dueLoop,
    parkedLoop,
    healthLoop,
    leaseLoop,
    partitionLoop,
  ];
  const leader = createListener(connection, [queueChannel], wakeAll, leaderLock);

  function wakeAll(): void {
    fanOutLoop.wake();
    dueLoop.wake();
  }

  function updateHealthSoon(): void {
    healthTimer ??= setTimeout(() => {
      healthTimer = undefined;
      healthLoop.wake();
    }, healthDelayMs);
  }

  return {
    start() {
      if (database) return;
      database = openDatabase(connection, {
        applicationName: `orgdir worker, pid ${process.pid}`,
        poolSize,
        idleInTransactionMs: shortTransactionMs,
        transactionSettings: queueSettings,
      });
      dispatcher = createDispatcher({
        ...dependencies,
        database,
        onDue: () => dueLoop.wake(),
        onParked: () => parkedLoop.wake(),
        onRecorded: updateHealthSoon,
        outcomesFloor: () => outcomes.current(),
      });
      inFlight.onRoom(() => {
        wakeAll();
        parkedLoop.wake();
      });
      leader.start();
      for (const each of [joinLoop, ...loops]) each.start();
    },
    async stop() {
      dispatcher?.stopClaiming();
      await Promise.all([leader.stop(), ...loops.map((each) => each.stop())]);
      await dispatcher?.stop();
      // Only now, because attempts were under way until here.
      await joinLoop.stop();
      clearTimeout(healthTimer);
      joined = false;
      if (database && dispatcher) await leave(database, dispatcher, dependencies);
      // A statement without a response must not keep the process alive.
      await Promise.race([database?.destroy(), wait(poolEndTimeoutMs, undefined, { ref: false })]);
      database = null;
      dispatcher = null;
    },
    wake() {
      if (leader.listens()) fanOutLoop.wake();
      return leader.listens();
    },
  };
}

/** Leaves nothing for the others to wait for; if the database is away, they find out by themselves. */
async function leave(
  database: Database,
  { id }: Dispatcher,
  dependencies: WorkerDependencies,
): Promise<void> {
  const leaving = updateHealth(database, dependencies, '0').then(() => leaveWorkers(database, id));
  await Promise.race([leaving.catch(() => {}), wait(poolEndTimeoutMs, undefined, { ref: false })]);
}

/** Its next turn is when outcomes were noted. */
async function updateHealth(
  database: Database,
  dependencies: WorkerDependencies,
  floor: string,
): Promise<number> {
  const { log, webhooks } = dependencies;
  const { deactivated, more, failures } = await updateWebhookHealth(
    database,
    webhooks.deactivateAfter,
    floor,
  );
  logDeactivations(dependencies, deactivated);
  for (const failure of failures) log.error(failure, 'health.not_updated');
  if (more) return 0;
  return failures.length > 0 ? healthRetryMs : untilWokenMs;
}

async function ingestBatch(
  database: Database,
  dependencies: WorkerDependencies,
  floor: string,
  onAccepted: () => void,
): Promise<number> {
  const { metrics, log } = dependencies;
  const { accepted, rejected } = await dependencies.ingestPublished(database, floor);
  if (rejected.length > 0) metrics.rejected(rejected.length);
  for (const { id, name } of rejected) log.warn({ event: name, eventId: id }, 'event.rejected');
  if (accepted > 0) onAccepted();
  return accepted + rejected.length === 0 ? untilWokenMs : 0;
}

async function recoverExpiredLeases(
  database: Database,
  dependencies: WorkerDependencies,
  everything: boolean,
  onRecovered: () => void,
): Promise<number> {
  const { webhooks, clock, metrics, log } = dependencies;
  const backoff = { baseMs: webhooks.retryBaseMs, factor: webhooks.retryFactor };
  const done = await recoverLeases(database, backoff, clock, everything);
  for (const failure of done.failures) log.error(failure, 'lease.not_recovered');
  for (const { delivery, durationMs } of done.recorded)
    metrics.attempted({ outcome: 'interrupted', trigger: delivery.trigger, durationMs });
  if (done.recorded.length > 0) {
    metrics.leasesRecovered(done.recorded.length);
    log.warn({ count: done.recorded.length }, 'leases.recovered');
    onRecovered();
  }
  return done.more ? 0 : leaseCheckMs;
}

async function pruneHistory(
  database: Database,
  { retentionDays, log }: WorkerDependencies,
): Promise<number> {
  const dropped = await rotatePartitions(database, retentionDays, (day) =>
    log.warn({ day }, 'partitions.kept'),
  );
  if (dropped.length > 0) log.info({ partitions: dropped }, 'partitions.dropped');
  await dropOldOperationalEvents(database, retentionDays);
  await dropOldRejected(database, retentionDays);
  await dropExpiredKeys(database);
  return partitionCheckMs;
}
