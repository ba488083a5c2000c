/**
 * Runs the worker's tasks: takes in events published by SQL, fans out committed events, claims due deliveries, attempts
 * and records them, recovers leases and rotates partitions. Notifications and timers wake the tasks. The tasks keep
 * nothing only in memory that must not be lost. Next: `dispatcher.ts`.
 */
import { setTimeout as wait } from 'node:timers/promises';
import {
  openDatabase,
  shortTransactions,
  type ConnectionSettings,
  type Database,
} from '../../database/database.ts';
import { createListener } from '../../database/listener.ts';
import { dropExpiredKeys } from '../../events/idempotency-keys.ts';
import {
  dropOldRejected,
  publishedChannel,
  type Rejection,
} from '../../events/published-events.ts';
import { eventsChannel } from '../../events/record-event.ts';
import {
  createDispatcher,
  pollMs,
  type Dispatcher,
  type DispatcherDependencies,
} from './dispatcher.ts';
import { fanOut } from './fan-out.ts';
import { createLoop } from '../../loop.ts';
import { dropOldOperationalEvents } from '../notifications/operational-events.ts';
import { recoverLeases } from './recover-leases.ts';
import { logDeactivations } from './log-deactivations.ts';
import { rotatePartitions } from './retention.ts';

export type WorkerDependencies = Omit<DispatcherDependencies, 'database'> & {
  connection: ConnectionSettings;
  retentionDays: number;
  /** Turns entries published by SQL into events, a batch at a time. */
  ingestPublished(database: Database): Promise<{ accepted: number; rejected: Rejection[] }>;
};
export type Worker = { start(): void; stop(): Promise<void> };

const poolEndTimeoutMs = 500;
const leaseCheckMs = 1_000;
const partitionCheckMs = 3_600_000;
/** One connection per task and one for the recorder, so that none waits for another. */
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
  ...shortTransactions,
};

export function createWorker(dependencies: WorkerDependencies): Worker {
  const { log, connection } = dependencies;
  let database: Database | null = null;
  let dispatcher: Dispatcher | null = null;

  function opened(): Database {
    if (!database) throw new Error('the worker does not run');
    return database;
  }

  const ingestLoop = createLoop({
    name: 'intake',
    log,
    turn: () => ingestBatch(opened(), dependencies, () => fanOutLoop.wake()),
  });
  const fanOutLoop = createLoop({
    name: 'fan-out',
    log,
    turn: () => fanOutBatch(opened(), dependencies, () => claimLoop.wake()),
  });
  const claimLoop = createLoop({
    name: 'claim',
    log,
    turn: async () => (dispatcher ? dispatcher.claimAll() : pollMs),
  });
  const leaseLoop = createLoop({
    name: 'leases',
    log,
    turn: () => recoverExpiredLeases(opened(), dependencies, () => claimLoop.wake()),
  });
  const partitionLoop = createLoop({
    name: 'partitions',
    log,
    turn: () => pruneHistory(opened(), dependencies),
  });
  const loops = [ingestLoop, fanOutLoop, claimLoop, leaseLoop, partitionLoop];
  const listener = createListener(connection, [eventsChannel, publishedChannel], (channel) => {
    if (channel !== eventsChannel) ingestLoop.wake();
    if (channel === publishedChannel) return;
    fanOutLoop.wake();
    claimLoop.wake();
  });

  return {
    start() {
      if (database) return;
      database = openDatabase(connection, {
        applicationName: `orgdir worker, pid ${process.pid}`,
        poolSize,
        settings: queueSettings,
      });
      dispatcher = createDispatcher({ ...dependencies, database });
      dependencies.inFlight.onRoom(() => claimLoop.wake());
      listener.start();
      for (const loop of loops) loop.start();
    },
    async stop() {
      dispatcher?.stopClaiming();
      await Promise.all([listener.stop(), ...loops.map((loop) => loop.stop())]);
      await dispatcher?.stop();
      // A statement without a response must not keep the process alive.
      await Promise.race([database?.destroy(), wait(poolEndTimeoutMs, undefined, { ref: false })]);
      database = null;
      dispatcher = null;
    },
  };
}

async function ingestBatch(
  database: Database,
  dependencies: WorkerDependencies,
  onAccepted: () => void,
): Promise<number> {
  const { metrics, log } = dependencies;
  const { accepted, rejected } = await dependencies.ingestPublished(database);
  if (rejected.length > 0) metrics.rejected(rejected.length);
  for (const { id, name } of rejected) log.warn({ event: name, eventId: id }, 'event.rejected');
  if (accepted > 0) onAccepted();
  return accepted + rejected.length === 0 ? pollMs : 0;
}

/** Takes its next turn at once where it found something; claims run at the same time. */
async function fanOutBatch(
  database: Database,
  { metrics, log }: WorkerDependencies,
  onDone: () => void,
): Promise<number> {
  const done = await fanOut(database);
  if (done.events === 0) return pollMs;
  metrics.fannedOut(done);
  log.info(done, 'events.fanned_out');
  onDone();
  return 0;
}

async function recoverExpiredLeases(
  database: Database,
  dependencies: WorkerDependencies,
  onRecovered: () => void,
): Promise<number> {
  const { webhooks, clock, metrics, log } = dependencies;
  const backoff = { baseMs: webhooks.retryBaseMs, factor: webhooks.retryFactor };
  const done = await recoverLeases(database, backoff, webhooks.deactivateAfter, clock);
  for (const failure of done.failures) log.error(failure, 'lease.not_recovered');
  for (const { trigger, durationMs } of done.recorded)
    metrics.attempted({ outcome: 'interrupted', trigger, durationMs });
  logDeactivations(dependencies, done.deactivated);
  if (done.recorded.length > 0) {
    metrics.leasesRecovered(done.recorded.length);
    log.warn({ count: done.recorded.length }, 'leases.recovered');
    onRecovered();
  }
  return leaseCheckMs;
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
