/** Starts the attempts of claimed deliveries, a few in each turn of the event loop, and passes their outcomes on. */
import { setImmediate } from 'node:timers/promises';
import {
  deliver,
  postpone,
  type DeliverDependencies,
  type RecordedAttempt,
} from '../sending/deliver.ts';
import type { Deliverable } from '../sending/deliverable.ts';
import { inFlightPerWebhookMax, type InFlight, type Slot } from './in-flight.ts';
import type { Recorder } from './recorder.ts';

export type StarterDependencies = DeliverDependencies & { inFlight: InFlight };
export type Starter = {
  start(deliveries: Deliverable[]): void;
  /** Resolves when every started attempt has ended and is recorded. */
  allEnded(): Promise<void>;
};

/** Attempts started in one turn of the event loop. If all started at once, responses would wait. */
const startsPerTurn = 32;
/** How long a delivery waits if its webhook had its share under way when its turn came. */
const fullWaitMs = 100;

export function createStarter(dependencies: StarterDependencies, recorder: Recorder): Starter {
  const { inFlight, log } = dependencies;
  let waiting: (() => void)[] = [];
  let starting: Promise<void> | null = null;
  let underWay = 0;
  let onIdle = () => {};

  /** Counts the delivery as under way at once, so that the next claim sees it; it is sent when its turn comes. */
  function enqueue(delivery: Deliverable): void {
    // A test may have started while the claim was under way. The limit per webhook covers both together.
    const isFull = (inFlight.counts().get(delivery.webhookId) ?? 0) >= inFlightPerWebhookMax;
    const slot = inFlight.add(delivery.webhookId, delivery.failing);
    waiting.push(() => {
      const attempt = isFull
        ? Promise.resolve(postpone(delivery, fullWaitMs, dependencies.clock))
        : deliver(dependencies, delivery);
      underWay += 1;
      void end(delivery, slot, attempt);
    });
  }

  async function startAll(): Promise<void> {
    while (waiting.length > 0) {
      const turn = waiting.slice(0, startsPerTurn);
      waiting = waiting.slice(startsPerTurn);
      for (const start of turn) start();
      await setImmediate();
    }
    starting = null;
  }

  async function end(
    { id, leaseToken }: Deliverable,
    slot: Slot,
    attempt: Promise<RecordedAttempt>,
  ): Promise<void> {
    try {
      const ended = await attempt;
      slot.responded();
      await recorder.record(ended);
    } catch (error) {
      log.error({ err: error, deliveryId: id }, 'delivery.failed');
      recorder.giveUp(leaseToken);
    } finally {
      slot.release();
      underWay -= 1;
      if (underWay === 0) onIdle();
    }
  }

  async function allEnded(): Promise<void> {
    await starting;
    if (underWay > 0) await new Promise<void>((resolve) => (onIdle = resolve));
  }

  return {
    start(deliveries) {
      for (const delivery of deliveries) enqueue(delivery);
      starting ??= startAll();
    },
    allEnded,
  };
}
