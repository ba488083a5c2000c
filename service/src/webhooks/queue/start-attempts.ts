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
  webhooks: { timeoutMs: number; leaseMarginMs: number };
};

type Options = StarterDependencies & {
  record(attempt: RecordedAttempt): Promise<void>;
  /** Called when a delivery went back to the queue, parked. */
  onPutBack(webhookId: string): void;
};

/** Attempts started in one turn of the event loop. If all started at once, responses would wait. */
const startsPerTurn = 32;
/** How long a delivery waits for its webhook's turn, much less than a lease's margin. */
const turnWaitMs = 1_000;

type Held = { delivery: Deliverable; release: () => void };
type Waiting = Held & { until: number; endWait: () => void };

export class Starter {
  readonly #dependencies: Options;
  #starting: Promise<void> | null = null;
  readonly #toStart: Held[] = [];
  readonly #waiting = new Map<string, Waiting[]>();
  #held = 0;
  #checking: NodeJS.Timeout | undefined;
  #onIdle = () => {};

  constructor(dependencies: Options) {
    this.#dependencies = dependencies;
  }

  start(deliveries: Deliverable[]): void {
    const { inFlight } = this.#dependencies;
    this.#held += deliveries.length;
    for (const delivery of deliveries) this.#toStart.push({ delivery, release: inFlight.hold() });
    this.#starting ??= this.#startAll();
  }

  /** Resolves when every started attempt has ended and is recorded. */
  async allEnded(): Promise<void> {
    await this.#starting;
    if (this.#held > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
  }

  async #startAll(): Promise<void> {
    while (this.#toStart.length > 0) {
      for (const one of this.#toStart.splice(0, startsPerTurn))
        if (this.#waiting.has(one.delivery.webhookId) || !this.#tryStart(one))
          this.#addWaiting(one);
      await setImmediate();
    }
    this.#starting = null;
  }

  /** Returns false if the webhook has no room. */
  #tryStart(one: Held): boolean {
    const { inFlight, webhooks } = this.#dependencies;
    const { webhookId, owner, leaseEndsAt } = one.delivery;
    // Half of the margin is left to record the attempt, because a process may be busy, or may have been frozen.
    const startUntil = leaseEndsAt - webhooks.timeoutMs - webhooks.leaseMarginMs / 2;
    if (performance.now() > startUntil) {
      this.#putBack(one);
      return true;
    }
    const responded = inFlight.start(webhookId, owner);
    if (responded) void this.#attempt(one, responded);
    return responded !== null;
  }

  async #attempt(one: Held, responded: () => void): Promise<void> {
    let ended: RecordedAttempt | null = null;
    try {
      ended = await deliver(this.#dependencies, one.delivery);
    } catch (error) {
      this.#dependencies.log.error({ err: error, deliveryId: one.delivery.id }, 'delivery.failed');
    }
    responded();
    this.#startNext(one.delivery.webhookId);
    if (ended) await this.#dependencies.record(ended);
    this.#end(one);
  }

  #putBack(one: Held): void {
    const verdict = { kind: 'postponed', waitMs: 0, park: true } as const;
    const ended = unsent(one.delivery, verdict, this.#dependencies.clock);
    void this.#dependencies.record(ended).then(() => {
      this.#end(one);
      this.#dependencies.onPutBack(one.delivery.webhookId);
    });
  }

  #end({ release }: Held): void {
    release();
    this.#held -= 1;
    if (this.#held === 0) this.#onIdle();
  }

  #addWaiting(one: Held): void {
    const { webhookId } = one.delivery;
    const entry = { ...one, until: performance.now() + turnWaitMs, endWait: this.#wait(one) };
    const line = this.#waiting.get(webhookId);
    if (line) line.push(entry);
    else this.#waiting.set(webhookId, [entry]);
    this.#checking ??= setInterval(() => this.#putBackLate(), turnWaitMs / 4);
  }

  #wait({ delivery }: Held): () => void {
    return this.#dependencies.inFlight.wait(delivery.webhookId, delivery.owner);
  }

  #startNext(webhookId: string): void {
    const line = this.#waiting.get(webhookId) ?? [];
    for (let next = line[0]; next; next = line[0]) {
      next.endWait();
      if (!this.#tryStart(next)) {
        next.endWait = this.#wait(next);
        return;
      }
      this.#dropFirst(webhookId);
    }
  }

  #putBackLate(): void {
    const now = performance.now();
    for (const [webhookId, line] of this.#waiting) {
      for (let first = line[0]; first && first.until <= now; first = line[0]) {
        first.endWait();
        this.#dropFirst(webhookId);
        this.#putBack(first);
      }
      this.#startNext(webhookId);
    }
    if (this.#waiting.size > 0) return;
    clearInterval(this.#checking);
    this.#checking = undefined;
  }

  #dropFirst(webhookId: string): void {
    const line = this.#waiting.get(webhookId);
    line?.shift();
    if (line?.length === 0) this.#waiting.delete(webhookId);
  }
}
