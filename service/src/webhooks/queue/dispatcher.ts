/** Claims what is due as far as there is room, sends it, and hands what came of it to the recorder. */
import { setImmediate } from 'node:timers/promises';
import type { Config } from '../../config.ts';
import type { Database } from '../../database/database.ts';
import { sizeHeapForLoad } from './heap-under-load.ts';
import { claim, claimMax, failingEvery, roundStart, type Claim } from './claim.ts';
import {
  deliver,
  putBack,
  type DeliverDependencies,
  type RecordedAttempt,
} from '../sending/deliver.ts';
import type { Deliverable } from '../sending/deliverable.ts';
import { inFlightPerWebhookMax, type InFlight, type Place } from './in-flight.ts';
import { createRecorder } from './recorder.ts';

export type DispatcherDependencies = DeliverDependencies & {
  database: Database;
  inFlight: InFlight;
  webhooks: Config['webhooks'];
};

export type Dispatcher = {
  /** Returns after how many milliseconds it wants to be called again, at the latest. */
  claimAll(): Promise<number>;
  /** What a claim under way brings is still sent. */
  stopClaiming(): void;
  /** Once no `claimAll` is under way: resolves when all that was claimed has ended and is recorded. */
  stop(): Promise<void>;
};

/** Without a notification, work is found after this long. */
export const pollMs = 1_000;
/** Between two looks at some webhooks: one costs some milliseconds, and attempts that end ask all the time. */
const walkPauseMs = 25;
/** The same while claims by time fill the process: it is only for what those hide behind what is older. */
const walkPauseWhileFullMs = 250;
/** Attempts begun in one turn of the event loop: answers, of the database too, must not wait until all are under way. */
const begunPerTurn = 32;
/** A claim of so many is not the first of a quiet day: from then on memory is worth less than time. */
const busyFrom = 64;
/** Until what found its webhook's share taken is claimed again. */
const fullWaitMs = 100;

export function createDispatcher(dependencies: DispatcherDependencies): Dispatcher {
  const { database, inFlight, webhooks, log, metrics } = dependencies;
  const recorder = createRecorder({
    ...dependencies,
    deactivateAfter: webhooks.deactivateAfter,
    patienceMs: webhooks.leaseMarginMs,
  });
  let underWay = 0;
  let noneUnderWay = () => {};
  let claiming = true;
  /** Where the next claim by webhooks goes on, so that all get their turn. */
  let nextWebhook = roundStart;
  let nextWalkAt = 0;
  let phase = 0;
  let toBegin: (() => void)[] = [];
  let beginning: Promise<void> | null = null;

  async function claimAll(): Promise<number> {
    while (claiming && inFlight.room().total > 0) {
      const room = Math.min(inFlight.room().total, claimMax);
      const claimed = await claimSome(null);
      const found = claimed.deliveries.length + claimed.cancelled;
      if (claimed.complete && found < claimMax) return untilMs(claimed.nextDueMs);
      // What is due for webhooks that have their share may fill the view: others are looked for one by one.
      const pauseMs = found < room / 2 ? walkPauseMs : walkPauseWhileFullMs;
      const walked = claimed.complete ? 0 : await walk(found, pauseMs);
      if (found + walked === 0) return Math.ceil(Math.max(nextWalkAt - performance.now(), 1));
    }
    return pollMs;
  }

  /** Returns how many it found. Where claims by time find something too, it takes its turn now and then. */
  async function walk(foundByTime: number, pauseMs: number): Promise<number> {
    if (!claiming || performance.now() < nextWalkAt || inFlight.room().total === 0) return 0;
    const { deliveries, cancelled, nextCursor } = await claimSome(nextWebhook);
    nextWebhook = nextCursor ?? roundStart;
    const found = deliveries.length + cancelled;
    if (found === 0 || foundByTime > 0) nextWalkAt = performance.now() + pauseMs;
    return found;
  }

  async function claimSome(cursor: string | null): Promise<Claim> {
    const claimed = await claim(database, {
      room: inFlight.room(),
      inFlight: inFlight.counts(),
      leaseMs: leaseMs(webhooks),
      cursor,
      phase,
    });
    const { deliveries, cancelled } = claimed;
    phase = (phase + deliveries.length) % failingEvery;
    const [first] = deliveries;
    if (first) {
      recorder.expect(first.leaseToken, deliveries.length);
      if (deliveries.length >= busyFrom) sizeHeapForLoad();
      metrics.claimed(deliveries.length);
      for (const delivery of deliveries) hold(delivery);
      beginning ??= beginAll();
    }
    if (cancelled > 0) {
      metrics.cancelled(cancelled);
      log.info({ count: cancelled }, 'deliveries.cancelled');
    }
    return claimed;
  }

  /** Gives it its place at once, so that the next claim knows of it; it is sent in its turn. */
  function hold(delivery: Deliverable): void {
    // A test may have taken a place while the claim was under way: the share holds for both together.
    const isFull = (inFlight.counts().get(delivery.webhookId) ?? 0) >= inFlightPerWebhookMax;
    const place = inFlight.add(delivery.webhookId, delivery.failing);
    toBegin.push(() => {
      const attempt = isFull
        ? Promise.resolve(putBack(delivery, fullWaitMs, dependencies.clock))
        : deliver(dependencies, delivery);
      underWay += 1;
      void end(delivery, place, attempt);
    });
  }

  async function beginAll(): Promise<void> {
    while (toBegin.length > 0) {
      const turn = toBegin.slice(0, begunPerTurn);
      toBegin = toBegin.slice(begunPerTurn);
      for (const begin of turn) begin();
      await setImmediate();
    }
    beginning = null;
  }

  async function end(
    { id, leaseToken }: Deliverable,
    place: Place,
    attempt: Promise<RecordedAttempt>,
  ): Promise<void> {
    try {
      const ended = await attempt;
      place.answered();
      await recorder.record(ended);
    } catch (error) {
      log.error({ err: error, deliveryId: id }, 'delivery.failed');
      recorder.giveUp(leaseToken);
    } finally {
      place.release();
      underWay -= 1;
      if (underWay === 0) noneUnderWay();
    }
  }

  async function allEnded(): Promise<void> {
    await beginning;
    if (underWay > 0) await new Promise<void>((resolve) => (noneUnderWay = resolve));
  }

  return {
    claimAll,
    stopClaiming: () => void (claiming = false),
    async stop() {
      claiming = false;
      await recorder.stop(allEnded());
    },
  };
}

/** An attempt's whole deadline, and time to record it. */
export function leaseMs({
  timeoutMs,
  leaseMarginMs,
}: Pick<Config['webhooks'], 'timeoutMs' | 'leaseMarginMs'>): number {
  return timeoutMs + leaseMarginMs;
}

function untilMs(nextDueMs: number | null): number {
  return Math.min(Math.max(Math.ceil(nextDueMs ?? pollMs), 0), pollMs);
}
