/**
 * Runs the worker's tasks: takes in events published by SQL, fans out events, claims deliveries, attempts and records
 * them, updates the health of webhooks and the totals of lists, recovers leases and rotates partitions. The tasks keep
 * nothing only in memory that must not be lost. Next: `dispatcher.ts`.
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
import type { DatabaseClock } from '../../database/clock.ts';
import type { Listener, Session } from '../../database/session.ts';
import { dropExpiredKeys } from '../../events/idempotency-keys.ts';
import type { Rejection } from '../../events/published-events.ts';
import { dropOldSetAside } from '../../events/set-aside.ts';
import {
  createDispatcher,
  type Dispatcher,
  type DispatcherDependencies,
} from './dispatch/dispatcher.ts';
import { createFloor, type Floor, type Look } from '../../runtime/floor.ts';
import { Loop } from '../../loop.ts';
import { dropOldOperationalEvents } from '../notifications/operational-events.ts';
import { findWork, leftMs } from './find-work.ts';
import { renewProbes } from './health/healing.ts';
import { dropOldStats, foldDeliveryChanges } from '../history/fold-delivery-changes.ts';
import { announceJoining, healthDelayMs, joinWorkers, leaveWorkers } from './members.ts';
import { eventsNotice, queueChannel, workersChannel } from './queue-channel.ts';
import { recoverLeases, renewDueTimes } from './record/recover-leases.ts';
import { logDeactivations } from './health/log-deactivations.ts';
import { listHealed, replayHealed } from './replay/replay.ts';
import { rotatePartitions } from '../history/retention.ts';
import { updateWebhookHealth } from './health/update-webhook-health.ts';
import { dropOldVersions } from '../history/versions.ts';

export type WorkerDependencies = Omit<
  DispatcherDependencies,
  'database' | 'onDue' | 'onParked' | 'onRecorded' | 'outcomesFloor'
> & {
  connection: ConnectionSettings;
  session: Session;
  clock: DatabaseClock;
  leaseMs: number;
  retentionDays: number;
  /** Turns entries published by SQL into events, a batch at a time. */
  ingestPublished(
    database: Database,
    floor: string,
  ): Promise<{ accepted: number; rejected: Rejection[]; more: boolean }>;
};
export type Worker = {
  start(): void;
  stop(): Promise<void>;
  /** Tells it of events that this process has just published. Returns false if another process has to be told. */
  wake(): boolean;
};

/** How long the end of the pool, and of what is written before it, may take if the database does not respond. */
const poolEndTimeoutMs = 500;
/** How often the leader looks for work of which it may not have been notified. */
export const lookMs = 100;
/** The advisory lock that the leader holds. */
const leaderLock = 70420013;
/** How often expired leases and the other processes are looked for, totals updated, and a failed update of health tried again. */
const checkMs = 1_000;
/** How often a process that starts looks whether the others know of it. */
const joinAgainMs = 25;
/** How long outcomes are collected before the health of their webhooks is updated, once. */
const collectMs = healthDelayMs / 2;
/** How often replays that failed, or were left by a process that died, are looked for. */
const replayAgainMs = 60_000;
/** How often partitions are checked. A task that is woken for its work waits for no longer either. */
const rarelyMs = 3_600_000;
/** How often a day past retention is tried again that another session has locked. */
const lockedDayAgainMs = 30_000;
/** Tasks that run at the same time; the rare ones wait for a connection. */
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
  let run: ReturnType<typeof startRun> | null = null;
  return {
    start: () => void (run ??= startRun(dependencies)),
    async stop() {
      await run?.stop();
      run = null;
    },
    wake: () => run?.wake() ?? false,
  };
}

/** Returns the worker until its next stop. */
function startRun(dependencies: WorkerDependencies): Omit<Worker, 'start'> {
  const { connection, session, room } = dependencies;
  const database = openDatabase(connection, {
    applicationName: `orgdir worker, pid ${process.pid}`,
    poolSize,
    idleInTransactionMs: shortTransactionMs,
    settings: queueSettings,
  });
  const outcomes = createFloor('0');
  const dispatcher: Dispatcher = createDispatcher({
    ...dependencies,
    database,
    onDue: () => tasks.due.wake(),
    onParked: () => tasks.parked.wake(),
    onRecorded: () => tasks.updateHealthSoon(),
    outcomesFloor: () => outcomes.current(),
  });
  const opened = { ...dependencies, database, dispatcher, outcomes };
  const tasks = createTasks(opened, () => leader.listens());
  const onNotice = (_channel: string | null, payload: string) =>
    payload === eventsNotice ? tasks.fanOut.wake() : tasks.wakeAll();
  const leader: Listener = session.createListener([queueChannel], onNotice, {
    exclusive: leaderLock,
  });
  room.onRoom = () => {
    tasks.fanOut.wake();
    tasks.parked.wake();
  };
  // A server that crashed uses transaction ids again, and another one may have an earlier clock: floors can be too high.
  const connected = session.createListener([workersChannel], (channel) => {
    if (channel === null) tasks.lookAtEverything();
    else tasks.join.wake();
  });
  leader.start();
  connected.start();
  for (const each of [tasks.join, ...tasks.others]) each.start();
  return {
    async stop() {
      dispatcher.stopClaiming();
      await Promise.all([
        leader.stop(),
        connected.stop(),
        ...tasks.others.map((each) => each.stop()),
      ]);
      await dispatcher.stop();
      // Only now, because attempts were in flight until here.
      await tasks.join.stop();
      await leave(database, dispatcher, dependencies);
      // A statement without a response must not keep the process alive.
      await Promise.race([database.destroy(), wait(poolEndTimeoutMs, undefined, { ref: false })]);
    },
    wake() {
      if (leader.listens()) tasks.fanOut.wake();
      return leader.listens();
    },
  };
}

type TaskDependencies = WorkerDependencies & {
  database: Database;
  dispatcher: Dispatcher;
  outcomes: Floor<string>;
};

function createTasks(dependencies: TaskDependencies, leads: () => boolean) {
  const { log, room, database, dispatcher, outcomes, clock } = dependencies;
  const published = createFloor('0');
  let joined = false;
  /** The first time at which this process joined, by the database's clock and by its own. */
  let announced: { atMs: number; at: number } | null = null;
  let healthTimer: NodeJS.Timeout | undefined;
  const loop = (name: string, turn: () => Promise<number>) => new Loop({ name, log, turn });
  /** Nothing is leased before this process knows its share of the limits. */
  const onceJoined = async (turn: () => Promise<number>) => (joined ? turn() : checkMs);
  const minAgeMs = () => (leads() ? 0 : leftMs);
  const look = loop('look', async () => {
    const { outbox } = dispatcher;
    const [events, entries] = [outbox.look(), published.look()];
    const floors = { events: events.from, published: entries.from };
    const found = await findWork(database, floors, minAgeMs());
    events.reached(found.eventsFloor);
    entries.reached(found.publishedFloor);
    if (found.events) fanOut.wake();
    if (found.published) ingest.wake();
    return leads() ? lookMs : leftMs;
  });
  const ingest = loop('intake', () =>
    ingestBatch(dependencies, published.current(), () => fanOut.wake()),
  );
  const fanOut = loop('fan-out', () =>
    onceJoined(async () => (await dispatcher.fanOutAll(minAgeMs())) ?? rarelyMs),
  );
  const due = loop('due', () => onceJoined(() => dispatcher.parkAllDue()));
  const parked = loop('parked', () => onceJoined(() => dispatcher.claimAllParked()));
  const health = loop('health', () =>
    updateHealth(database, dependencies, outcomes.look(), () => {
      toReplay = [];
      replays.wake();
    }),
  );
  let toReplay: string[] = [];
  // One webhook per turn, so that a stop waits for one at most.
  const replays = loop('replays', async () => {
    if (toReplay.length === 0) toReplay = await listHealed(database);
    const webhookId = toReplay.shift();
    if (webhookId === undefined) return replayAgainMs;
    const reason = await replayHealed(database, webhookId);
    if (reason !== null) log.error({ webhookId, reason }, 'replay.failed');
    return toReplay.length > 0 ? 0 : replayAgainMs;
  });
  const ended = createFloor(null);
  /** Set while the database's clock was put back, and what was due at this time is not due again. */
  let dueUntil: Date | null = null;
  const leases = loop('leases', async () => {
    if (dueUntil) {
      await renewDueTimes(database, dueUntil);
      dueUntil = null;
      lookAtEverything();
      wakeAll();
    }
    return recoverExpiredLeases(database, dependencies, ended, () => due.wake());
  });
  clock.onPutBack = (would) => {
    log.warn({ ms: would.getTime() - clock.now().getTime() }, 'clock.put_back');
    dueUntil ??= would;
    leases.wake();
  };
  const join = loop('join', async () => {
    const { from, reached } = outcomes.look();
    const sentAt = performance.now();
    const joining = await joinWorkers(database, dispatcher.id, from);
    clock.see(joining.atMs, sentAt);
    // The clock was put back while no process ran that could remember it.
    if (!joined && joining.wasAtMs !== null) clock.onPutBack(new Date(joining.wasAtMs + checkMs));
    const { place, workers, blocked, isLate } = joining;
    reached(joining.outcomesFloor);
    room.setShare(place, workers);
    room.setBlocked(blocked);
    // Another process may have noted outcomes and died.
    if (isLate) health.wake();
    if (joined) return checkMs;
    // The others have to know of this process too, so that all together keep to the limits. One may be frozen.
    announced ??= { atMs: joining.atMs, at: sentAt };
    const { othersSeenAtMs: seenAtMs } = joining;
    // A look that began before this process was seen may have its time a moment later.
    const knownAtMs = announced.atMs + joinAgainMs;
    joined = seenAtMs === null || seenAtMs > knownAtMs || sentAt - announced.at > checkMs;
    if (!joined) await announceJoining(database);
    else wakeAll();
    return joined ? checkMs : joinAgainMs;
  });
  const changes = createFloor('0');
  const totals = loop('totals', async () => {
    const { from, reached } = changes.look();
    const { more, floor } = await foldDeliveryChanges(database, from);
    reached(floor);
    return more ? 0 : checkMs;
  });
  const partitions = loop('partitions', () => pruneHistory(database, dependencies));

  function wakeAll(): void {
    fanOut.wake();
    due.wake();
    replays.wake();
  }

  function lookAtEverything(): void {
    dispatcher.lookAtEverything();
    for (const each of [outcomes, published, ended, changes]) each.reset();
  }

  function updateHealthSoon(): void {
    healthTimer ??= setTimeout(() => {
      healthTimer = undefined;
      health.wake();
    }, collectMs).unref();
  }

  const others = [look, ingest, fanOut, due, parked, health, replays, leases, totals, partitions];
  return { fanOut, due, parked, join, others, wakeAll, lookAtEverything, updateHealthSoon };
}

/** Leaves nothing for the others to wait for; if the database is away, they find out by themselves. */
async function leave(
  database: Database,
  { id }: Dispatcher,
  dependencies: WorkerDependencies,
): Promise<void> {
  const leaving = updateHealth(database, dependencies).then(() => leaveWorkers(database, id));
  await Promise.race([leaving.catch(() => {}), wait(poolEndTimeoutMs, undefined, { ref: false })]);
}

/** Its next turn is when outcomes were noted. */
async function updateHealth(
  database: Database,
  dependencies: WorkerDependencies,
  look?: Look<string>,
  onHealed: () => void = () => {},
): Promise<number> {
  const { log, webhooks } = dependencies;
  const { deactivated, healed, more, floor, failures } = await updateWebhookHealth(
    database,
    webhooks.deactivateAfter,
    look?.from,
  );
  if (floor !== null) look?.reached(floor);
  logDeactivations(dependencies, deactivated);
  for (const webhookId of healed) log.info({ webhookId }, 'webhook.healed');
  for (const failure of failures) log.error(failure, 'health.not_updated');
  if (healed.length > 0) onHealed();
  if (more) return 0;
  return failures.length > 0 ? checkMs : rarelyMs;
}

async function ingestBatch(
  dependencies: TaskDependencies,
  floor: string,
  onAccepted: () => void,
): Promise<number> {
  const { metrics, log, database } = dependencies;
  const { accepted, rejected, more } = await dependencies.ingestPublished(database, floor);
  if (rejected.length > 0) metrics.rejected(rejected.length);
  for (const { id, name } of rejected) log.warn({ event: name, eventId: id }, 'event.rejected');
  if (accepted > 0) onAccepted();
  return more ? 0 : rarelyMs;
}

async function recoverExpiredLeases(
  database: Database,
  dependencies: WorkerDependencies,
  ended: Floor<null>,
  onRecovered: () => void,
): Promise<number> {
  const { webhooks, clock, metrics, log, leaseMs } = dependencies;
  const backoff = { baseMs: webhooks.retryBaseMs, factor: webhooks.retryFactor };
  const { from, reached } = ended.look();
  const done = await recoverLeases(database, { backoff, clock, since: from, leaseMs });
  if (done.floor !== null) reached(done.floor);
  for (const failure of done.failures) log.error(failure, 'lease.not_recovered');
  for (const { delivery, durationMs } of done.recorded)
    metrics.attempted({ outcome: 'interrupted', trigger: delivery.trigger, durationMs });
  if (done.recorded.length > 0) {
    metrics.leasesRecovered(done.recorded.length);
    log.warn({ count: done.recorded.length }, 'leases.recovered');
    onRecovered();
  }
  return done.more ? 0 : checkMs;
}

async function pruneHistory(
  database: Database,
  { retentionDays, log }: WorkerDependencies,
): Promise<number> {
  let waitMs = rarelyMs;
  // They wait for up to a week, which may be longer than history is kept.
  await renewProbes(database, retentionDays);
  const dropped = await rotatePartitions(database, retentionDays, (kept) => {
    log.warn(kept, 'partitions.kept');
    if (kept.reason === 'locked') waitMs = lockedDayAgainMs;
  });
  if (dropped.length > 0) log.info({ partitions: dropped }, 'partitions.dropped');
  await dropOldOperationalEvents(database, retentionDays);
  const rows = await dropOldSetAside(database, retentionDays);
  if (rows > 0) log.warn({ rows }, 'set_aside.dropped');
  await dropOldVersions(database, retentionDays);
  await dropExpiredKeys(database);
  await dropOldStats(database);
  return waitMs;
}
