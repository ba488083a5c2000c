/**
 * Counts the requests of keys, or of apps over all their keys, over all API processes. While this process is the only one, it counts in its memory. With
 * others it admits only requests that it has leased from the database, and leases more in the background before they run
 * out, so a request waits only if it is the first of its key's minute here, or one of many at once. While the database is
 * away, it counts in its memory and reports that later. Why: docs/decisions/0040-limits-of-callers.md.
 */
import { setTimeout as wait } from 'node:timers/promises';
import {
  deleteEndedWindows,
  leaseRequests,
  type Lease,
  type LeaseRequest,
} from '../../access/rate-windows.ts';
import type { Database } from '../../database/database.ts';
import type { ApiProcesses } from '../../system/api-processes.ts';
import { minuteMs, type Usage } from './rate-limit.ts';

export type KeyCounterDependencies = {
  database: Database;
  apiProcesses: Pick<ApiProcesses, 'isAlone' | 'onCompany'>;
};

type Window = {
  keyId: string;
  /** Requests admitted here. */
  count: number;
  /** The part of `count` that the database knows, and the leased requests that are left. */
  leased: number;
  /** Requests that other processes had leased at the last lease. */
  others: number;
  isUsedUp: boolean;
  /** By this process's clock. */
  resetAt: number;
  /** Null until the first lease. */
  id: number | null;
  waiting: ((usage: Usage) => void)[];
};

/** If a request waits longer, the database counts as away: pages are not served from memory for longer either. */
export const patienceMs = 1_000;
const retryMs = 500;
/** Keys in one statement. */
const batchMax = 1_000;
const deleteEveryMs = 3_600_000;

/** Ids of apps do as well: they differ from those of keys. */
export class KeyCounter {
  readonly #perMinute: number;
  readonly #database: Database;
  readonly #apiProcesses: KeyCounterDependencies['apiProcesses'];
  /** Requests in one lease. */
  readonly #chunk: number;
  readonly #windows = new Map<string, Window>();
  readonly #toLease = new Set<Window>();
  #isLeasing = false;
  #databaseIsAway = false;
  #cleansAt = 0;
  #deletesAt = 0;

  constructor(perMinute: number, { database, apiProcesses }: KeyCounterDependencies) {
    this.#perMinute = perMinute;
    this.#database = database;
    this.#apiProcesses = apiProcesses;
    this.#chunk = Math.floor(perMinute / 100);
    // Until now they were counted in memory only.
    apiProcesses.onCompany(() => {
      for (const window of this.#windows.values())
        if (window.count > window.leased) this.#lease(window);
    });
  }

  count(keyId: string): Usage | Promise<Usage> {
    const window = this.#find(keyId);
    if (this.#apiProcesses.isAlone()) return this.#countAlone(window);
    if (this.#databaseIsAway) {
      this.#lease(window);
      return this.#countAlone(window);
    }
    if (window.count < window.leased) return this.#countLeased(window);
    if (window.isUsedUp) return this.#usageOf(window, true);
    return this.#countLater(window);
  }

  /** For a request that was admitted here and refused elsewhere. */
  giveBack(keyId: string, { resetAt }: Usage): void {
    const window = this.#windows.get(keyId);
    // A lease may move the end a little; another minute ends much later.
    const isSameMinute = window && Math.abs(window.resetAt - resetAt) < minuteMs / 2;
    if (isSameMinute && window.count > 0) window.count -= 1;
  }

  #find(keyId: string): Window {
    const now = Date.now();
    if (now >= this.#cleansAt) this.#clean(now);
    let window = this.#windows.get(keyId);
    if (!window) this.#windows.set(keyId, (window = newWindow(keyId)));
    // A window that ends later than in a minute began before the clock was set back.
    if (window.resetAt <= now || window.resetAt > now + minuteMs)
      Object.assign(window, startOf(now));
    return window;
  }

  #clean(now: number): void {
    this.#cleansAt = now + minuteMs;
    // A window that ended this long ago is in no lease.
    for (const [keyId, { resetAt }] of this.#windows)
      if (resetAt <= now - minuteMs) this.#windows.delete(keyId);
  }

  #countAlone(window: Window): Usage {
    const exceeded = window.others + window.count >= this.#perMinute;
    if (!exceeded) window.count += 1;
    return this.#usageOf(window, exceeded);
  }

  #countLeased(window: Window): Usage {
    window.count += 1;
    if (this.#needsLease(window)) this.#lease(window);
    return this.#usageOf(window, false);
  }

  #countLater(window: Window): Promise<Usage> {
    this.#lease(window);
    return new Promise((resolve) => {
      const patience = setTimeout(() => this.#startCountingAlone(), patienceMs);
      window.waiting.push((usage) => {
        clearTimeout(patience);
        resolve(usage);
      });
    });
  }

  #usageOf({ others, count, resetAt }: Window, exceeded: boolean): Usage {
    return { remaining: Math.max(0, this.#perMinute - others - count), exceeded, resetAt };
  }

  /** Half a chunk is left for the requests that arrive during a lease. Of a small limit nothing is leased in advance. */
  #needsLease({ isUsedUp, leased, count }: Window): boolean {
    const reserve = this.#chunk === 0 ? -1 : this.#chunk / 2;
    return !isUsedUp && leased - count <= reserve;
  }

  #lease(window: Window): void {
    this.#toLease.add(window);
    if (!this.#isLeasing) void this.#leaseAll();
  }

  async #leaseAll(): Promise<void> {
    this.#isLeasing = true;
    while (this.#toLease.size > 0) {
      const batch = [...this.#toLease].slice(0, batchMax);
      for (const window of batch) this.#toLease.delete(window);
      try {
        await this.#leaseBatch(batch);
        this.#databaseIsAway = false;
        this.#cleanDatabase();
      } catch {
        this.#startCountingAlone();
        const now = Date.now();
        for (const window of batch) if (window.resetAt > now) this.#toLease.add(window);
        await wait(retryMs, undefined, { ref: false });
      }
    }
    this.#isLeasing = false;
  }

  async #leaseBatch(batch: Window[]): Promise<void> {
    const requests = batch.map((window) => this.#requestOf(window));
    const leases = await leaseRequests(this.#database, this.#perMinute, requests);
    const byKey = new Map(leases.map((each) => [each.keyId, each]));
    for (const [index, { keyId, debt }] of requests.entries()) {
      const [window, received] = [batch[index], byKey.get(keyId)];
      if (window && received) this.#receive(window, debt, received);
    }
  }

  #requestOf({ keyId, count, leased, waiting, resetAt }: Window): LeaseRequest {
    const debt = Math.max(0, count - leased);
    return {
      keyId,
      debt,
      wanted: Math.max(1, this.#chunk - Math.max(0, leased - count) + waiting.length),
      // A debt belongs to the minute in which it was made.
      leftMs: debt > 0 ? Math.max(1, resetAt - Date.now()) : minuteMs,
    };
  }

  #receive(window: Window, debt: number, { granted, used, windowId, leftMs }: Lease): void {
    if (window.id !== windowId) {
      // Another minute has begun: leased requests of the last one are gone, and those admitted with them don't count.
      window.count = Math.max(0, window.count - window.leased);
      window.leased = 0;
    }
    window.leased += Math.min(debt, window.count) + granted;
    window.others = used - window.leased;
    window.isUsedUp = granted === 0;
    // The database's clock may have been set back.
    window.resetAt = Date.now() + Math.min(leftMs, minuteMs);
    window.id = windowId;
    this.#admitWaiting(window);
  }

  #admitWaiting(window: Window): void {
    const { waiting } = window;
    window.waiting = [];
    for (const resolve of waiting)
      if (window.count < window.leased) resolve(this.#countLeased(window));
      else if (window.isUsedUp) resolve(this.#usageOf(window, true));
      else window.waiting.push(resolve);
    if (window.waiting.length > 0 || this.#needsLease(window)) this.#lease(window);
  }

  #startCountingAlone(): void {
    this.#databaseIsAway = true;
    for (const window of this.#windows.values()) {
      for (const resolve of window.waiting) resolve(this.#countAlone(window));
      window.waiting = [];
    }
  }

  /** No lease waits for it. */
  #cleanDatabase(): void {
    if (Date.now() < this.#deletesAt) return;
    this.#deletesAt = Date.now() + deleteEveryMs;
    void deleteEndedWindows(this.#database).catch(() => {});
  }
}

function newWindow(keyId: string): Window {
  return { keyId, waiting: [], ...startOf(Date.now()) };
}

function startOf(now: number) {
  return { count: 0, leased: 0, others: 0, isUsedUp: false, resetAt: now + minuteMs, id: null };
}
