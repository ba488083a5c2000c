/**
 * When a provider may be asked again. Discord limits each route, and may do so for each server by itself; it also limits
 * a bot as a whole. One time for all is never too early, and costs little: only one route is asked.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';

export type RateLimit = {
  /** Resolves when the next request may go out; false where that is past `deadline`. */
  clear(deadline: number, signal: AbortSignal): Promise<boolean>;
  /** Takes in what an answer says of the requests that are left. */
  note(headers: IncomingHttpHeaders): void;
  /** Takes in a 429: its header or its JSON says how long to wait, the longer counts. */
  noteRefusal(headers: IncomingHttpHeaders, body: unknown): void;
  /** Counts an answer of 401, 403 or 429. */
  noteInvalid(): void;
};

/** Discord shuts out an address from which 10,000 such requests come in ten minutes; others may share it. */
const invalidMax = 5_000;
const invalidWindowMs = 600_000;

/** Where a 429 does not say how long. */
const unsaidWaitMs = 5_000;

export function createRateLimit(options: { invalidMax?: number } = {}): RateLimit {
  let clearAt = 0;
  let windowEndsAt = 0;
  let invalid = 0;

  function waitFor(ms: number): void {
    clearAt = Math.max(clearAt, performance.now() + ms);
  }

  return {
    async clear(deadline, signal) {
      // Another answer may have moved the time while this one waited.
      for (let ms = clearAt - performance.now(); ms > 0; ms = clearAt - performance.now()) {
        if (clearAt > deadline) return false;
        await wait(Math.ceil(ms), undefined, { signal });
      }
      return performance.now() <= deadline;
    },
    note(headers) {
      if (headers['x-ratelimit-remaining'] !== '0') return;
      waitFor(secondsToMs(headers['x-ratelimit-reset-after']) ?? 0);
    },
    noteRefusal(headers, body) {
      const said = [
        secondsToMs(headers['retry-after']),
        secondsToMs((body as { retry_after?: unknown } | null)?.retry_after),
        secondsToMs(headers['x-ratelimit-reset-after']),
      ].filter((ms) => ms !== null);
      waitFor(said.length === 0 ? unsaidWaitMs : Math.max(...said));
    },
    noteInvalid() {
      const now = performance.now();
      if (now > windowEndsAt) {
        windowEndsAt = now + invalidWindowMs;
        invalid = 0;
      }
      invalid += 1;
      if (invalid >= (options.invalidMax ?? invalidMax)) waitFor(windowEndsAt - now);
    },
  };
}

/** Seconds with or without a fraction, as a header or in JSON. Null for anything else. */
function secondsToMs(value: unknown): number | null {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string' || !/^\d{1,9}(\.\d+)?$/.test(text.trim())) return null;
  return Number(text) * 1000;
}
