/**
 * Starts the attempts of leased deliveries, a few in each turn of the event loop, and passes their outcomes on. A delivery
 * whose webhook has no room waits a moment for its turn, or goes back to the queue, parked.
 */
import { setImmediate } from 'node:timers/promises';
import {
  deliver,
  unsent,
  type DeliverDependencies,
  type RecordedAttempt,
} from '../../sending/deliver.ts';
import type { Deliverable } from '../../sending/deliverable.ts';
import type { Place, Room, Work } from './room.ts';

export type StarterDependencies = DeliverDependencies & {
  room: Room;
  webhooks: { timeoutMs: number; leaseMarginMs: number };
};

type Options = StarterDependencies & {
  record(attempt: RecordedAttempt): Promise<void>;
  /** Called with a delivery that our own code cannot send. Never rejects. */
  setAside(delivery: Deliverable, error: unknown): Promise<void>;
  /** Called when a delivery went back to the queue, parked. */
  onPutBack(webhookId: string): void;
};

/** Attempts started in one turn of the event loop. If all started at once, responses would wait. */
const startsPerTurn = 32;
/** How long a delivery waits for its webhook's turn, much less than a lease's margin. */
const turnWaitMs = 1_000;

type Held = { delivery: Deliverable; place: Place; waitsUntil: number };

export class Starter {
  readonly #dependencies: Options;
  readonly #toStart: Held[] = [];
  /** Deliveries that wait for their turn, by webhook. */
  readonly #lines = new Map<string, Held[]>();
  #starting: Promise<void> | null = null;
  #held = 0;
  #checking: NodeJS.Timeout | undefined;
  #onIdle = () => {};

  constructor(dependencies: Options) {
    this.#dependencies = dependencies;
  }

  /** Deliveries of new events start before those of broadcasts and backlogs. */
  start(deliveries: Deliverable[], work: Work): void {
    const { room } = this.#dependencies;
    const waitsUntil = performance.now() + turnWaitMs;
    this.#held += deliveries.length;
    const held = deliveries.map((delivery) => ({
      delivery,
      place: room.take(delivery),
      waitsUntil,
    }));
    if (work === 'event') this.#toStart.unshift(...held);
    else this.#toStart.push(...held);
    this.#starting ??= this.#startAll();
  }

  /** Resolves when every started attempt has ended and is recorded. */
  async allEnded(): Promise<void> {
    await this.#starting;
    if (this.#held > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
  }

  async #startAll(): Promise<void> {
    while (this.#toStart.length > 0) {
      for (const one of this.#toStart.splice(0, startsPerTurn)) {
        const line = this.#lines.get(one.delivery.webhookId);
        if (line) line.push(one);
        else if (!this.#tryStart(one)) this.#lines.set(one.delivery.webhookId, [one]);
      }
      if (this.#lines.size > 0)
        this.#checking ??= setInterval(() => this.#checkLines(), turnWaitMs / 4);
      await setImmediate();
    }
    this.#starting = null;
  }

  /** Starts it or puts it back; returns false if it waits for its webhook's turn. */
  #tryStart(one: Held): boolean {
    const { timeoutMs, leaseMarginMs } = this.#dependencies.webhooks;
    const now = performance.now();
    // Half of the margin is left to record the attempt, because a process may be busy, or may have been frozen.
    const isLate = now > one.delivery.leaseEndsAt - timeoutMs - leaseMarginMs / 2;
    if (!isLate && one.place.start()) void this.#attempt(one);
    else if (isLate || now >= one.waitsUntil || !one.place.mayWait()) this.#putBack(one);
    else return false;
    return true;
  }

  async #attempt(one: Held): Promise<void> {
    let ended: RecordedAttempt | null = null;
    try {
      ended = await deliver(this.#dependencies, one.delivery);
    } catch (error) {
      this.#dependencies.log.error({ err: error, deliveryId: one.delivery.id }, 'delivery.failed');
      await this.#dependencies.setAside(one.delivery, error);
    }
    one.place.end();
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

  #end({ place }: Held): void {
    place.release();
    this.#held -= 1;
    if (this.#held === 0) this.#onIdle();
  }

  #startNext(webhookId: string): void {
    const line = this.#lines.get(webhookId);
    while (line?.[0] && this.#tryStart(line[0])) line.shift();
    if (line?.length === 0) this.#lines.delete(webhookId);
  }

  #checkLines(): void {
    for (const webhookId of this.#lines.keys()) this.#startNext(webhookId);
    if (this.#lines.size > 0) return;
    clearInterval(this.#checking);
    this.#checking = undefined;
  }
}
