/**
 * Starts the attempts of leased deliveries, a few in each turn of the event loop, and passes their outcomes on. A delivery
 * whose webhook has no room waits a moment for its turn, and then goes back to the queue.
 */
import { setImmediate } from 'node:timers/promises';
import {
  deliver,
  unsent,
  type DeliverDependencies,
  type RecordedAttempt,
} from '../sending/deliver.ts';
import type { Deliverable } from '../sending/deliverable.ts';
import type { InFlight } from './in-flight.ts';

export type StarterDependencies = DeliverDependencies & {
  inFlight: InFlight;
  webhooks: { timeoutMs: number };
};
export type Starter = {
  start(deliveries: Deliverable[]): void;
  /** Resolves when every started attempt has ended and is recorded. */
  allEnded(): Promise<void>;
};

/** Attempts started in one turn of the event loop. If all started at once, responses would wait. */
const startsPerTurn = 32;
/** How long a delivery waits for its webhook's turn, much less than a lease's margin. */
const turnWaitMs = 1_000;
const turnCheckMs = 250;

type Held = { delivery: Deliverable; release: () => void };
type Waiting = Held & { until: number; endWait: () => void };

export function createStarter(
  dependencies: StarterDependencies,
  record: (attempt: RecordedAttempt) => Promise<void>,
  onParked: (webhookId: string) => void,
): Starter {
  const { inFlight, clock, log, webhooks } = dependencies;
  let starting: Promise<void> | null = null;
  let toStart: Held[] = [];
  const waiting = new Map<string, Waiting[]>();
  let held = 0;
  let checking: NodeJS.Timeout | undefined;
  let onIdle = () => {};

  async function startAll(): Promise<void> {
    while (toStart.length > 0) {
      const turn = toStart.slice(0, startsPerTurn);
      toStart = toStart.slice(startsPerTurn);
      for (const one of turn) startOrWait(one);
      await setImmediate();
    }
    starting = null;
  }

  function startOrWait(one: Held): void {
    if (waiting.has(one.delivery.webhookId) || !tryStart(one)) addWaiting(one);
  }

  function tryStart(one: Held): boolean {
    const { delivery } = one;
    // A process that was frozen knows that its leases are over, and an attempt must end before its lease does.
    if (performance.now() + webhooks.timeoutMs > delivery.leaseEndsAt) {
      putBack(one);
      return true;
    }
    const responded = inFlight.start(delivery.webhookId, delivery.owner);
    if (!responded) return false;
    void attempt(one, responded);
    return true;
  }

  async function attempt(one: Held, responded: () => void): Promise<void> {
    let ended: RecordedAttempt | null = null;
    try {
      ended = await deliver(dependencies, one.delivery);
    } catch (error) {
      log.error({ err: error, deliveryId: one.delivery.id }, 'delivery.failed');
    }
    responded();
    startNext(one.delivery.webhookId);
    if (ended) await record(ended);
    end(one);
  }

  function putBack(one: Held): void {
    const verdict = { kind: 'postponed', waitMs: 0, park: true } as const;
    void record(unsent(one.delivery, verdict, clock)).then(() => {
      end(one);
      onParked(one.delivery.webhookId);
    });
  }

  function end({ release }: Held): void {
    release();
    held -= 1;
    if (held === 0) onIdle();
  }

  function addWaiting(one: Held): void {
    const { webhookId, owner } = one.delivery;
    const entry = {
      ...one,
      until: performance.now() + turnWaitMs,
      endWait: inFlight.wait(webhookId, owner),
    };
    const line = waiting.get(webhookId);
    if (line) line.push(entry);
    else waiting.set(webhookId, [entry]);
    checking ??= setInterval(putBackLate, turnCheckMs);
  }

  function startNext(webhookId: string): void {
    for (let next = waiting.get(webhookId)?.[0]; next; next = waiting.get(webhookId)?.[0]) {
      next.endWait();
      if (!tryStart(next)) {
        next.endWait = inFlight.wait(webhookId, next.delivery.owner);
        return;
      }
      dropFirst(webhookId);
    }
  }

  function putBackLate(): void {
    const now = performance.now();
    for (const [webhookId, line] of waiting) {
      for (let first = line[0]; first && first.until <= now; first = line[0]) {
        first.endWait();
        dropFirst(webhookId);
        putBack(first);
      }
      startNext(webhookId);
    }
    if (waiting.size > 0) return;
    clearInterval(checking);
    checking = undefined;
  }

  function dropFirst(webhookId: string): void {
    const line = waiting.get(webhookId);
    line?.shift();
    if (line?.length === 0) waiting.delete(webhookId);
  }

  return {
    start(deliveries) {
      held += deliveries.length;
      for (const delivery of deliveries) toStart.push({ delivery, release: inFlight.hold() });
      starting ??= startAll();
    },
    async allEnded() {
      await starting;
      if (held > 0) await new Promise<void>((resolve) => (onIdle = resolve));
    },
  };
}
