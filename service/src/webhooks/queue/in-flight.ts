/**
 * Counts the attempts under way in this process and says how many more may start or be leased: for each webhook by its
 * latency (`receiver.ts`), for all slow ones (`slow-room.ts`), and in total. So slow receivers cannot fill the process.
 * Counts only; `fan-out.ts` and `claim.ts` ask before they lease, `start-attempts.ts` before it sends.
 */
import { LRUCache } from 'lru-cache';
import { inFlightPerWebhookMax, limitAt, limitAtFirst, slowMs, type Receiver } from './receiver.ts';
import { SlowRoom } from './slow-room.ts';

/** Attempts that wait for a response. Each costs a socket and some tens of kilobytes. */
const inFlightMax = 1024;
/** Running attempts, those that wait for their webhook's turn, and those that wait to be recorded. */
const heldMax = 2 * inFlightMax;
/** Attempts younger than `freshMs`. This many fast ones keep a process busy; more would only wait and hold memory. */
const freshMax = 0.75 * inFlightMax;
/** Nothing is leased while there is less room than this, because a small lease costs as much as a large one. */
const roomMin = inFlightMax / 4;
/** An attempt that is older than this waits for its receiver, not for our processor. */
const freshMs = 100;
/** Deliveries that start within this time are leased ahead, half of what one may wait for its turn (`start-attempts.ts`). */
const aheadMs = 500;
/** Idle webhooks whose limits are remembered, about 100 bytes each. */
const rememberedMax = 20_000;

type Attempt = { receiver: Receiver; startedAt: number; isFresh: boolean; isSlow: boolean };

/** How many more deliveries may be leased. */
export type Room = {
  total: number;
  /** For a webhook that is not listed: the share of this process in `perWebhook`, and at most `atFirst`. */
  perWebhook: number;
  atFirst: number;
  place: number;
  workers: number;
  byWebhook: Record<string, number>;
};

/** Ends the count that returned it. Call it once. */
type End = () => void;

export class InFlight {
  /** Called when more may be leased, after nothing could be. */
  onRoom = () => {};
  /** Called when a webhook may have room for an attempt. */
  onWebhookRoom: (webhookId: string) => void = () => {};
  readonly #remembered = new LRUCache<string, Receiver>({ max: rememberedMax });
  /** Receivers that have attempts under way or waiting. */
  readonly #active = new Map<string, Receiver>();
  /** At most half of all attempts are slow ones. */
  readonly #slowRoom = new SlowRoom(inFlightMax / 2);
  readonly #attempts = new Set<Attempt>();
  #blocked = new Set<string>();
  #share = { place: 0, workers: 1 };
  #held = 0;
  #waiting = 0;
  #fresh = 0;
  #ageing: NodeJS.Timeout | undefined;
  /** Whether a caller of `room` was told that nothing may be leased. */
  #isFull = false;

  /** Attempts that wait for a response. */
  total(): number {
    return this.#attempts.size;
  }

  room(): Room {
    const byWebhook: Record<string, number> = {};
    for (const receiver of this.#active.values()) byWebhook[receiver.id] = this.#leasable(receiver);
    this.#slowRoom.share(byWebhook, (receiver) => this.#leasable(receiver));
    for (const id of this.#blocked) byWebhook[id] = 0;
    const total = this.#totalRoom();
    if (total === 0) this.#isFull = true;
    const limits = { perWebhook: inFlightPerWebhookMax, atFirst: limitAtFirst };
    return { total, ...limits, ...this.#share, byWebhook };
  }

  /** How many attempts of this webhook may start now. */
  roomOf(webhookId: string): number {
    const receiver = this.#find(webhookId);
    if (receiver) return Math.max(this.#startable(receiver) - receiver.waiting, 0);
    return this.#blocked.has(webhookId) ? 0 : Math.min(limitAtFirst, this.#shareOf(webhookId));
  }

  /** Counts a leased delivery until it is recorded. */
  hold(): End {
    this.#held += 1;
    return () => {
      this.#held -= 1;
      this.#announceRoom();
    };
  }

  /** Counts a leased delivery that waits for its webhook's turn. */
  wait(webhookId: string, owner: string): End {
    const receiver = this.#findOrAdd(webhookId, owner);
    receiver.waiting += 1;
    this.#waiting += 1;
    this.#track(receiver);
    return () => {
      receiver.waiting -= 1;
      this.#waiting -= 1;
      this.#track(receiver);
      this.#announceRoom();
    };
  }

  /** Counts an attempt until its response; returns null if the webhook has no room. */
  start(webhookId: string, owner: string): End | null {
    const receiver = this.#findOrAdd(webhookId, owner);
    return this.#startable(receiver) > 0 ? this.#begin(receiver) : null;
  }

  /** The same for a test, which only the most that a webhook may have under way can refuse. */
  startTest(webhookId: string, owner: string): End | null {
    const receiver = this.#findOrAdd(webhookId, owner);
    return receiver.inFlight < inFlightPerWebhookMax ? this.#begin(receiver) : null;
  }

  /** Sets how many processes deliver, and this one's place among them. */
  setShare(place: number, workers: number): void {
    this.#share = { place, workers };
  }

  /** Whether no other process delivers. */
  isAlone(): boolean {
    return this.#share.workers === 1;
  }

  /** Sets the webhooks that get no attempts, because their health cannot be written. */
  setBlocked(webhookIds: string[]): void {
    this.#blocked = new Set(webhookIds);
  }

  #find(id: string): Receiver | undefined {
    return this.#active.get(id) ?? this.#remembered.get(id);
  }

  #findOrAdd(id: string, owner: string): Receiver {
    let receiver = this.#find(id);
    if (!receiver) {
      receiver = {
        id,
        owner,
        latencyMs: 0,
        limit: limitAtFirst,
        inFlight: 0,
        waiting: 0,
        isSlow: false,
      };
      this.#remembered.set(id, receiver);
    }
    return receiver;
  }

  #shareOf(id: string): number {
    const { place, workers } = this.#share;
    // As `webhook_share` computes it.
    return Math.floor(
      (inFlightPerWebhookMax + ((place + Number.parseInt(id.slice(-6), 16)) % workers)) / workers,
    );
  }

  #startable({ id, owner, isSlow, limit, inFlight }: Receiver): number {
    if (this.#blocked.has(id) || this.#attempts.size >= inFlightMax) return 0;
    if (isSlow && !this.#slowRoom.isFree(owner)) return 0;
    return Math.max(Math.min(limit, this.#shareOf(id)) - inFlight, 0);
  }

  /** A quick webhook at its limit gets its next deliveries before its running attempts end. */
  #leasable(receiver: Receiver): number {
    const { id, latencyMs, isSlow, limit, inFlight, waiting } = receiver;
    if (this.#blocked.has(id) || (isSlow && this.#startable(receiver) === 0)) return 0;
    const most = this.#shareOf(id);
    const soon = Math.min(inFlightPerWebhookMax, Math.floor((most * aheadMs) / latencyMs));
    const ahead = isSlow || limit < most ? 0 : soon;
    return Math.max(Math.min(limit, most) + ahead - inFlight - waiting, 0);
  }

  #totalRoom(): number {
    const inFlight = this.#attempts.size;
    const most = Math.min(
      Math.min(freshMax - this.#fresh, inFlightMax - inFlight) - this.#waiting,
      heldMax - this.#held,
    );
    return most < roomMin ? 0 : most;
  }

  #announceRoom(): void {
    if (!this.#isFull || this.#totalRoom() === 0) return;
    this.#isFull = false;
    this.onRoom();
  }

  #begin(receiver: Receiver): End {
    const startedAt = performance.now();
    const attempt: Attempt = { receiver, startedAt, isFresh: true, isSlow: false };
    this.#attempts.add(attempt);
    this.#fresh += 1;
    receiver.inFlight += 1;
    this.#track(receiver);
    // Counts at once: a receiver that was slow a moment ago is likely to be slow again.
    this.#markSlow(attempt, receiver.isSlow);
    this.#ageing ??= setInterval(() => this.#age(), freshMs).unref();
    return () => this.#end(attempt);
  }

  #end(attempt: Attempt): void {
    const { receiver, startedAt } = attempt;
    this.#attempts.delete(attempt);
    this.#endFresh(attempt);
    this.#markSlow(attempt, false);
    const tookMs = performance.now() - startedAt;
    this.#slowRoom.mark(receiver, tookMs > slowMs);
    receiver.latencyMs = tookMs;
    receiver.limit = Math.min(receiver.limit + 1, limitAt(tookMs));
    receiver.inFlight -= 1;
    this.#track(receiver);
    this.onWebhookRoom(receiver.id);
    this.#announceRoom();
  }

  /** Looks at all attempts, because there are at most a thousand. */
  #age(): void {
    const now = performance.now();
    for (const attempt of this.#attempts) {
      const { receiver, startedAt } = attempt;
      const ageMs = now - startedAt;
      if (ageMs > freshMs) this.#endFresh(attempt);
      if (ageMs <= slowMs) continue;
      this.#markSlow(attempt, true);
      if (!receiver.isSlow) this.#slowRoom.mark(receiver, true);
      receiver.limit = Math.min(receiver.limit, limitAt(ageMs));
    }
    this.#announceRoom();
    if (this.#attempts.size > 0) return;
    clearInterval(this.#ageing);
    this.#ageing = undefined;
  }

  #endFresh(attempt: Attempt): void {
    if (attempt.isFresh) this.#fresh -= 1;
    attempt.isFresh = false;
  }

  #markSlow(attempt: Attempt, isSlow: boolean): void {
    if (attempt.isSlow === isSlow) return;
    attempt.isSlow = isSlow;
    this.#slowRoom.count(attempt.receiver.owner, isSlow ? 1 : -1);
  }

  #track(receiver: Receiver): void {
    if (receiver.inFlight + receiver.waiting > 0) this.#active.set(receiver.id, receiver);
    else this.#active.delete(receiver.id);
  }
}
