/** The room that slow receivers share; those of one owner get at most a quarter of it. */
import type { Receiver } from './receiver.ts';

/** Slow webhooks that are named to each fan-out and claim, about 45 bytes each. */
const namedMax = 2_000;

export class SlowRoom {
  readonly #max: number;
  #inFlight = 0;
  readonly #inFlightByOwner = new Map<string, number>();
  /** Whether they have attempts under way or not. Those that were slow longest ago come first. */
  readonly #receivers = new Map<string, Receiver>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Whether a slow receiver of this owner may get another attempt. */
  isFree(owner: string): boolean {
    return this.#inFlight < this.#max && this.#leftOf(owner) > 0;
  }

  /** Adds or removes slow attempts under way. */
  count(owner: string, by: 1 | -1): void {
    this.#inFlight += by;
    const inFlight = (this.#inFlightByOwner.get(owner) ?? 0) + by;
    if (inFlight > 0) this.#inFlightByOwner.set(owner, inFlight);
    else this.#inFlightByOwner.delete(owner);
  }

  /** Marks a receiver as slow, as the latest one, or as quick. */
  mark(receiver: Receiver, isSlow: boolean): void {
    receiver.isSlow = isSlow;
    this.#receivers.delete(receiver.id);
    if (!isSlow) return;
    this.#receivers.set(receiver.id, receiver);
    const [oldest] = this.#receivers.keys();
    if (this.#receivers.size > namedMax && oldest !== undefined) this.#receivers.delete(oldest);
  }

  /** Gives the room to each slow receiver in turn. */
  share(byWebhook: Record<string, number>, leasable: (receiver: Receiver) => number): void {
    let left = this.#max - this.#inFlight;
    const ofOwner = new Map<string, number>();
    for (const receiver of this.#receivers.values()) {
      const { id, owner } = receiver;
      const ownerLeft = ofOwner.get(owner) ?? this.#leftOf(owner);
      const given = Math.max(Math.min(leasable(receiver), left, ownerLeft), 0);
      byWebhook[id] = given;
      left -= given;
      ofOwner.set(owner, ownerLeft - given);
    }
  }

  #leftOf(owner: string): number {
    return this.#max / 4 - (this.#inFlightByOwner.get(owner) ?? 0);
  }
}
