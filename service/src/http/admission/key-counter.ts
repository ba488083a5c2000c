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
const patienceMs = 1_000;
const retryMs = 500;
/** Keys in one statement. */
const batchMax = 1_000;
const deleteEveryMs = 3_600_000;

export type KeyCounter = {
  count: (keyId: string) => Usage | Promise<Usage>;
  /** For a request that was admitted here and refused elsewhere. */
  giveBack: (keyId: string, usage: Usage) => void;
};

/** Ids of apps do as well: they differ from those of keys. */
export function createKeyCounter(
  perMinute: number,
  { database, apiProcesses }: KeyCounterDependencies,
): KeyCounter {
  const chunk = Math.max(1, Math.floor(perMinute / 100));
  const windows = new Map<string, Window>();
  const toLease = new Set<Window>();
  let isLeasing = false;
  let databaseIsAway = false;
  let cleansAt = 0;
  let deletesAt = 0;

  // Until now they were counted in memory only.
  apiProcesses.onCompany(() => {
    for (const window of windows.values()) if (window.count > window.leased) lease(window);
  });

  return {
    count(keyId) {
      const window = find(keyId);
      if (apiProcesses.isAlone()) return countAlone(window);
      if (databaseIsAway) {
        lease(window);
        return countAlone(window);
      }
      if (window.count < window.leased) return countLeased(window);
      if (window.isUsedUp) return usageOf(window, true);
      return countLater(window);
    },
    giveBack(keyId, { resetAt }) {
      const window = windows.get(keyId);
      // A lease may move the end a little; another minute ends much later.
      const isSameMinute = window && Math.abs(window.resetAt - resetAt) < minuteMs / 2;
      if (isSameMinute && window.count > 0) window.count -= 1;
    },
  };

  function find(keyId: string): Window {
    const now = Date.now();
    if (now >= cleansAt) clean(now);
    let window = windows.get(keyId);
    if (!window) windows.set(keyId, (window = newWindow(keyId)));
    // A window that ends later than in a minute began before the clock was set back.
    if (window.resetAt <= now || window.resetAt > now + minuteMs)
      Object.assign(window, startOf(now));
    return window;
  }

  function clean(now: number): void {
    cleansAt = now + minuteMs;
    // A window that ended this long ago is in no lease.
    for (const [keyId, { resetAt }] of windows)
      if (resetAt <= now - minuteMs) windows.delete(keyId);
  }

  function countAlone(window: Window): Usage {
    const exceeded = window.others + window.count >= perMinute;
    if (!exceeded) window.count += 1;
    return usageOf(window, exceeded);
  }

  function countLeased(window: Window): Usage {
    window.count += 1;
    if (needsLease(window)) lease(window);
    return usageOf(window, false);
  }

  function countLater(window: Window): Promise<Usage> {
    lease(window);
    return new Promise((resolve) => {
      const patience = setTimeout(startCountingAlone, patienceMs);
      window.waiting.push((usage) => {
        clearTimeout(patience);
        resolve(usage);
      });
    });
  }

  function usageOf({ others, count, resetAt }: Window, exceeded: boolean): Usage {
    return { remaining: Math.max(0, perMinute - others - count), exceeded, resetAt };
  }

  /** Half a chunk is left for the requests that arrive during a lease. */
  function needsLease({ isUsedUp, leased, count }: Window): boolean {
    return !isUsedUp && leased - count <= chunk / 2;
  }

  function lease(window: Window): void {
    toLease.add(window);
    if (!isLeasing) void leaseAll();
  }

  async function leaseAll(): Promise<void> {
    isLeasing = true;
    while (toLease.size > 0) {
      const batch = [...toLease].slice(0, batchMax);
      for (const window of batch) toLease.delete(window);
      try {
        await leaseBatch(batch);
        databaseIsAway = false;
        cleanDatabase();
      } catch {
        startCountingAlone();
        const now = Date.now();
        for (const window of batch) if (window.resetAt > now) toLease.add(window);
        await wait(retryMs, undefined, { ref: false });
      }
    }
    isLeasing = false;
  }

  async function leaseBatch(batch: Window[]): Promise<void> {
    const requests = batch.map(requestOf);
    const leases = await leaseRequests(database, perMinute, requests);
    const byKey = new Map(leases.map((each) => [each.keyId, each]));
    for (const [index, { keyId, debt }] of requests.entries()) {
      const [window, received] = [batch[index], byKey.get(keyId)];
      if (window && received) receive(window, debt, received);
    }
  }

  function requestOf({ keyId, count, leased, waiting, resetAt }: Window): LeaseRequest {
    const debt = Math.max(0, count - leased);
    return {
      keyId,
      debt,
      wanted: Math.max(1, chunk - Math.max(0, leased - count) + waiting.length),
      // A debt belongs to the minute in which it was made.
      leftMs: debt > 0 ? Math.max(1, resetAt - Date.now()) : minuteMs,
    };
  }

  function receive(window: Window, debt: number, { granted, used, windowId, leftMs }: Lease): void {
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
    admitWaiting(window);
  }

  function admitWaiting(window: Window): void {
    const { waiting } = window;
    window.waiting = [];
    for (const resolve of waiting)
      if (window.count < window.leased) resolve(countLeased(window));
      else if (window.isUsedUp) resolve(usageOf(window, true));
      else window.waiting.push(resolve);
    if (window.waiting.length > 0 || needsLease(window)) lease(window);
  }

  function startCountingAlone(): void {
    databaseIsAway = true;
    for (const window of windows.values()) {
      for (const resolve of window.waiting) resolve(countAlone(window));
      window.waiting = [];
    }
  }

  /** No lease waits for it. */
  function cleanDatabase(): void {
    if (Date.now() < deletesAt) return;
    deletesAt = Date.now() + deleteEveryMs;
    void deleteEndedWindows(database).catch(() => {});
  }
}

function newWindow(keyId: string): Window {
  return { keyId, waiting: [], ...startOf(Date.now()) };
}

function startOf(now: number) {
  return { count: 0, leased: 0, others: 0, isUsedUp: false, resetAt: now + minuteMs, id: null };
}
