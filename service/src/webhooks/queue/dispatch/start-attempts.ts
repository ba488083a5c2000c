/**
 * Decides when the attempts of leased deliveries start: a few in each turn of the event loop. A delivery whose webhook has no
 * room waits a moment for its turn, or has none and goes back to the queue.
 */
import { setImmediate } from 'node:timers/promises';
import type { Deliverable } from '../../sending/deliverable.ts';
import type { Place, Room, Work } from './room.ts';

export type Started = {
  delivery: Deliverable;
  place: Place;
  /** Resolves to whether its attempt may begin now. */
  turn: Promise<boolean>;
};

/** Attempts started in one turn of the event loop. If all started at once, responses would wait. */
const startsPerTurn = 8;
/** How long a delivery waits for its webhook's turn, much less than a lease's margin. */
const turnWaitMs = 1_000;

type Held = Started & { waitsUntil: number; resolve: (mayBegin: boolean) => void };

export class Starter {
  readonly #room: Room;
  readonly #times: { timeoutMs: number; leaseMarginMs: number };
  readonly #toStart: Record<Work, Held[]> = { event: [], parked: [], broadcast: [] };
  /** Deliveries that wait for their turn, by webhook. */
  readonly #lines = new Map<string, Held[]>();
  #isStarting = false;
  #checking: NodeJS.Timeout | undefined;

  constructor(room: Room, times: { timeoutMs: number; leaseMarginMs: number }) {
    this.#room = room;
    this.#times = times;
  }

  /** Deliveries of new events start before those of backlogs, and these before those of broadcasts. */
  enqueue(deliveries: Deliverable[], work: Work): Started[] {
    const waitsUntil = performance.now() + turnWaitMs;
    const held = deliveries.map((delivery): Held => {
      const { promise: turn, resolve } = Promise.withResolvers<boolean>();
      return { delivery, place: this.#room.take(delivery, work), turn, waitsUntil, resolve };
    });
    this.#toStart[work].push(...held);
    if (!this.#isStarting) void this.#startAll();
    return held;
  }

  /** Its attempt has ended, which may be another one's turn. */
  end({ delivery, place }: Started): void {
    this.#room.end(place);
    this.#startNext(delivery.webhookId);
  }

  async #startAll(): Promise<void> {
    this.#isStarting = true;
    for (let next = this.#takeNext(); next.length > 0; next = this.#takeNext()) {
      for (const one of next) {
        const line = this.#lines.get(one.delivery.webhookId);
        if (line) line.push(one);
        else if (!this.#tryStart(one)) this.#lines.set(one.delivery.webhookId, [one]);
      }
      if (this.#lines.size > 0)
        this.#checking ??= setInterval(() => this.#checkLines(), turnWaitMs / 4);
      await setImmediate();
    }
    this.#isStarting = false;
  }

  #takeNext(): Held[] {
    const { event, parked, broadcast } = this.#toStart;
    const next = event.splice(0, startsPerTurn);
    for (const others of [parked, broadcast])
      next.push(...others.splice(0, startsPerTurn - next.length));
    return next;
  }

  /** Returns false if it waits for its webhook's turn. */
  #tryStart({ delivery, place, waitsUntil, resolve }: Held): boolean {
    const { timeoutMs, leaseMarginMs } = this.#times;
    const now = performance.now();
    // Half of the margin is left to record the attempt, because a process may be busy, or may have been frozen.
    const isLate = now > delivery.leaseEndsAt - timeoutMs - leaseMarginMs / 2;
    if (!isLate && this.#room.start(place)) resolve(true);
    else if (isLate || now >= waitsUntil || !this.#room.mayWait(place)) resolve(false);
    else return false;
    return true;
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
