/**
 * Counts the attempts under way in this process and says how many more may start: for each webhook, for each owner, and
 * in total. What a webhook may have under way follows its latency, for successes as well, so slow receivers cannot fill
 * the process. Counts only; `fan-out.ts` and `claim.ts` ask before they lease, `start-attempts.ts` before it sends.
 */
import { LRUCache } from 'lru-cache';

/** Over all processes that deliver, including the tests that they send: docs/reference/errors-and-limits.md#webhooks-and-deliveries */
export const inFlightPerWebhookMax = 8;
/** A quick webhook gets its next deliveries before its running attempts end. */
const aheadMax = 8;
/** Attempts that wait for a response. Each costs a socket and some tens of kilobytes. */
const inFlightMax = 1024;
/** At most half of them are slow ones, and at most an eighth are slow ones of one owner. */
const slowMax = inFlightMax / 2;
const slowPerOwnerMax = inFlightMax / 8;
/** Running attempts, those that wait for their webhook's turn, and those that wait to be recorded. */
const heldMax = 2048;
/** Attempts younger than `freshMs`. This many fast ones keep a process busy; more would only wait and hold memory. */
const freshMax = 768;
/** Nothing is leased while there is less room than this, because a small lease costs as much as a large one. */
const roomMin = 256;
/** An attempt that is older than this waits for its receiver, not for our processor. */
const freshMs = 100;
/** A receiver that takes longer than this is slow. It may have as many attempts under way as it answers in this time. */
const slowMs = 1_000;
/** A webhook about which nothing is known starts with this many, and gains one with each quick response. */
const limitAtFirst = 2;
/** Idle webhooks whose limits are remembered, about 100 bytes each. */
const rememberedMax = 20_000;
/** Slow webhooks that are named to each fan-out and claim, about 45 bytes each. */
const namedMax = 2_000;

type Receiver = {
  id: string;
  owner: string;
  /** What its latency allows; at most its share of `inFlightPerWebhookMax`. */
  limit: number;
  inFlight: number;
  /** Leased deliveries that wait for its turn in this process. */
  waiting: number;
  isSlow: boolean;
};

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

/** Ends what it was returned for. Call it once. */
type End = () => void;

export type InFlight = {
  /** Attempts that wait for a response. */
  total(): number;
  room(): Room;
  /** How many attempts of this webhook may start now. */
  roomOf(webhookId: string): number;
  /** Counts a leased delivery until it is recorded. */
  hold(): End;
  /** Counts a leased delivery that waits for its webhook's turn. */
  wait(webhookId: string, owner: string): End;
  /** Counts an attempt until its response; returns null if the webhook has no room. */
  start(webhookId: string, owner: string): End | null;
  /** The same for a test, which only the most that a webhook may have under way can refuse. */
  startTest(webhookId: string, owner: string): End | null;
  /** Sets the listener that is called when a webhook has room for an attempt. */
  onWebhookRoom(listener: (webhookId: string) => void): void;
  /** Sets the listener that is called when more may be leased, after nothing could be. */
  onRoom(listener: () => void): void;
  /** Sets how many processes deliver, and this one's place among them. */
  setShare(place: number, workers: number): void;
  /** Whether no other process delivers. */
  isAlone(): boolean;
  /** Sets the webhooks that get no attempts, because their health cannot be written. */
  setBlocked(webhookIds: string[]): void;
};

export function createInFlight(): InFlight {
  const remembered = new LRUCache<string, Receiver>({ max: rememberedMax });
  /** Receivers that have attempts under way or waiting. */
  const active = new Map<string, Receiver>();
  /** Slow receivers, active or not. Those that were slow longest ago come first. */
  const slowReceivers = new Map<string, Receiver>();
  const attempts = new Set<Attempt>();
  const slowByOwner = new Map<string, number>();
  let blocked = new Set<string>();
  let share = { place: 0, workers: 1 };
  let held = 0;
  let fresh = 0;
  let slow = 0;
  let waiting = 0;
  let ageing: NodeJS.Timeout | undefined;
  /** Whether somebody was told that nothing may be leased. */
  let isFull = false;
  let onRoom = () => {};
  let onWebhookRoom: (webhookId: string) => void = () => {};

  function receiverOf(id: string, owner: string): Receiver {
    let receiver = active.get(id) ?? remembered.get(id);
    if (!receiver) {
      receiver = { id, owner, limit: limitAtFirst, inFlight: 0, waiting: 0, isSlow: false };
      remembered.set(id, receiver);
    }
    return receiver;
  }

  function shareOf(id: string): number {
    const { place, workers } = share;
    // As `webhook_share` computes it.
    return Math.floor(
      (inFlightPerWebhookMax + ((place + Number.parseInt(id.slice(-6), 16)) % workers)) / workers,
    );
  }

  function mayBeSlow(owner: string): boolean {
    return slow < slowMax && (slowByOwner.get(owner) ?? 0) < slowPerOwnerMax;
  }

  function setSlow(receiver: Receiver, isSlow: boolean): void {
    receiver.isSlow = isSlow;
    slowReceivers.delete(receiver.id);
    if (!isSlow) return;
    slowReceivers.set(receiver.id, receiver);
    const [oldest] = slowReceivers.keys();
    if (slowReceivers.size > namedMax && oldest !== undefined) slowReceivers.delete(oldest);
  }

  /** Gives the room that slow receivers have together to each in turn. */
  function shareSlowRoom(byWebhook: Record<string, number>): void {
    let left = slowMax - slow;
    const ofOwner = new Map<string, number>();
    for (const receiver of slowReceivers.values()) {
      const { id, owner } = receiver;
      const ownerLeft = ofOwner.get(owner) ?? slowPerOwnerMax - (slowByOwner.get(owner) ?? 0);
      const given = Math.max(Math.min(leasable(receiver), left, ownerLeft), 0);
      byWebhook[id] = given;
      left -= given;
      ofOwner.set(owner, ownerLeft - given);
    }
  }

  function startable(receiver: Receiver): number {
    if (blocked.has(receiver.id) || attempts.size >= inFlightMax) return 0;
    if (receiver.isSlow && !mayBeSlow(receiver.owner)) return 0;
    return Math.max(Math.min(receiver.limit, shareOf(receiver.id)) - receiver.inFlight, 0);
  }

  function leasable(receiver: Receiver): number {
    const { id, isSlow, limit, inFlight } = receiver;
    if (blocked.has(id) || (isSlow && startable(receiver) === 0)) return 0;
    const most = shareOf(id);
    const ahead = isSlow || limit < most ? 0 : aheadMax;
    return Math.max(Math.min(limit, most) + ahead - inFlight - receiver.waiting, 0);
  }

  function tellRoom(): void {
    if (!isFull || totalRoom() === 0) return;
    isFull = false;
    onRoom();
  }

  function totalRoom(): number {
    const most = Math.min(
      freshMax - fresh - waiting,
      inFlightMax - attempts.size - waiting,
      heldMax - held,
    );
    return most < roomMin ? 0 : most;
  }

  function count(attempt: Attempt, by: 1 | -1): void {
    const { receiver } = attempt;
    receiver.inFlight += by;
    if (receiver.inFlight + receiver.waiting > 0) active.set(receiver.id, receiver);
    else active.delete(receiver.id);
  }

  function markSlow(attempt: Attempt, isSlow: boolean): void {
    if (attempt.isSlow === isSlow) return;
    attempt.isSlow = isSlow;
    slow += isSlow ? 1 : -1;
    const { owner } = attempt.receiver;
    const left = (slowByOwner.get(owner) ?? 0) + (isSlow ? 1 : -1);
    if (left > 0) slowByOwner.set(owner, left);
    else slowByOwner.delete(owner);
  }

  /** Looks at all attempts, because there are at most a thousand. */
  function age(): void {
    const now = performance.now();
    for (const attempt of attempts) {
      const { receiver, startedAt } = attempt;
      const ageMs = now - startedAt;
      if (attempt.isFresh && ageMs > freshMs) {
        attempt.isFresh = false;
        fresh -= 1;
      }
      if (ageMs > slowMs) {
        markSlow(attempt, true);
        if (!receiver.isSlow) setSlow(receiver, true);
        receiver.limit = Math.min(receiver.limit, limitAt(ageMs));
      }
    }
    tellRoom();
    if (attempts.size === 0) {
      clearInterval(ageing);
      ageing = undefined;
    }
  }

  function learn({ receiver, startedAt }: Attempt): void {
    const tookMs = performance.now() - startedAt;
    if (tookMs > slowMs) {
      setSlow(receiver, true);
      receiver.limit = Math.min(receiver.limit + 1, limitAt(tookMs));
    } else {
      setSlow(receiver, false);
      receiver.limit = Math.min(receiver.limit + 1, inFlightPerWebhookMax);
    }
  }

  function end(attempt: Attempt): void {
    attempts.delete(attempt);
    if (attempt.isFresh) fresh -= 1;
    attempt.isFresh = false;
    markSlow(attempt, false);
    learn(attempt);
    count(attempt, -1);
    onWebhookRoom(attempt.receiver.id);
    tellRoom();
  }

  function room(): Room {
    const byWebhook: Record<string, number> = {};
    for (const receiver of active.values()) byWebhook[receiver.id] = leasable(receiver);
    shareSlowRoom(byWebhook);
    for (const id of blocked) byWebhook[id] = 0;
    const total = totalRoom();
    if (total === 0) isFull = true;
    return { total, perWebhook: inFlightPerWebhookMax, atFirst: limitAtFirst, ...share, byWebhook };
  }

  function start(webhookId: string, owner: string): End | null {
    const receiver = receiverOf(webhookId, owner);
    return startable(receiver) > 0 ? begin(receiver) : null;
  }

  function begin(receiver: Receiver): End {
    const attempt: Attempt = {
      receiver,
      startedAt: performance.now(),
      isFresh: true,
      isSlow: false,
    };
    attempts.add(attempt);
    fresh += 1;
    count(attempt, 1);
    // Counts at once: whoever was slow a moment ago is likely to be slow again.
    markSlow(attempt, receiver.isSlow);
    ageing ??= setInterval(age, freshMs).unref();
    return () => end(attempt);
  }

  return {
    total: () => attempts.size,
    room,
    roomOf(webhookId) {
      const receiver = active.get(webhookId) ?? remembered.get(webhookId);
      if (receiver) return Math.max(startable(receiver) - receiver.waiting, 0);
      return blocked.has(webhookId) ? 0 : Math.min(limitAtFirst, shareOf(webhookId));
    },
    hold() {
      held += 1;
      return () => {
        held -= 1;
        tellRoom();
      };
    },
    wait(webhookId, owner) {
      const receiver = receiverOf(webhookId, owner);
      receiver.waiting += 1;
      waiting += 1;
      active.set(webhookId, receiver);
      return () => {
        receiver.waiting -= 1;
        waiting -= 1;
        if (receiver.inFlight + receiver.waiting === 0) active.delete(webhookId);
        tellRoom();
      };
    },
    start,
    startTest(webhookId, owner) {
      const receiver = receiverOf(webhookId, owner);
      return receiver.inFlight < inFlightPerWebhookMax ? begin(receiver) : null;
    },
    onWebhookRoom: (listener) => void (onWebhookRoom = listener),
    onRoom: (listener) => void (onRoom = listener),
    setShare: (place, workers) => void (share = { place, workers }),
    isAlone: () => share.workers === 1,
    setBlocked: (webhookIds) => void (blocked = new Set(webhookIds)),
  };
}

function limitAt(latencyMs: number): number {
  return Math.max(Math.floor((inFlightPerWebhookMax * slowMs) / latencyMs), 1);
}
