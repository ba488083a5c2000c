/**
 * Shares one database query among all callers that need it at the same time, and limits how long each of them waits.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { unavailable } from './database.ts';

export type CoalesceOptions = {
  /** A caller that waits longer gets an error. */
  timeoutMs: number;
  /** How long a result or error is reused for later callers. */
  reuseMs: number;
  /** After this, a query without a result is abandoned, and the next caller starts another. */
  abandonAfterMs?: number;
};

/** The server cancels statements before this, so a query that still waits is on a dead connection. */
const abandonAfterMsDefault = 15_000;

/** Returns a function whose callers share one running `query`. */
export function coalesce<T>(
  query: () => Promise<T>,
  { timeoutMs, reuseMs, abandonAfterMs = abandonAfterMsDefault }: CoalesceOptions,
): () => Promise<T> {
  let running: Promise<T> | null = null;

  function start(): Promise<T> {
    const result = query();
    const forget = () => {
      if (running === result) running = null;
    };
    const abandonTimer = setTimeout(forget, abandonAfterMs).unref();
    const settled = () => {
      clearTimeout(abandonTimer);
      setTimeout(forget, reuseMs).unref();
    };
    result.then(settled, settled);
    return result;
  }

  return async () => {
    const timer = new AbortController();
    const timeout = wait(timeoutMs, undefined, { ref: false, signal: timer.signal }).then(() => {
      throw unavailable(new Error('the database did not respond in time'));
    });
    timeout.catch(() => {});
    try {
      return await Promise.race([(running ??= start()), timeout]);
    } finally {
      timer.abort();
    }
  };
}
