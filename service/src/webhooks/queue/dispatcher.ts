/**
 * Leases deliveries while there is room, sends them, and passes their outcomes to the recorder: from the outbox, from
 * what is due, and from what is parked. Holds no SQL: see `fan-out.ts`, `claim.ts` and `recorder.ts`.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Config } from '../../config.ts';
import type { Database } from '../../database/database.ts';
import { unsent, type RecordedAttempt } from '../sending/deliver.ts';
import type { Verdict } from '../sending/retry.ts';
import { sizeHeapForLoad } from './heap-under-load.ts';
import { cancelPending } from './cancel-pending.ts';
import {
  claimDue,
  claimMax,
  claimParked,
  listParked,
  transactionMaxMs,
  webhooksMax,
  type ParkedSince,
} from './claim.ts';
import { createEvery } from '../../every.ts';
import { fanOut } from './fan-out.ts';
import { createFloor, fullLookMs, type Floor } from '../../floor.ts';
import type { Lease } from './lease.ts';
import type { Deliverable, LeasedDelivery } from '../sending/deliverable.ts';
import { loadDeliveries, type Loaded } from './load-deliveries.ts';
import { createRecorder, type Recorder } from './recorder.ts';
import { Starter, type StarterDependencies } from './start-attempts.ts';

export type DispatcherDependencies = StarterDependencies & {
  database: Database;
  webhooks: Config['webhooks'];
  /** Called when deliveries may be due earlier than was known. */
  onDue(): void;
  /** Called when parked deliveries may have room. */
  onParked(): void;
  /** Called when what was recorded may change the health of webhooks. */
  onRecorded(): void;
  /** The `xid` below which no outcome of a webhook waits. */
  outcomesFloor(): string;
};

/** Each of the three returns the number of milliseconds after which to call it again at the latest. */
export type Dispatcher = {
  /** Fans out events that are older than `minAgeMs`. Returns null if there are none, or no room for them. */
  fanOutAll(minAgeMs: number): Promise<number | null>;
  claimAllDue(): Promise<number>;
  claimAllParked(): Promise<number>;
  /** Where the next fan-out begins. */
  outbox: Floor<string>;
  /** The next looks cover the whole queue. */
  lookAtEverything(): void;
  /** Names this run of the process among the workers. */
  id: string;
  /** Deliveries from a claim that is under way are still sent. */
  stopClaiming(): void;
  /** Call when no claim is under way. Resolves when every leased delivery has ended and is recorded. */
  stop(): Promise<void>;
};

/** How long work may wait if its notification is lost. */
const pollMs = 1_000;
/** How long another process's fan-out takes, when this one leads; another only looks again. */
const busyMs = 10;
const busyElsewhereMs = 100;
/** A claim looks back over transactions of this length, and every `farLookMs` over the longest ones. */
const lookBackMs = 100;
const farLookMs = 3_000;
/** How often parked deliveries are claimed at most, so that one claim has many. */
const parkedPauseMs = 10;
/** A lease of this size means real load: from then on, speed matters more than memory. */
const busyFrom = 64;
const start = '00000000-0000-0000-0000-000000000000';

export function createDispatcher(dependencies: DispatcherDependencies): Dispatcher {
  const { database, inFlight, webhooks, log, metrics } = dependencies;
  const id = randomUUID();
  const newLease = (): Lease => ({ token: randomUUID(), ms: leaseMs(webhooks) });
  const recorder = createRecorder({
    ...dependencies,
    giveUpAfterMs: webhooks.leaseMarginMs,
    onRecorded(attempts) {
      if (attempts.some(isDueSoon)) dependencies.onDue();
      dependencies.onRecorded();
    },
  });
  const starter: Starter = new Starter({
    ...dependencies,
    record: (attempt) => recorder.record(attempt),
    onPutBack: (webhookId) => parkAll([webhookId]),
  });
  const { begin, send } = createSending(dependencies, recorder, starter);
  const outbox = createFloor('0');
  const due = createFloor(null);
  const isFarLookDue = createEvery(farLookMs);
  let looksFar = false;
  const { parkAll, claimAllParked, findAll } = createParked({
    ...dependencies,
    newLease,
    send,
    due,
  });
  let deliveriesPerEvent = 1;
  let claiming = true;

  async function fanOutAll(minAgeMs: number): Promise<number | null> {
    const room = inFlight.room();
    if (!claiming || room.total === 0) return null;
    const look = outbox.look();
    const options = { lease: newLease(), room, floor: look.from, minAgeMs, deliveriesPerEvent };
    const done = await fanOut(database, options);
    if (done.busy) return minAgeMs === 0 ? busyMs : busyElsewhereMs;
    if (done.floor !== null) look.reached(done.floor);
    if (done.events === 0) return null;
    deliveriesPerEvent = Math.max((deliveriesPerEvent + done.deliveries / done.events) / 2, 1);
    metrics.fannedOut(done);
    log.info({ events: done.events, deliveries: done.deliveries }, 'events.fanned_out');
    begin(done.leased);
    parkAll(done.parked, done.atMs);
    if (done.hasDue) {
      lookBackTo(done.atMs);
      dependencies.onDue();
    }
    return done.more ? 0 : null;
  }

  /** A claim may have ended after these deliveries fell due, and before they were committed. */
  function lookBackTo(atMs: number): void {
    const floor = due.current();
    due.reset(floor === null || Date.parse(floor) <= atMs ? floor : new Date(atMs).toISOString());
  }

  async function claimAllDue(): Promise<number> {
    const room = inFlight.room();
    if (!claiming || room.total === 0) return pollMs;
    // If a claim cannot take all that it finds, the next one looks as far.
    looksFar ||= isFarLookDue();
    const look = due.look();
    const claimed = await claimDue(database, {
      lease: newLease(),
      room,
      since: look.from,
      lookBackMs: looksFar ? transactionMaxMs : lookBackMs,
    });
    parkAll(claimed.parked, Date.parse(claimed.at));
    await send(claimed.leased);
    if (claimed.found >= Math.min(room.total, claimMax)) return 0;
    look.reached(claimed.at);
    looksFar = false;
    return Math.min(Math.ceil(claimed.nextDueMs ?? pollMs), pollMs);
  }

  /** A statement may have parked deliveries although its response was lost. */
  async function orFindParked<T>(statement: () => Promise<T>): Promise<T> {
    try {
      return await statement();
    } catch (error) {
      findAll();
      throw error;
    }
  }

  return {
    fanOutAll: (minAgeMs) => orFindParked(() => fanOutAll(minAgeMs)),
    claimAllDue: () => orFindParked(claimAllDue),
    claimAllParked: async () => (claiming ? orFindParked(claimAllParked) : pollMs),
    outbox,
    lookAtEverything() {
      outbox.reset();
      due.reset();
      findAll();
    },
    id,
    stopClaiming: () => void (claiming = false),
    async stop() {
      claiming = false;
      await recorder.stop(starter.allEnded());
    },
  };
}

type ParkedDependencies = Pick<DispatcherDependencies, 'database' | 'inFlight' | 'onParked'> & {
  newLease: () => Lease;
  send: (leased: LeasedDelivery[]) => Promise<void>;
  due: Floor<null>;
};

/** Claims parked deliveries, webhook by webhook. */
function createParked(dependencies: ParkedDependencies) {
  const { database, inFlight, newLease, send, due } = dependencies;
  const parked = new Set<string>();
  const parkedSince: ParkedSince = new Map();
  const forgetsParkedSince = createEvery(fullLookMs);
  const parkedFloor = createFloor(null);
  let list = beginList();
  let listedAt = -Infinity;
  /** Until then, a statement that is still under way on the server may park deliveries. */
  let unsureUntil = -Infinity;

  inFlight.onWebhookRoom = (webhookId) => {
    if (parked.has(webhookId)) dependencies.onParked();
  };

  /** `atMs`: the database's time at which they were parked. */
  function parkAll(webhookIds: string[], atMs = longBeforeMs(due.current())): void {
    for (const webhookId of webhookIds) add(webhookId, atMs);
    if (webhookIds.length > 0) dependencies.onParked();
  }

  function add(webhookId: string, atMs: number): void {
    parked.add(webhookId);
    const since = parkedSince.get(webhookId)?.atMs ?? -Infinity;
    parkedSince.set(webhookId, { atMs: Math.min(since, atMs - 1) });
  }

  /** Before any transaction began that was not yet visible at this time. */
  function longBeforeMs(at: string | null): number {
    return at === null ? -Infinity : Date.parse(at) - transactionMaxMs;
  }

  /** Looks for all of them, now and for as long as a statement may take whose connection was lost. */
  function findAll(): void {
    parkedSince.clear();
    parkedFloor.reset();
    list = beginList();
    listedAt = -Infinity;
    unsureUntil = performance.now() + transactionMaxMs;
    dependencies.onParked();
  }

  async function claimAllParked(): Promise<number> {
    await wait(parkedPauseMs);
    if (forgetsParkedSince()) parkedSince.clear();
    if (untilListMs() <= 0) await findParked();
    const rooms = roomsOfParked();
    if (rooms.size === 0) return nextListMs();
    // Whatever is parked from now on counts again.
    for (const webhookId of rooms.keys()) parked.delete(webhookId);
    const leased = await claimParked(database, newLease(), rooms, parkedSince);
    const taken = Map.groupBy(leased, (one) => one.webhookId);
    for (const [webhookId, room] of rooms)
      if (taken.get(webhookId)?.length === room) parked.add(webhookId);
    await send(leased);
    return leased.length > 0 ? 0 : nextListMs();
  }

  /** Other processes park deliveries too. Looks at some webhooks at a time, so that many cost no more than a few. */
  async function findParked(): Promise<void> {
    // A process that has died may have left a statement.
    if (!inFlight.isAlone()) unsureUntil = performance.now() + transactionMaxMs;
    if (list.cursor === start) list = beginList();
    const current = list;
    const found = await listParked(database, current.cursor, current.look.from);
    for (const webhookId of found) add(webhookId, longBeforeMs(current.look.from));
    if (current !== list) return;
    const isLast = found.length < webhooksMax;
    if (isLast && current.begunAt !== null) current.look.reached(current.begunAt);
    current.cursor = isLast ? start : (found.at(-1) ?? start);
    listedAt = performance.now();
  }

  function beginList() {
    return { cursor: start, look: parkedFloor.look(), begunAt: due.current() };
  }

  /** An only process knows which webhooks it parked; it looks for those of an earlier process. */
  function untilListMs(): number {
    const isSure = inFlight.isAlone() && performance.now() > unsureUntil;
    const pauseMs = isSure ? fullLookMs : pollMs;
    return listedAt + (list.cursor === start ? pauseMs : parkedPauseMs) - performance.now();
  }

  function nextListMs(): number {
    return Math.min(Math.max(Math.ceil(untilListMs()), 1), pollMs);
  }

  function roomsOfParked(): Map<string, number> {
    const rooms = new Map<string, number>();
    const room = inFlight.room();
    let left = room.total;
    for (const webhookId of parked) {
      if (left <= 0 || rooms.size >= webhooksMax) break;
      const most = room.byWebhook[webhookId] ?? inFlight.roomOf(webhookId);
      const take = Math.min(most, left);
      if (take === 0) continue;
      rooms.set(webhookId, take);
      left -= take;
    }
    return rooms;
  }

  return { parkAll, claimAllParked, findAll };
}

/** Loads and starts what was leased, or records why it is not sent. */
function createSending(dependencies: DispatcherDependencies, recorder: Recorder, starter: Starter) {
  const { database, log, metrics, clock } = dependencies;

  async function send(leased: LeasedDelivery[]): Promise<void> {
    const { deliverable, refused } = await loadOrPutBack(leased);
    begin(deliverable);
    if (refused.length === 0) return;
    await recordAll(
      refused.map(({ delivery, cancelledBy: by }) => [delivery, { kind: 'cancelled', by }]),
    );
    const ended = Map.groupBy(refused, ({ cancelledBy }) => cancelledBy);
    const count =
      refused.length +
      (await cancelOthers(ended.get('deactivation'), 'deactivation')) +
      (await cancelOthers(ended.get('deletion'), 'deletion'));
    metrics.cancelled(count);
    log.info({ count }, 'deliveries.cancelled');
  }

  /** Nothing was sent yet, so a database that goes away now uses up no attempts. */
  async function loadOrPutBack(leased: LeasedDelivery[]): Promise<Loaded> {
    try {
      return await loadDeliveries(database, leased);
    } catch (error) {
      void recordAll(
        leased.map((delivery) => [delivery, { kind: 'postponed', waitMs: 0, park: false }]),
      );
      throw error;
    }
  }

  /** Cancels what else waits for webhooks that get no more, so that a large backlog is not claimed bit by bit. */
  async function cancelOthers(
    refused: Loaded['refused'] = [],
    reason: 'deactivation' | 'deletion',
  ): Promise<number> {
    if (refused.length === 0) return 0;
    const ids = [...new Set(refused.map(({ delivery }) => delivery.webhookId))];
    const { counts } = await cancelPending(database, ids, reason);
    return [...counts.values()].reduce((sum, count) => sum + count, 0);
  }

  async function recordAll(unsentOnes: [LeasedDelivery, Verdict][]): Promise<void> {
    await Promise.all(
      unsentOnes.map(([delivery, verdict]) => recorder.record(unsent(delivery, verdict, clock))),
    );
  }

  function begin(deliveries: Deliverable[]): void {
    if (deliveries.length === 0) return;
    if (deliveries.length >= busyFrom) sizeHeapForLoad();
    metrics.claimed(deliveries.length);
    starter.start(deliveries);
  }

  return { begin, send };
}

/** The lease lasts for an attempt's whole deadline plus the time to record it. */
export function leaseMs({ timeoutMs, leaseMarginMs }: Config['webhooks']): number {
  return timeoutMs + leaseMarginMs;
}

/** Whether the delivery falls due again before the next poll. */
function isDueSoon({ verdict }: RecordedAttempt): boolean {
  return (verdict.kind === 'retry' || verdict.kind === 'postponed') && verdict.waitMs < pollMs;
}
