/**
 * The way of an event, step by step: intake of what was published by SQL, fan-out, lease, load, attempt, record, and the
 * health of its webhooks. Most deliveries are leased as they are made; the others are parked, and so are those that fall due
 * later. Holds no SQL and decides nothing: each step names the function that does. `worker.ts` calls the steps that wait
 * for work.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Config } from '../../../settings/config.ts';
import type { Database } from '../../../database/database.ts';
import { createEvery } from '../../../runtime/create-every.ts';
import { createFloor } from '../../../runtime/floor.ts';
import type { Rejection } from '../../../events/published-events.ts';
import { isolateRefused } from '../../../events/set-aside.ts';
import {
  deliver,
  isClosed,
  unreadableWaitMs,
  unsent,
  type DeliverDependencies,
  type RecordedAttempt,
} from '../../sending/deliver.ts';
import type { Deliverable, LeasedDelivery } from '../../sending/deliverable.ts';
import { isReadableAgain } from '../../sending/signing-keys.ts';
import { cancelPending } from '../cancel-pending.ts';
import { advanceBroadcast, fanOut, sliceMax, type FanOut } from '../fan-out/fan-out.ts';
import { updateWebhookHealth } from '../health/update-webhook-health.ts';
import { setDeliveryAside } from '../record/record.ts';
import { Recorder } from '../record/recorder.ts';
import { ChatLimits } from './chat-limits.ts';
import { claimOrSetAside, parkDue, parkMax, transactionMaxMs, type Lease } from './claim.ts';
import { sizeHeapForLoad } from '../../../runtime/heap.ts';
import { loadDeliveries, type Loaded } from './load-deliveries.ts';
import { ParkedWebhooks } from './parked-webhooks.ts';
import type { Room, Work } from './room.ts';
import { Starter, type Started } from './start-attempts.ts';

export type DispatcherDependencies = DeliverDependencies & {
  database: Database;
  room: Room;
  webhooks: Config['webhooks'];
  /** Turns entries published by SQL into events, a batch at a time. */
  ingestPublished: (
    database: Database,
    floor: string,
  ) => Promise<{ accepted: number; rejected: Rejection[]; more: boolean }>;
  /** Called with a step that has work now. */
  wake: (step: 'fan-out' | 'due' | 'parked' | 'health' | 'replays' | 'followers') => void;
};

/** How long work may wait if its notification is lost. */
const pollMs = 1_000;
/** A step that is woken for its work waits for no longer either. */
export const rarelyMs = 3_600_000;
/** How long another process's fan-out takes, when this one leads; another only looks again. */
const busyMs = 10;
const busyElsewhereMs = 100;
/** A look at what is due looks back over transactions of this length, and every `farLookMs` over the longest ones. */
const lookBackMs = 100;
const farLookMs = 3_000;
/** Bursts of events are fanned out and parked deliveries claimed this often at most, so that one statement has many. */
const collectMs = 10;
/** A fan-out of so many events is part of a burst. At a few hundred per second they come one by one, and waiting would save nothing. */
const burstFrom = 8;
/** Those of slow receivers can wait for longer. */
const slowPauseMs = 250;
/** A lease of this size means real load: from then on, speed matters more than memory. */
const busyFrom = 64;

/** Each step that `worker.ts` calls returns after how many milliseconds to call it again at the latest. */
export class Dispatcher {
  /** Names this run of the process among the workers. */
  readonly id = randomUUID();
  /** Where the next intake, fan-out and update of health begin. */
  readonly published = createFloor('0');
  readonly outbox = createFloor('0');
  readonly outcomes = createFloor('0');
  readonly #dependencies: DispatcherDependencies;
  readonly #recorder: Recorder;
  readonly #starter: Starter;
  readonly #chatLimits: ChatLimits;
  readonly #due = createFloor(null);
  readonly #parked: ParkedWebhooks;
  readonly #isFarLookDue = createEvery(farLookMs);
  #looksFar = false;
  #deliveriesPerEvent = 1;
  #hasBroadcasts = true;
  /** The start of the last fan-out, if it was part of a burst and left no event. */
  #fannedOutAt = -Infinity;
  #claiming = true;
  /** Deliveries from their lease until they are recorded. */
  #inFlight = 0;
  #onIdle = () => {};

  constructor(dependencies: DispatcherDependencies) {
    const { room, webhooks, wake } = dependencies;
    this.#dependencies = dependencies;
    this.#recorder = new Recorder({
      ...dependencies,
      giveUpAfterMs: webhooks.leaseMarginMs,
      outcomesFloor: () => this.outcomes.current(),
    });
    this.#starter = new Starter(room, webhooks);
    this.#chatLimits = new ChatLimits(dependencies);
    this.#parked = new ParkedWebhooks(room, this.#due);
    room.onRoom = (webhookId) => {
      if (webhookId === null) wake('fan-out');
      if (webhookId === null || this.#parked.has(webhookId)) wake('parked');
    };
  }

  /** Takes in entries published by SQL. */
  async ingest(): Promise<number> {
    const { database, metrics, log, wake, ingestPublished } = this.#dependencies;
    const { accepted, rejected, more } = await ingestPublished(database, this.published.current());
    if (rejected.length > 0) metrics.rejected(rejected.length);
    for (const { id, name } of rejected) log.warn({ event: name, eventId: id }, 'event.rejected');
    if (accepted > 0) wake('fan-out');
    return more ? 0 : rarelyMs;
  }

  /**
   * Fans out events for a few webhooks each that are older than `minAgeMs`, and then makes a slice of a broadcast. Returns
   * null if there are none, or no room for them.
   */
  fanOutAll(minAgeMs: number): Promise<number | null> {
    return this.#orFindParked(async () => {
      const pauseMs = this.#fannedOutAt + collectMs - performance.now();
      if (pauseMs > 0) await wait(pauseMs);
      const { database, room } = this.#dependencies;
      const total = room.free('event');
      if (!this.#claiming || total === 0) return null;
      const startedAt = performance.now();
      const look = this.outbox.look();
      const done = await fanOut(database, {
        lease: this.#newLease(),
        room: room.forFanOut(total),
        floor: look.from,
        minAgeMs,
        deliveriesPerEvent: this.#deliveriesPerEvent,
      });
      if (done.busy) return minAgeMs === 0 ? busyMs : busyElsewhereMs;
      if (done.floor !== null) look.reached(done.floor);
      this.#fannedOutAt = done.events >= burstFrom && !done.more ? startedAt : -Infinity;
      this.#estimate(done);
      this.#pass(done, 'event');
      this.#hasBroadcasts ||= done.broadcasts;
      const waitMs = this.#hasBroadcasts ? await this.#advance(minAgeMs) : null;
      return done.more ? 0 : waitMs;
    });
  }

  async #advance(minAgeMs: number): Promise<number | null> {
    const { database, room } = this.#dependencies;
    const total = room.free('broadcast');
    if (!this.#claiming || total === 0) return null;
    const count = Math.min(total, sliceMax);
    const options = { lease: this.#newLease(), room: room.forFanOut(count), count, minAgeMs };
    const done = await advanceBroadcast(database, options);
    if (done.busy) return minAgeMs === 0 ? busyMs : busyElsewhereMs;
    this.#pass(done, 'broadcast');
    this.#hasBroadcasts = done.broadcasts;
    return done.more ? 0 : null;
  }

  #estimate({ events, deliveries }: FanOut): void {
    if (events === 0) return;
    this.#deliveriesPerEvent = Math.max((this.#deliveriesPerEvent + deliveries / events) / 2, 1);
  }

  #pass({ events, deliveries, leased, parked, atMs, byParts }: FanOut, work: Work): void {
    const { metrics, log, wake } = this.#dependencies;
    if (byParts) this.#findParked();
    if (events + deliveries === 0) return;
    metrics.fannedOut({ events, deliveries });
    if (events > 0) wake('followers');
    log.info({ events, deliveries }, 'events.fanned_out');
    this.#start(leased, work);
    this.#park(parked, atMs);
  }

  /** Parks what is due. */
  parkAllDue(): Promise<number> {
    return this.#orFindParked(async () => {
      if (!this.#claiming) return pollMs;
      // If it does not find all, the next one looks as far.
      this.#looksFar ||= this.#isFarLookDue();
      const look = this.#due.look();
      const backMs = this.#looksFar ? transactionMaxMs : lookBackMs;
      const found = await parkDue(this.#dependencies.database, look.from, backMs);
      if (found.byParts) this.#findParked();
      this.#park(found.webhookIds, Date.parse(found.at));
      if (found.count >= parkMax) return 0;
      look.reached(found.at);
      this.#looksFar = false;
      return Math.min(Math.ceil(found.nextDueMs ?? pollMs), pollMs);
    });
  }

  /** Leases and starts what is parked and has room. */
  claimAllParked(): Promise<number> {
    return this.#orFindParked(async () => {
      await wait(collectMs);
      if (!this.#claiming) return pollMs;
      const { database, room } = this.#dependencies;
      const parked = this.#parked;
      await parked.find(database);
      const rooms = parked.takeWithRoom(room.free('parked', parked.isAnyOpen()));
      const claimed = await claimOrSetAside(database, this.#newLease(), rooms, parked.since);
      if (claimed.byParts) this.#findParked();
      for (const [id, closedMs] of claimed.closed) this.#chatLimits.leaveAlone(id, closedMs);
      parked.keep([...claimed.closed.keys()]);
      parked.keepUnfinished(rooms, claimed.leased);
      await this.#startAllowed(claimed.leased);
      if (claimed.leased.length + claimed.closed.size > 0) return 0;
      return Math.min(parked.nextFindMs(), parked.isEmpty() ? pollMs : slowPauseMs);
    });
  }

  /** Loads and starts what a claim has leased, or records why it is not sent. */
  async #startAllowed(leased: LeasedDelivery[]): Promise<void> {
    const { metrics, log, clock } = this.#dependencies;
    const { deliverable, refused } = await this.#loadOrPutBack(leased);
    this.#start(deliverable, 'parked');
    if (refused.length === 0) return;
    const recorded = Promise.all(
      refused.map(({ delivery, cancelledBy: by }) =>
        this.#record(unsent(delivery, { kind: 'cancelled', by }, clock)),
      ),
    );
    // One whose row another session has locked is recorded later, and must not hold up other claims.
    await Promise.race([recorded, wait(pollMs, undefined, { ref: false })]);
    const count = refused.length + (await this.#cancelOthers(refused));
    metrics.cancelled(count);
    log.info({ count }, 'deliveries.cancelled');
  }

  /** Nothing was sent yet, so a database that goes away now uses up no attempts. */
  async #loadOrPutBack(leased: LeasedDelivery[]): Promise<Loaded> {
    const { database, clock } = this.#dependencies;
    const loaded: Loaded = { deliverable: [], refused: [] };
    try {
      await isolateRefused(
        leased,
        async (some) => {
          const { deliverable, refused } = await loadDeliveries(database, some);
          loaded.deliverable.push(...deliverable);
          loaded.refused.push(...refused);
        },
        (delivery, error) => setDeliveryAside(database, delivery, { stage: 'load', error }),
      );
      return loaded;
    } catch (error) {
      const verdict = { kind: 'postponed', waitMs: 0, park: false } as const;
      for (const delivery of leased) void this.#record(unsent(delivery, verdict, clock));
      throw error;
    }
  }

  /** Cancels what else waits for webhooks that get no more, so that a large backlog is not claimed bit by bit. */
  async #cancelOthers(refused: Loaded['refused']): Promise<number> {
    let count = 0;
    for (const reason of ['deactivation', 'suspension', 'deletion'] as const) {
      const ids = refused.flatMap(({ delivery, cancelledBy }) =>
        cancelledBy === reason ? delivery.webhookId : [],
      );
      if (ids.length === 0) continue;
      const { counts } = await cancelPending(
        this.#dependencies.database,
        [...new Set(ids)],
        reason,
      );
      for (const each of counts.values()) count += each;
    }
    return count;
  }

  #start(deliveries: Deliverable[], work: Work): void {
    if (deliveries.length === 0) return;
    if (deliveries.length >= busyFrom) sizeHeapForLoad();
    this.#dependencies.metrics.claimed(deliveries.length);
    this.#inFlight += deliveries.length;
    for (const delivery of deliveries) this.#openIfReadableAgain(delivery);
    for (const started of this.#starter.enqueue(deliveries, work)) void this.#deliver(started);
  }

  /** Its owner may have set another secret while the webhook is left alone. */
  #openIfReadableAgain(delivery: Deliverable): void {
    const { room, wake } = this.#dependencies;
    if (!isReadableAgain(this.#dependencies, delivery)) return;
    room.open(delivery.webhookId);
    wake('parked');
  }

  /** Attempts a delivery when it is its turn, or puts it back, and records what came of it. */
  async #deliver(started: Started): Promise<void> {
    // Of one that its platform holds back, only its age is looked at.
    const mayBegin = (await started.turn) || isClosed(started.delivery);
    const attempt = mayBegin
      ? await this.#attempt(started.delivery)
      : unsent(started.delivery, putBack, this.#dependencies.clock);
    const { chat, webhookId } = started.delivery;
    const { unreadableForMs = null } = attempt ?? {};
    if (attempt && unreadableForMs !== null && !this.#chatLimits.leaveUnreadable(webhookId))
      attempt.verdict = { kind: 'postponed', waitMs: unreadableWaitMs, park: false };
    const kept = chat && mayBegin && attempt && this.#chatLimits.keep(started.delivery, attempt);
    this.#starter.end(started);
    if (attempt) await this.#record(attempt);
    if (kept) await kept;
    this.#dependencies.room.release(started.place);
    if (unreadableForMs !== null)
      await this.#chatLimits.giveUpUnreadable(webhookId, unreadableForMs);
    this.#inFlight -= 1;
    if (this.#inFlight === 0) this.#onIdle();
  }

  /** Returns null if our own code cannot send it. */
  async #attempt(delivery: Deliverable): Promise<RecordedAttempt | null> {
    try {
      return await deliver(this.#dependencies, delivery);
    } catch (error) {
      const { log, database } = this.#dependencies;
      log.error({ err: error, deliveryId: delivery.id }, 'delivery.failed');
      await setDeliveryAside(database, delivery, { stage: 'attempt', error }).catch(() => {});
      return null;
    }
  }

  async #record(attempt: RecordedAttempt): Promise<void> {
    await this.#recorder.record(attempt);
    const { verdict, delivery } = attempt;
    if (verdict.kind === 'postponed' && verdict.park) this.#park([delivery.webhookId]);
    else if ('waitMs' in verdict && verdict.waitMs < pollMs) this.#dependencies.wake('due');
    this.#dependencies.wake('health');
  }

  /** Adds what was recorded to the health of webhooks. */
  async updateHealth(): Promise<number> {
    const { database, webhooks, metrics, log, wake } = this.#dependencies;
    const look = this.outcomes.look();
    const done = await updateWebhookHealth(database, webhooks.deactivateAfter, look.from);
    if (done.floor !== null) look.reached(done.floor);
    for (const each of done.deactivated) {
      metrics.deactivated(each.reason);
      metrics.cancelled(each.cancelled);
      log.warn(each, 'webhook.deactivated');
    }
    for (const webhookId of done.healed) log.info({ webhookId }, 'webhook.healed');
    for (const failure of done.failures) log.error(failure, 'health.not_updated');
    if (done.healed.length > 0) wake('replays');
    if (done.more) return 0;
    return done.failures.length > 0 ? pollMs : rarelyMs;
  }

  /** The next looks cover the whole queue. */
  lookAtEverything(): void {
    for (const each of [this.published, this.outbox, this.outcomes, this.#due]) each.reset();
    this.#hasBroadcasts = true;
    this.#findParked();
  }

  /** Deliveries from a running claim are still sent. */
  stopClaiming(): void {
    this.#claiming = false;
  }

  /** Call when no claim is running. Resolves when every leased delivery has ended and is recorded. */
  async stop(): Promise<void> {
    this.#claiming = false;
    const idle = new Promise<void>((resolve) => (this.#onIdle = resolve));
    await this.#recorder.stop(this.#inFlight > 0 ? idle : Promise.resolve());
  }

  #newLease(): Lease {
    return { token: randomUUID(), ms: leaseMs(this.#dependencies.webhooks) };
  }

  #park(webhookIds: string[], atMs?: number): void {
    if (webhookIds.length === 0) return;
    this.#parked.add(webhookIds, atMs);
    this.#dependencies.wake('parked');
  }

  #findParked(): void {
    this.#parked.findAll();
    this.#dependencies.wake('parked');
  }

  /** A statement may have parked deliveries although its response was lost. */
  async #orFindParked<T>(statement: () => Promise<T>): Promise<T> {
    try {
      return await statement();
    } catch (error) {
      this.#findParked();
      throw error;
    }
  }
}

const putBack = { kind: 'postponed', waitMs: 0, park: true } as const;

/** The lease lasts for an attempt's whole deadline plus the time to record it. */
export function leaseMs({ timeoutMs, leaseMarginMs }: Config['webhooks']): number {
  return timeoutMs + leaseMarginMs;
}
