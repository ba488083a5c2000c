/**
 * Decides when to send the next request to a provider, and how many at once. Discord limits each route, perhaps per
 * server, and each bot as a whole. One limit for everything is always safe and costs little, because we use only one
 * route.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';

export type RateLimit = {
  /**
   * Resolves when a request may be sent, in the order of calls; false if that is past `deadline`. Note each request
   * that was sent, whatever its outcome, because others may wait for its response.
   */
  take(deadline: number, signal: AbortSignal): Promise<boolean>;
  note(answer: Answer): void;
};

/** `status` is null if no response came. */
type Answer = { status: number | null; headers: IncomingHttpHeaders; body: unknown };

/** Discord blocks an IP address after 10,000 such requests in ten minutes; chat channels may cause half of them. */
const invalidMax = 2_500;
const invalidWindowMs = 600_000;
const invalidStatuses = new Set([401, 403, 429]);

/** The wait after a 429 that does not say how long. */
const unsaidWaitMs = 5_000;

export function createRateLimit(options: { invalidMax?: number } = {}): RateLimit {
  let clearAt = 0;
  /** How many more requests may be sent before a response says more. After a wait, one request finds out. */
  let permits = Infinity;
  let inFlight = 0;
  let answered = Promise.withResolvers<void>();
  let lastInLine: Promise<unknown> = Promise.resolve();
  const countInvalid = createInvalidCount(options.invalidMax ?? invalidMax);

  function waitFor(ms: number): void {
    clearAt = Math.max(clearAt, performance.now() + ms);
  }

  /** The timer of the first waiting caller. */
  async function admit(deadline: number, signal: AbortSignal): Promise<boolean> {
    for (;;) {
      signal.throwIfAborted();
      const now = performance.now();
      if (Math.max(now, clearAt) > deadline) return false;
      if (now < clearAt) await wait(Math.ceil(clearAt - now), undefined, { signal });
      else if (permits > 0 || inFlight === 0) break;
      else await answered.promise;
    }
    permits = Math.max(0, permits - 1);
    inFlight += 1;
    return true;
  }

  return {
    take(deadline, signal) {
      const admitted = lastInLine.then(() => admit(deadline, signal));
      lastInLine = admitted.catch(() => {});
      return admitted;
    },
    note({ status, headers, body }) {
      inFlight -= 1;
      const left = remaining(headers);
      if (status === 429) {
        permits = 0;
        waitFor(refusalMs(headers, body));
      } else if (left !== null) {
        // Discord may not have counted the requests in flight yet.
        permits = Math.max(0, left - inFlight);
        if (left === 0) waitFor(secondsToMs(headers['x-ratelimit-reset-after']) ?? 0);
      } else if (status === 200) permits = Infinity;
      if (status !== null && invalidStatuses.has(status)) waitFor(countInvalid());
      answered.resolve();
      answered = Promise.withResolvers();
    },
  };
}

/** Counts a response that Discord counts against us, and returns the wait that results. */
function createInvalidCount(most: number): () => number {
  let windowEndsAt = 0;
  let count = 0;
  return () => {
    const now = performance.now();
    if (now > windowEndsAt) {
      windowEndsAt = now + invalidWindowMs;
      count = 0;
    }
    count += 1;
    return count >= most ? windowEndsAt - now : 0;
  };
}

function remaining(headers: IncomingHttpHeaders): number | null {
  const text = headers['x-ratelimit-remaining'];
  return typeof text === 'string' && /^\d{1,9}$/.test(text) ? Number(text) : null;
}

/** Reads the wait from a 429's header and JSON; the longer one counts. */
function refusalMs(headers: IncomingHttpHeaders, body: unknown): number {
  const said = [
    secondsToMs(headers['retry-after']),
    secondsToMs((body as { retry_after?: unknown } | null)?.retry_after),
    secondsToMs(headers['x-ratelimit-reset-after']),
  ].filter((ms) => ms !== null);
  return said.length === 0 ? unsaidWaitMs : Math.max(...said);
}

/** Seconds with or without a fraction, as a header or in JSON. Null for anything else. */
function secondsToMs(value: unknown): number | null {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string' || !/^\d{1,9}(\.\d+)?$/.test(text.trim())) return null;
  return Number(text) * 1000;
}
