/**
 * The way of an event, from the outbox to the record of its deliveries: fan-out makes them, most of them leased; what falls
 * due later is parked and claimed; what is leased is loaded, started, attempted and recorded. Holds no SQL and decides
 * nothing: see `fan-out.ts`, `claim.ts`, `room.ts`, `start-attempts.ts` and `recorder.ts`.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Config } from '../../../settings/config.ts';
import type { Database } from '../../../database/database.ts';
import { createEvery } from '../../../runtime/every.ts';
import { createFloor, type Floor } from '../../../runtime/floor.ts';
import { isolateRefused } from '../../../events/set-aside.ts';
import { unsent, type RecordedAttempt } from '../../sending/deliver.ts';
import type { Deliverable, LeasedDelivery } from '../../sending/deliverable.ts';
import type { Verdict } from '../../sending/retry.ts';
import { cancelPending } from '../cancel-pending.ts';
import { claimOrSetAside, parkDue, parkMax, transactionMaxMs } from './claim.ts';
import { advanceBroadcast, fanOut, sliceMax, type FanOut } from '../fan-out/fan-out.ts';
import { sizeHeapForLoad } from './heap-under-load.ts';
import type { Lease } from './lease.ts';
import { loadDeliveries, type Loaded } from './load-deliveries.ts';
import { ParkedWebhooks } from './parked-webhooks.ts';
import type { Work } from './room.ts';
import { setDeliveryAside } from '../record/record.ts';
import { createRecorder } from '../record/recorder.ts';
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

/** Each of the three tasks returns the number of milliseconds after which to call it again at the latest. */
export type Dispatcher = {
  /** Fans out events that are older than `minAgeMs`. Returns null if there are none, or no room for them. */
  fanOutAll(minAgeMs: number): Promise<number | null>;
  /** Parks what is due. */
  parkAllDue(): Promise<number>;
  claimAllParked(): Promise<number>;
  /** Where the next fan-out begins. */
  outbox: Floor<string>;
  /** The next looks cover the whole queue. */
  lookAtEverything(): void;
  /** Names this run of the process among the workers. */
  id: string;
  /** Deliveries from a running claim are still sent. */
  stopClaiming(): void;
  /** Call when no claim is running. Resolves when every leased delivery has ended and is recorded. */
  stop(): Promise<void>;
};

/** How long work may wait if its notification is lost. */
const pollMs = 1_000;
/** How long another process's fan-out takes, when this one leads; another only looks again. */
const busyMs = 10;
const busyElsewhereMs = 100;
/** A look at what is due looks back over transactions of this length, and every `farLookMs` over the longest ones. */
const lookBackMs = 100;
const farLookMs = 3_000;
/** Parked deliveries are claimed this often at most, so that one claim has many; those of slow receivers can wait for longer. */
const parkedPauseMs = 10;
const slowPauseMs = 250;
/** A lease of this size means real load: from then on, speed matters more than memory. */
const busyFrom = 64;

export function createDispatcher(dependencies: DispatcherDependencies): Dispatcher {
  const { database, room, webhooks, log, metrics, clock } = dependencies;
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
    setAside: (delivery, error) => setAside(delivery, 'attempt', error).catch(() => {}),
    onPutBack: (webhookId) => park([webhookId]),
  });
  const outbox = createFloor('0');
  const due = createFloor(null);
  const parked = new ParkedWebhooks(room, due);
  const isFarLookDue = createEvery(farLookMs);
  let looksFar = false;
  let deliveriesPerEvent = 1;
  let hasBroadcasts = true;
  let claiming = true;
  room.onWebhookRoom = (webhookId) => {
    if (parked.has(webhookId)) dependencies.onParked();
  };

  /** Events for a few webhooks each, and then a slice of a broadcast. */
  async function fanOutAll(minAgeMs: number): Promise<number | null> {
    const total = room.free('event');
    if (!claiming || total === 0) return null;
    const look = outbox.look();
    const options = { lease: newLease(), room: room.forFanOut(total), floor: look.from, minAgeMs };
    const done = await fanOut(database, { ...options, deliveriesPerEvent });
    if (done.busy) return minAgeMs === 0 ? busyMs : busyElsewhereMs;
    if (done.floor !== null) look.reached(done.floor);
    if (done.events > 0)
      deliveriesPerEvent = Math.max((deliveriesPerEvent + done.deliveries / done.events) / 2, 1);
    pass(done, 'event');
    hasBroadcasts ||= done.broadcasts;
    const waitMs = hasBroadcasts ? await advance(minAgeMs) : null;
    return done.more ? 0 : waitMs;
  }

  /** Makes a slice that is older than `minAgeMs`. Returns null if there is none, or no room for it. */
  async function advance(minAgeMs: number): Promise<number | null> {
    const total = room.free('broadcast');
    if (!claiming || total === 0) return null;
    const count = Math.min(total, sliceMax);
    const options = { lease: newLease(), room: room.forFanOut(count), count, minAgeMs };
    const done = await advanceBroadcast(database, options);
    if (done.busy) return minAgeMs === 0 ? busyMs : busyElsewhereMs;
    pass(done, 'broadcast');
    hasBroadcasts = done.broadcasts;
    return done.more ? 0 : null;
  }

  function pass(done: FanOut, work: Work): void {
    const { events, deliveries, leased, parked: parkedNow, atMs } = done;
    if (done.byParts) findParked();
    if (events + deliveries === 0) return;
    metrics.fannedOut({ events, deliveries });
    log.info({ events, deliveries }, 'events.fanned_out');
    begin(leased, work);
    park(parkedNow, atMs);
  }

  async function parkAllDue(): Promise<number> {
    if (!claiming) return pollMs;
    // If it does not find all, the next one looks as far.
    looksFar ||= isFarLookDue();
    const look = due.look();
    const found = await parkDue(database, look.from, looksFar ? transactionMaxMs : lookBackMs);
    if (found.byParts) findParked();
    park(found.webhookIds, Date.parse(found.at));
    if (found.count >= parkMax) return 0;
    look.reached(found.at);
    looksFar = false;
    return Math.min(Math.ceil(found.nextDueMs ?? pollMs), pollMs);
  }

  function park(webhookIds: string[], atMs?: number): void {
    if (webhookIds.length === 0) return;
    parked.add(webhookIds, atMs);
    dependencies.onParked();
  }

  async function claimAllParked(): Promise<number> {
    await wait(parkedPauseMs);
    if (!claiming) return pollMs;
    await parked.find(database);
    const rooms = parked.takeWithRoom(room.free('parked'));
    const { leased, byParts } = await claimOrSetAside(database, newLease(), rooms, parked.since);
    if (byParts) findParked();
    const taken = Map.groupBy(leased, (one) => one.webhookId);
    parked.keep([...rooms].flatMap(([id, most]) => (taken.get(id)?.length === most ? id : [])));
    await send(leased);
    if (leased.length > 0) return 0;
    return Math.min(parked.nextFindMs(), parked.isEmpty() ? pollMs : slowPauseMs);
  }

  /** Loads and starts what a claim has leased, or records why it is not sent. */
  async function send(leased: LeasedDelivery[]): Promise<void> {
    const { deliverable, refused } = await loadOrPutBack(leased);
    begin(deliverable, 'parked');
    if (refused.length === 0) return;
    await recordUnsent(
      refused.map(({ delivery, cancelledBy: by }) => [delivery, { kind: 'cancelled', by }]),
    );
    const count = refused.length + (await cancelOthers(refused));
    metrics.cancelled(count);
    log.info({ count }, 'deliveries.cancelled');
  }

  /** Nothing was sent yet, so a database that goes away now uses up no attempts. */
  async function loadOrPutBack(leased: LeasedDelivery[]): Promise<Loaded> {
    const loaded: Loaded = { deliverable: [], refused: [] };
    try {
      await isolateRefused(
        leased,
        async (some) => {
          const { deliverable, refused } = await loadDeliveries(database, some);
          loaded.deliverable.push(...deliverable);
          loaded.refused.push(...refused);
        },
        (delivery, error) => setAside(delivery, 'load', error),
      );
      return loaded;
    } catch (error) {
      void recordUnsent(
        leased.map((delivery) => [delivery, { kind: 'postponed', waitMs: 0, park: false }]),
      );
      throw error;
    }
  }

  async function setAside(
    delivery: LeasedDelivery,
    stage: 'load' | 'attempt',
    error: unknown,
  ): Promise<void> {
    await setDeliveryAside(database, delivery, { stage, error });
  }

  /** Cancels what else waits for webhooks that get no more, so that a large backlog is not claimed bit by bit. */
  async function cancelOthers(refused: Loaded['refused']): Promise<number> {
    let count = 0;
    for (const reason of ['deactivation', 'suspension', 'deletion'] as const) {
      const ids = refused.flatMap(({ delivery, cancelledBy }) =>
        cancelledBy === reason ? delivery.webhookId : [],
      );
      if (ids.length === 0) continue;
      const { counts } = await cancelPending(database, [...new Set(ids)], reason);
      for (const each of counts.values()) count += each;
    }
    return count;
  }

  async function recordUnsent(ones: [LeasedDelivery, Verdict][]): Promise<void> {
    await Promise.all(
      ones.map(([delivery, verdict]) => recorder.record(unsent(delivery, verdict, clock))),
    );
  }

  function begin(deliveries: Deliverable[], work: Work): void {
    if (deliveries.length === 0) return;
    if (deliveries.length >= busyFrom) sizeHeapForLoad();
    metrics.claimed(deliveries.length);
    starter.start(deliveries, work);
  }

  function findParked(): void {
    parked.findAll();
    dependencies.onParked();
  }

  /** A statement may have parked deliveries although its response was lost. */
  async function orFindParked<T>(statement: () => Promise<T>): Promise<T> {
    try {
      return await statement();
    } catch (error) {
      findParked();
      throw error;
    }
  }

  return {
    fanOutAll: (minAgeMs) => orFindParked(() => fanOutAll(minAgeMs)),
    parkAllDue: () => orFindParked(parkAllDue),
    claimAllParked: () => orFindParked(claimAllParked),
    outbox,
    lookAtEverything() {
      outbox.reset();
      due.reset();
      hasBroadcasts = true;
      findParked();
    },
    id: randomUUID(),
    stopClaiming: () => void (claiming = false),
    async stop() {
      claiming = false;
      await recorder.stop(starter.allEnded());
    },
  };
}

/** The lease lasts for an attempt's whole deadline plus the time to record it. */
export function leaseMs({ timeoutMs, leaseMarginMs }: Config['webhooks']): number {
  return timeoutMs + leaseMarginMs;
}

/** Whether the delivery falls due again before the next poll. */
function isDueSoon({ verdict }: RecordedAttempt): boolean {
  return (verdict.kind === 'retry' || verdict.kind === 'postponed') && verdict.waitMs < pollMs;
}
