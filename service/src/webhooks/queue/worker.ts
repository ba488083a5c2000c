/**
 * Runs the worker's tasks: takes in events published by SQL, fans out events, claims deliveries, attempts and records
 * them, updates the health of webhooks, the totals of lists and the changes of the directory, recovers leases and rotates
 * partitions. The tasks keep nothing only in memory that must not be lost. The way of an event is in
 * `dispatch/dispatcher.ts`.
 *
 * One process leads: it is notified of new work and looks for it most often. The others take what is left for a moment,
 * because the leader is full, frozen or gone. So another worker costs next to nothing.
 */
import { setTimeout as wait } from 'node:timers/promises';
import {
  isConnectionFault,
  isExhausted,
  isStatementTimeout,
  openDatabase,
  shortTransactionMs,
  type ConnectionSettings,
  type Database,
} from '../../database/database.ts';
import type { DatabaseClock } from '../../database/clock.ts';
import { speedSettings } from '../../database/session-settings.ts';
import type { Listener, Session } from '../../database/session.ts';
import { dropExpiredKeys } from '../../events/idempotency-keys.ts';
import { dropOldSetAside } from '../../events/set-aside.ts';
import { Loop } from '../../loop.ts';
import { createFloor } from '../../runtime/floor.ts';
import { dropOldStats, foldDeliveryChanges } from '../history/fold-delivery-changes.ts';
import { rotatePartitions, dropOldVersions } from '../history/retention.ts';
import { dropOldNotices } from '../../access/notices.ts';
import { dropOldOperationalEvents } from '../notifications/operational-events.ts';
import { Dispatcher, rarelyMs, type DispatcherDependencies } from './dispatch/dispatcher.ts';
import { findWork, leftMs } from './find-work.ts';
import { renewProbes } from './health/healing.ts';
import { dropChatLimits } from './dispatch/chat-limits.ts';
import { announceJoining, healthDelayMs, joinWorkers, leaveWorkers } from './workers.ts';
import {
  eventsNotice,
  FollowersNotifier,
  queueChannel,
  workersChannel,
} from '../../events/queue-channel.ts';
import { recoverLeases, renewDueTimes } from './record/recover-leases.ts';
import { listHealed, replayHealed } from '../replay/replay.ts';

export type WorkerDependencies = Omit<DispatcherDependencies, 'database' | 'wake'> & {
  connection: ConnectionSettings;
  session: Session;
  clock: DatabaseClock;
  leaseMs: number;
  retentionDays: number;
  /** The notes of changed entries of the directory. */
  entryChanges: {
    /** Returns whether more may be left, and whether anything may be announced, now or later. */
    fold: (database: Database) => Promise<{ more: boolean; isAwaited: boolean }>;
    /** Returns the milliseconds until more is due. */
    announce: (database: Database) => Promise<number>;
    /** Returns whether more may be left. */
    dropOld: (database: Database) => Promise<boolean>;
  };
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
/**
 * How long a process that found work which the leader had left looks for more as often as the leader does, and takes what is
 * that old: the leader may be frozen or full for long.
 */
const deputyMs = 1_000;
/** The advisory lock that the leader holds. */
const leaderLock = 70420013;
/** How often expired leases and the other processes are looked for, and totals updated. */
const checkMs = 1_000;
/** How often a process that starts looks whether the others know of it. */
const joinAgainMs = 25;
/** How long outcomes are collected before the health of their webhooks is updated, once. */
const collectMs = healthDelayMs / 2;
/** How often replays that failed, or were left by a process that died, are looked for. */
const replayAgainMs = 60_000;
/** How often a day past retention is tried again that another session has locked. */
const lockedDayAgainMs = 30_000;
/** Tasks that run at the same time; the rare ones wait for a connection. */
const poolSize = 6;
/**
 * The queue's statements have one shape whatever the tables hold, and each has its index. PostgreSQL plans them once
 * per connection. If it did so while the queue is empty, when all plans cost the same, it could choose to read a whole
 * table or to sort, and keep doing so when the queue is full; these settings prevent that. What chooses among indexes is
 * the order that a statement asks for, or that it asks for one row at a time.
 */
export const queueSettings = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_sort: 'off',
  enable_incremental_sort: 'off',
  // Also in each transaction, behind a pooler that lacks it: switched-off plan types count as expensive, so PostgreSQL would
  // compile such a statement each time, for seconds.
  ...speedSettings,
};

export function createWorker(dependencies: WorkerDependencies): Worker {
  let run: Run | null = null;
  return {
    start: () => void (run ??= new Run(dependencies)),
    async stop() {
      await run?.stop();
      run = null;
    },
    wake: () => run?.wake() ?? false,
  };
}

type WokenTask = Parameters<DispatcherDependencies['wake']>[0];
type Task = WokenTask | 'join' | 'look' | 'intake' | 'leases' | 'totals' | 'changes' | 'partitions';

/** The worker until its next stop. */
class Run {
  readonly #dependencies: WorkerDependencies;
  readonly #database: Database;
  readonly #dispatcher: Dispatcher;
  readonly #tasks: Record<Task, Loop>;
  readonly #followers: FollowersNotifier;
  readonly #leader: Listener;
  readonly #connected: Listener;
  /** Where the next looks at expired leases and at changes of totals begin. */
  readonly #ended = createFloor(null);
  readonly #changes = createFloor('0');
  #joined = false;
  #deputyUntil = -Infinity;
  /** The first time at which this process joined, by the database's clock and by its own. */
  #announced: { atMs: number; at: number } | null = null;
  /** Set while the database's clock was put back, and what was due at this time is not due again. */
  #dueUntil: Date | null = null;
  #toReplay: string[] = [];
  #healthTimer: NodeJS.Timeout | undefined;

  constructor(dependencies: WorkerDependencies) {
    const { connection, session, clock, log } = dependencies;
    this.#dependencies = dependencies;
    this.#database = openDatabase(connection, {
      applicationName: `orgdir worker, pid ${process.pid}`,
      poolSize,
      idleInTransactionMs: shortTransactionMs,
      settings: queueSettings,
    });
    this.#dispatcher = new Dispatcher({
      ...dependencies,
      database: this.#database,
      wake: (task) => this.#wake(task),
    });
    this.#followers = new FollowersNotifier(this.#database);
    const turns = Object.entries(this.#turns(this.#dispatcher));
    this.#tasks = Object.fromEntries(
      turns.map(([name, turn]) => [name, new Loop({ name, log, turn })]),
    ) as Record<Task, Loop>;
    clock.onPutBack = (would) => this.#noteClock(would);
    this.#leader = session.createListener(
      [queueChannel],
      (_, payload) => (payload === eventsNotice ? this.#tasks['fan-out'].wake() : this.#wakeAll()),
      { exclusive: leaderLock },
    );
    // A server that crashed uses transaction ids again, and another one may have an earlier clock: floors can be too high.
    this.#connected = session.createListener([workersChannel], (channel, payload) => {
      if (channel === null) this.#lookAtEverything();
      else if (!this.#followers.heard(payload)) this.#tasks.join.wake();
    });
    this.#leader.start();
    this.#connected.start();
    for (const task of Object.values(this.#tasks)) task.start();
  }

  async stop(): Promise<void> {
    const { join, ...others } = this.#tasks;
    this.#dispatcher.stopClaiming();
    await Promise.all([
      this.#leader.stop(),
      this.#connected.stop(),
      ...Object.values(others).map((task) => task.stop()),
    ]);
    await this.#dispatcher.stop();
    // Only now, because attempts were in flight until here.
    await join.stop();
    await this.#leave();
    // A statement without a response must not keep the process alive.
    await Promise.race([
      this.#database.destroy(),
      wait(poolEndTimeoutMs, undefined, { ref: false }),
    ]);
  }

  wake(): boolean {
    const leads = this.#leader.listens();
    if (leads) this.#tasks['fan-out'].wake();
    return leads;
  }

  /** What each task does in a turn. A turn returns after how many milliseconds the next one follows at the latest. */
  #turns(dispatcher: Dispatcher): Record<Task, () => Promise<number>> {
    const { entryChanges } = this.#dependencies;
    const minAgeMs = () => (this.#leader.listens() ? 0 : this.#pauseMs());
    /** Nothing is leased before this process knows its share of the limits. */
    const onceJoined = (turn: () => Promise<number>) => async () =>
      this.#joined ? turn() : checkMs;
    return {
      join: () => this.#join(),
      look: () => this.#look(minAgeMs()),
      intake: () => dispatcher.ingest(),
      'fan-out': onceJoined(async () => (await dispatcher.fanOutAll(minAgeMs())) ?? rarelyMs),
      due: onceJoined(() => dispatcher.parkAllDue()),
      parked: onceJoined(() => dispatcher.claimAllParked()),
      health: () => dispatcher.updateHealth(),
      replays: () => this.#replay(),
      followers: async () => {
        if (this.#followers.anybody()) await this.#followers.tell();
        return rarelyMs;
      },
      leases: () => this.#recoverLeases(),
      totals: () => this.#foldTotals(),
      changes: async () => {
        const { more, isAwaited } = await entryChanges.fold(this.#database);
        const dueInMs = isAwaited ? await entryChanges.announce(this.#database) : Infinity;
        return more ? 0 : Math.min(dueInMs, checkMs);
      },
      partitions: () => pruneHistory(this.#database, this.#dependencies),
    };
  }

  async #join(): Promise<number> {
    const { clock, room } = this.#dependencies;
    const { from, reached } = this.#dispatcher.outcomes.look();
    const sentAt = performance.now();
    const joining = await joinWorkers(this.#database, this.#dispatcher.id, from);
    clock.see(joining.atMs, sentAt);
    // The clock was put back while no process ran that could remember it.
    if (!this.#joined && joining.wasAtMs !== null)
      this.#noteClock(new Date(joining.wasAtMs + checkMs));
    reached(joining.outcomesFloor);
    room.setShare(joining.place, joining.workers);
    room.setBlocked(joining.blocked);
    // Another process may have noted outcomes and died.
    if (joining.isLate) this.#tasks.health.wake();
    if (this.#joined) return checkMs;
    // The others have to know of this process too, so that all together keep to the limits. One may be frozen.
    this.#announced ??= { atMs: joining.atMs, at: sentAt };
    const { othersSeenAtMs: seenAtMs } = joining;
    // A look that began before this process was seen may have its time a moment later.
    const knownAtMs = this.#announced.atMs + joinAgainMs;
    this.#joined =
      seenAtMs === null || seenAtMs > knownAtMs || sentAt - this.#announced.at > checkMs;
    if (!this.#joined) await announceJoining(this.#database);
    else this.#wakeAll();
    return this.#joined ? checkMs : joinAgainMs;
  }

  async #look(minAgeMs: number): Promise<number> {
    const { outbox, published } = this.#dispatcher;
    const [events, entries] = [outbox.look(), published.look()];
    const floors = { events: events.from, published: entries.from };
    const found = await findWork(this.#database, floors, minAgeMs);
    events.reached(found.eventsFloor);
    entries.reached(found.publishedFloor);
    if (found.events || found.published) this.#deputyUntil = performance.now() + deputyMs;
    if (found.events) this.#tasks['fan-out'].wake();
    if (found.published) this.#tasks.intake.wake();
    return this.#pauseMs();
  }

  #pauseMs(): number {
    const looksOften = this.#leader.listens() || performance.now() < this.#deputyUntil;
    return looksOften ? lookMs : leftMs;
  }

  /** One webhook per turn, so that a stop waits for one at most. */
  async #replay(): Promise<number> {
    if (this.#toReplay.length === 0) this.#toReplay = await listHealed(this.#database);
    const webhookId = this.#toReplay.shift();
    if (webhookId === undefined) return replayAgainMs;
    const reason = await replayHealed(this.#database, webhookId);
    if (reason !== null) this.#dependencies.log.error({ webhookId, reason }, 'replay.failed');
    return this.#toReplay.length > 0 ? 0 : replayAgainMs;
  }

  async #recoverLeases(): Promise<number> {
    const { webhooks, clock, metrics, log, leaseMs } = this.#dependencies;
    if (this.#dueUntil) {
      await renewDueTimes(this.#database, this.#dueUntil);
      this.#dueUntil = null;
      this.#lookAtEverything();
      this.#wakeAll();
    }
    const backoff = { baseMs: webhooks.retryBaseMs, factor: webhooks.retryFactor };
    const { from, reached } = this.#ended.look();
    const done = await recoverLeases(this.#database, { backoff, clock, since: from, leaseMs });
    if (done.floor !== null) reached(done.floor);
    for (const failure of done.failures) log.error(failure, 'lease.not_recovered');
    for (const { delivery, durationMs } of done.recorded)
      metrics.attempted({ outcome: 'interrupted', trigger: delivery.trigger, durationMs });
    if (done.recorded.length > 0) {
      metrics.leasesRecovered(done.recorded.length);
      log.warn({ count: done.recorded.length }, 'leases.recovered');
      this.#tasks.due.wake();
    }
    return done.more ? 0 : checkMs;
  }

  async #foldTotals(): Promise<number> {
    const { from, reached } = this.#changes.look();
    const { more, floor } = await foldDeliveryChanges(this.#database, from);
    reached(floor);
    return more ? 0 : checkMs;
  }

  #noteClock(would: Date): void {
    const { log, clock } = this.#dependencies;
    log.warn({ ms: would.getTime() - clock.now().getTime() }, 'clock.put_back');
    this.#dueUntil ??= would;
    this.#tasks.leases.wake();
  }

  #wakeAll(): void {
    for (const task of ['fan-out', 'due', 'replays'] as const) this.#tasks[task].wake();
  }

  #lookAtEverything(): void {
    this.#dispatcher.lookAtEverything();
    for (const each of [this.#ended, this.#changes]) each.reset();
  }

  #wake(task: WokenTask): void {
    if (task === 'health') return this.#updateHealthSoon();
    // The list is read again.
    if (task === 'replays') this.#toReplay = [];
    this.#tasks[task].wake();
  }

  #updateHealthSoon(): void {
    if (this.#healthTimer) return;
    this.#healthTimer = setTimeout(() => {
      this.#healthTimer = undefined;
      this.#tasks.health.wake();
    }, collectMs).unref();
  }

  /** Leaves nothing for the others to wait for; if the database is away, they find out by themselves. */
  async #leave(): Promise<void> {
    this.#dispatcher.outcomes.reset();
    const leaving = this.#dispatcher
      .updateHealth()
      .then(() => leaveWorkers(this.#database, this.#dispatcher.id));
    await Promise.race([
      leaving.catch(() => {}),
      wait(poolEndTimeoutMs, undefined, { ref: false }),
    ]);
  }
}

async function pruneHistory(
  database: Database,
  { retentionDays, entryChanges, log }: WorkerDependencies,
): Promise<number> {
  let waitMs = rarelyMs;
  const steps: (() => Promise<unknown>)[] = [
    // They wait for up to a week, which may be longer than history is kept.
    () => renewProbes(database, retentionDays),
    async () => {
      const dropped = await rotatePartitions(database, retentionDays, (kept) => {
        log.warn(kept, 'partitions.kept');
        if (kept.reason === 'locked') waitMs = lockedDayAgainMs;
      });
      if (dropped.length > 0) log.info({ partitions: dropped }, 'partitions.dropped');
    },
    () => dropOldOperationalEvents(database, retentionDays),
    () => dropOldNotices(database),
    async () => {
      const rows = await dropOldSetAside(database, retentionDays);
      if (rows > 0) log.warn({ rows }, 'set_aside.dropped');
    },
    () => dropOldVersions(database, retentionDays),
    () => dropExpiredKeys(database),
    () => dropChatLimits(database),
    () => dropOldStats(database),
    async () => {
      while (await entryChanges.dropOld(database));
    },
  ];
  let failure: unknown;
  // One that fails, as by its time, keeps no other from its turn.
  for (const step of steps)
    await step().catch((error: unknown) => {
      const isOfStep = isStatementTimeout(error) || isExhausted(error);
      if (isConnectionFault(error) && !isOfStep) throw error;
      failure ??= error;
    });
  if (failure !== undefined) throw failure;
  return waitMs;
}
