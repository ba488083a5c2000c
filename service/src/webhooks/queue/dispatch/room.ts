/**
 * Decides how many attempts may be in flight in this process. The rule is in the worker's guide, under "Isolation". Counts
 * only: the dispatcher asks before it leases, `start-attempts.ts` before it sends.
 */
import { LRUCache } from 'lru-cache';
import type { Deliverable } from '../../sending/deliverable.ts';
import { urlHost } from '../../sending/url-host.ts';

/** Over all processes that deliver, including the tests that they send: docs/reference/errors-and-limits.md#webhooks-and-deliveries */
export const perWebhookMax = 8;
/** What a webhook may have in flight until its first attempt has ended. */
export const atFirstMax = 2;
/**
 * What a quick webhook may have in flight in a crowded process, if it has answered within the last second; otherwise 1. None
 * while one of its attempts is late.
 */
export const whenCrowdedMax = perWebhookMax / 2;
/** An attempt is late if it has been in flight for twice as long as the last one and this much more. */
const lateMs = 250;
/** A webhook whose last attempt took longer is slow. */
export const slowMs = 1_000;
const aheadMs = 100;
/** Attempts that wait for a response, of webhooks of any speed. Each costs a socket and some tens of kilobytes. */
const openMax = 1024;
/** For slow webhooks alone: quick ones that fall silent together hold all other room until their deadline. */
export const keptForSlow = openMax / 8;
export const attemptsMax = openMax + keptForSlow;
/** By what is known of its webhook, an attempt may start while fewer than this many are slow; a quick one, while fewer are in flight. */
export const startsBelow = {
  stuck: openMax * 0.5,
  unknown: openMax * 0.625,
  slow: openMax * 0.75,
  quick: openMax,
};
/** From here on quick webhooks get `whenCrowdedMax`. */
const crowdedFrom = startsBelow.unknown;
/**
 * The share of what is not slow up to which is leased: at least the quarter that a lease needs is left to backlogs next to
 * broadcasts, and to new events next to both.
 */
const leasedBelow = { event: 1, parked: 0.75, broadcast: 0.5 } satisfies Record<Work, number>;
/**
 * What has had no room for this long, and has few deliveries in flight, may lease up to the whole once, and the others less
 * than that: they may go on like this for hours.
 */
export const leaseWaitMs = 250;
const few = openMax / 16;
const leasedBelowNext = 0.75;
export const slowPerOwnerMax = openMax / 8;
export const slowPerHostMax = openMax / 4;
/** Leased deliveries that are not recorded yet, so that an unavailable database does not fill the memory. */
const heldMax = 2 * openMax;
/** How often attempts that have become slow are looked for. */
const ageMs = 100;
/** What this process saw of a webhook longer ago than this may be older than what the database knows. */
const trustedMs = 5_000;
/** Idle webhooks that are remembered, about 200 bytes each. */
const rememberedMax = 20_000;

/** `stuck`: the last attempt took more than half of the deadline, or the webhook has fallen silent. */
export type Speed = keyof typeof startsBelow;

/** What is leased for: events as they are fanned out, slices of broadcasts, or what is parked. */
export type Work = 'event' | 'parked' | 'broadcast';

type Receiver = {
  id: string;
  /** How long its last attempt took; null if none has ended. */
  latencyMs: number | null;
  endedAt: number;
  /** Of the last delivery, for the limits of slow attempts. */
  owner: string;
  host: string;
  /** Its attempts in flight, in the order in which they started. */
  running: Set<Place>;
  /** Its leased deliveries that have not started. */
  waiting: number;
  /** Chat channels get one message at a time, so that the response to each can hold back the next. */
  isChat: boolean;
  /** By `performance.now()`: its platform gets nothing before. */
  closedUntil: number;
};

/** What a fan-out may lease. */
export type LeaseRoom = {
  /** Deliveries of webhooks whose last attempt was quick. */
  total: number;
  /** Deliveries of webhooks that have not been called yet. */
  unknown: number;
  /** The most for a quick webhook, over all processes, and for an unknown one. */
  perWebhook: number;
  atFirst: number;
  place: number;
  workers: number;
  /** Webhooks that get none. */
  full: string[];
};

type Taken = Pick<Deliverable, 'webhookId' | 'owner' | 'url' | 'latencyMs'> &
  Partial<Pick<Deliverable, 'chat'>>;

/** A leased delivery, from its lease until it is recorded. */
export type Place = {
  readonly receiver: Receiver;
  readonly owner: string;
  readonly host: string;
  readonly work: Work;
  state: 'waiting' | 'running' | 'ended' | 'released';
  startedAt: number;
  isSlow: boolean;
  /** Whether its webhook was slow when it was leased, and later when it started. */
  isOfSlow: boolean;
};

export class Room {
  /** Called with a quick webhook that may have room for another attempt, and with null when more may be leased, after nothing could be. */
  onRoom: (webhookId: string | null) => void = () => {};
  readonly #stuckMs: number;
  readonly #remembered = new LRUCache<string, Receiver>({ max: rememberedMax });
  /** Receivers that have deliveries in flight or waiting. */
  readonly #active = new Map<string, Receiver>();
  readonly #running = new Set<Place>();
  #slow = 0;
  /** Of webhooks that were slow: attempts in flight, and leased deliveries that have not started. */
  #ofSlow = 0;
  #waitingOfSlow = 0;
  readonly #slowByOwner = new Map<string, number>();
  readonly #slowByHost = new Map<string, number>();
  #blocked = new Set<string>();
  #share = { place: 0, workers: 1 };
  #waiting = 0;
  #ageing: NodeJS.Timeout | undefined;
  /** What callers were told may not be leased. */
  readonly #full = new Set<Work>();
  /** When somebody first asked in vain for room, since there last was some. */
  readonly #waitsSince: Record<Work, number> = {
    event: Infinity,
    parked: Infinity,
    broadcast: Infinity,
  };
  readonly #heldOf: Record<Work, number> = { event: 0, parked: 0, broadcast: 0 };

  constructor({ timeoutMs }: { timeoutMs: number }) {
    this.#stuckMs = timeoutMs / 2;
  }

  /** Attempts that wait for a response. */
  total(): number {
    return this.#running.size;
  }

  /** How many deliveries may be leased. `isWaiting`: whether there are any. */
  free(work: Work, isWaiting = true): number {
    const free = this.#free(work);
    if (free === 0) this.#full.add(work);
    const isInVain = isWaiting && free === 0;
    this.#waitsSince[work] = isInVain
      ? Math.min(this.#waitsSince[work], performance.now())
      : Infinity;
    return free;
  }

  forFanOut(total: number): LeaseRoom {
    const full = [...this.#blocked];
    for (const receiver of this.#active.values())
      if (this.#leasable(receiver) <= 0) full.push(receiver.id);
    const unknown = Math.max(Math.min(total, this.freeFor('unknown')), 0);
    const most = { perWebhook: perWebhookMax, atFirst: atFirstMax };
    return { total, unknown, ...most, ...this.#share, full };
  }

  /** How many deliveries of this webhook may be leased. */
  leasable(webhookId: string): number {
    return Math.max(this.#leasable(this.#find(webhookId) ?? unknownReceiver(webhookId)), 0);
  }

  speedOf(webhookId: string): Speed {
    return this.#speedOf(this.#find(webhookId) ?? unknownReceiver(webhookId));
  }

  /** Whether it answers so quickly that its deliveries may be leased ahead. */
  isPrompt(webhookId: string): boolean {
    const receiver = this.#find(webhookId);
    if (!receiver || this.#speedOf(receiver) !== 'quick') return false;
    return Math.max(receiver.latencyMs ?? Infinity, unansweredMs(receiver)) <= aheadMs;
  }

  /** Whether `close` keeps it from starting attempts now. */
  isClosed(webhookId: string): boolean {
    return performance.now() < (this.#find(webhookId)?.closedUntil ?? -Infinity);
  }

  /** How many attempts of webhooks of that speed may start. */
  freeFor(speed: Speed): number {
    if (speed === 'quick') return this.#open() - this.#running.size;
    const free = startsBelow[speed] - this.#slow;
    return speed === 'slow' ? Math.max(free, this.#unusedBySlow()) : free;
  }

  /** How many deliveries of slow webhooks may be leased although nothing else may be; less than a quarter counts as nothing. */
  freeForSlow(): number {
    const free = Math.min(this.#unusedBySlow() - this.#waitingOfSlow, this.#freeToHold());
    return free < keptForSlow / 4 ? 0 : free;
  }

  /** Counts a leased delivery. */
  take({ webhookId, owner, url, latencyMs, chat }: Taken, work: Work = 'event'): Place {
    const receiver = this.#find(webhookId) ?? unknownReceiver(webhookId);
    const isOwnOld = performance.now() - receiver.endedAt > trustedMs;
    if (receiver.running.size === 0 && isOwnOld) receiver.latencyMs = latencyMs;
    const host = urlHost(url);
    receiver.owner = owner;
    receiver.host = host;
    receiver.isChat = Boolean(chat);
    this.#remembered.set(webhookId, receiver);
    this.#heldOf[work] += 1;
    this.#wait(receiver, 1);
    const isOfSlow = this.#speedOf(receiver) === 'slow';
    if (isOfSlow) this.#waitingOfSlow += 1;
    return {
      receiver,
      owner,
      host,
      work,
      state: 'waiting',
      startedAt: 0,
      isSlow: false,
      isOfSlow,
    };
  }

  /** Counts a test that somebody waits for, which only the most that a webhook may have in flight can refuse. */
  takeTest(taken: Omit<Taken, 'latencyMs'>): Place | null {
    const receiver = this.#find(taken.webhookId);
    if (receiver && receiver.running.size >= perWebhookMax) return null;
    const place = this.take({ ...taken, latencyMs: receiver?.latencyMs ?? null });
    this.start(place, true);
    return place;
  }

  /** Starts no attempts of a webhook for this long. Returns false if it may be forgotten before, because there are too many. */
  close(webhookId: string, ms: number): boolean {
    const receiver = this.#find(webhookId) ?? unknownReceiver(webhookId);
    receiver.closedUntil = Math.max(receiver.closedUntil, performance.now() + ms);
    this.#remembered.set(webhookId, receiver);
    return this.#remembered.size < rememberedMax;
  }

  /** Ends what `close` began. */
  open(webhookId: string): void {
    const receiver = this.#find(webhookId);
    if (receiver) receiver.closedUntil = -Infinity;
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

  /** Counts the attempt as in flight; returns false if there is no room for it. `always`: whether there is or not. */
  start(place: Place, always = false): boolean {
    const { receiver } = place;
    const speed = this.#speedOf(receiver);
    const most = speed === 'slow' ? attemptsMax : this.#open();
    const mayStart = this.#running.size < most && receiver.running.size < this.#limit(receiver);
    if (!mayStart && !always) return false;
    place.state = 'running';
    if (place.isOfSlow) this.#waitingOfSlow -= 1;
    place.isOfSlow = speed === 'slow';
    if (place.isOfSlow) this.#ofSlow += 1;
    place.startedAt = performance.now();
    this.#running.add(place);
    receiver.running.add(place);
    this.#wait(receiver, -1);
    this.#countSlow(place, speed !== 'quick');
    this.#ageing ??= setInterval(() => this.#age(), ageMs).unref();
    return true;
  }

  /** Whether it may wait until an attempt of the same webhook ends. */
  mayWait({ receiver }: Place): boolean {
    return this.#limit(receiver) > 0 && this.#speedOf(receiver) === 'quick';
  }

  /** The attempt, if there was one, has ended. */
  end(place: Place): void {
    if (place.state !== 'running') return;
    const { receiver, startedAt } = place;
    place.state = 'ended';
    this.#running.delete(place);
    receiver.running.delete(place);
    if (place.isOfSlow) this.#ofSlow -= 1;
    this.#countSlow(place, false);
    receiver.endedAt = performance.now();
    receiver.latencyMs = receiver.endedAt - startedAt;
    this.#track(receiver);
    if (this.#speedOf(receiver) === 'quick') this.onRoom(receiver.id);
    this.#announceRoom();
  }

  /** The delivery is recorded. */
  release(place: Place): void {
    this.end(place);
    if (place.state === 'released') return;
    if (place.state === 'waiting') {
      this.#wait(place.receiver, -1);
      if (place.isOfSlow) this.#waitingOfSlow -= 1;
    }
    place.state = 'released';
    this.#heldOf[place.work] -= 1;
    this.#announceRoom();
  }

  /** Less than a quarter of what is not slow counts as nothing, because a small lease costs as much as a large one. */
  #free(work: Work): number {
    const slow = Math.min(this.#slow, startsBelow.slow - this.#unusedBySlow());
    const notSlow = this.#open() - slow;
    const next = this.#next();
    let share = leasedBelow[work];
    if (next) share = work === next ? 1 : Math.min(share, leasedBelowNext);
    const most = slow + notSlow * share;
    const free = Math.min(most - this.#running.size - this.#waiting, this.#freeToHold());
    return free < notSlow / 4 ? 0 : Math.floor(free);
  }

  #freeToHold(): number {
    return heldMax - Object.values(this.#heldOf).reduce((sum, each) => sum + each);
  }

  /** Of what is kept for slow webhooks. */
  #unusedBySlow(): number {
    return Math.max(keptForSlow - this.#ofSlow, 0);
  }

  /** How many attempts may be in flight before one of a webhook that is not slow starts. */
  #open(): number {
    return attemptsMax - this.#unusedBySlow();
  }

  /** What has waited for too long, and of these the longest. */
  #next(): Work | undefined {
    const before = performance.now() - leaseWaitMs;
    let next: Work | undefined;
    for (const work of ['event', 'parked', 'broadcast'] as const) {
      const since = this.#waitsSince[work];
      if (since > before || this.#heldOf[work] >= few) continue;
      if (next === undefined || since < this.#waitsSince[next]) next = work;
    }
    return next;
  }

  /** How many attempts this webhook may have in flight now. */
  #limit(receiver: Receiver): number {
    if (this.#blocked.has(receiver.id) || isSilent(receiver)) return 0;
    if (performance.now() < receiver.closedUntil) return 0;
    const most = receiver.isChat ? 1 : limitByLatency(receiver);
    const limit = Math.min(most, this.#shareOf(receiver.id));
    const speed = this.#speedOf(receiver);
    if (speed !== 'quick')
      return Math.min(limit, receiver.running.size + this.#slowFree(receiver, speed));
    if (this.#running.size < crowdedFrom) return limit;
    const hasAnswered = performance.now() - receiver.endedAt < slowMs;
    return isLate(receiver) ? 0 : Math.min(limit, hasAnswered ? whenCrowdedMax : 1);
  }

  /** A quick webhook gets what it answers within `aheadMs` on top, which waits for its turn: its next attempt waits for no statement. */
  #leasable(receiver: Receiver): number {
    const limit = this.#limit(receiver);
    // The response to a chat channel's message may hold back the next.
    const mayBeAhead = this.#speedOf(receiver) === 'quick' && !receiver.isChat;
    const isAhead = mayBeAhead && this.#running.size < crowdedFrom;
    const soon = Math.ceil((limit * aheadMs) / Math.max(receiver.latencyMs ?? aheadMs, 1));
    const ahead = isAhead ? Math.min(soon, perWebhookMax) : 0;
    return limit + ahead - receiver.running.size - receiver.waiting;
  }

  #speedOf(receiver: Receiver): Speed {
    if (receiver.latencyMs === null) return 'unknown';
    const ms = Math.max(receiver.latencyMs, unansweredMs(receiver));
    if (isSilent(receiver) || ms > this.#stuckMs) return 'stuck';
    return ms > slowMs ? 'slow' : 'quick';
  }

  #slowFree({ owner, host }: Receiver, speed: Speed): number {
    return Math.min(
      this.freeFor(speed),
      slowPerOwnerMax - (this.#slowByOwner.get(owner) ?? 0),
      slowPerHostMax - (this.#slowByHost.get(host) ?? 0),
    );
  }

  #countSlow(place: Place, isSlow: boolean): void {
    if (place.isSlow === isSlow) return;
    place.isSlow = isSlow;
    const by = isSlow ? 1 : -1;
    this.#slow += by;
    add(this.#slowByOwner, place.owner, by);
    add(this.#slowByHost, place.host, by);
  }

  #age(): void {
    const slowBefore = performance.now() - slowMs;
    for (const place of this.#running) {
      if (place.startedAt > slowBefore) break;
      this.#countSlow(place, true);
    }
    this.#announceRoom();
    if (this.#running.size > 0) return;
    clearInterval(this.#ageing);
    this.#ageing = undefined;
  }

  #announceRoom(): void {
    for (const work of this.#full) {
      if (this.#free(work) === 0) continue;
      this.#full.delete(work);
      this.onRoom(null);
    }
  }

  #find(id: string): Receiver | undefined {
    return this.#active.get(id) ?? this.#remembered.get(id);
  }

  #wait(receiver: Receiver, by: 1 | -1): void {
    receiver.waiting += by;
    this.#waiting += by;
    this.#track(receiver);
  }

  #track(receiver: Receiver): void {
    if (receiver.running.size + receiver.waiting > 0) this.#active.set(receiver.id, receiver);
    else this.#active.delete(receiver.id);
  }

  #shareOf(id: string): number {
    const { place, workers } = this.#share;
    // As `webhook_share` computes it.
    const turn = (place + Number.parseInt(id.slice(-6), 16)) % workers;
    return Math.floor((perWebhookMax + turn) / workers);
  }
}

function unknownReceiver(id: string): Receiver {
  const running = new Set<Place>();
  return {
    id,
    latencyMs: null,
    endedAt: -Infinity,
    owner: '',
    host: '',
    running,
    waiting: 0,
    isChat: false,
    closedUntil: -Infinity,
  };
}

/** As many as it answers within `perWebhookMax` seconds. */
function limitByLatency(receiver: Receiver): number {
  if (receiver.latencyMs === null) return atFirstMax;
  const ms = Math.max(receiver.latencyMs, unansweredMs(receiver));
  return Math.max(Math.min(Math.floor((perWebhookMax * slowMs) / ms), perWebhookMax), 1);
}

/** How long its oldest attempt has been in flight. */
function unansweredMs({ running }: Receiver): number {
  const [first] = running;
  return first ? performance.now() - first.startedAt : 0;
}

/** The same if nothing has ended since that attempt began, otherwise 0. */
function silentMs(receiver: Receiver): number {
  const [first] = receiver.running;
  return first && receiver.endedAt < first.startedAt ? unansweredMs(receiver) : 0;
}

function isLate(receiver: Receiver): boolean {
  return silentMs(receiver) > 2 * (receiver.latencyMs ?? 0) + lateMs;
}

function isSilent(receiver: Receiver): boolean {
  return silentMs(receiver) > Math.max(slowMs, 2 * (receiver.latencyMs ?? 0));
}

function add(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}
