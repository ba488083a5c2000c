/**
 * Counts requests in windows of a minute, in this process's memory. `@fastify/rate-limit` does the same through
 * a chain of promises, which cost a cached read a fifth of its time (docs/decisions/0003-reads.md).
 */
import { LRUCache } from 'lru-cache';

type Usage = {
  remaining: number;
  exceeded: boolean;
  /** When the window ends, in milliseconds since 1970. */
  resetAt: number;
};

const windowMs = 60_000;
/** Keys and addresses at once, about 3 MB; the ones longest unseen start anew. */
const bucketsMax = 20_000;

export function createRequestCounter(perMinute: number): (bucket: string) => Usage {
  const windows = new LRUCache<string, { count: number; resetAt: number }>({ max: bucketsMax });
  return (bucket) => {
    const at = Date.now();
    let window = windows.get(bucket);
    if (!window || window.resetAt <= at) {
      window = { count: 0, resetAt: at + windowMs };
      windows.set(bucket, window);
    }
    window.count += 1;
    const { count, resetAt } = window;
    return { remaining: Math.max(0, perMinute - count), exceeded: count > perMinute, resetAt };
  };
}

/** For `Retry-After`: whole seconds, one at least. */
export function secondsUntil(timeMs: number): number {
  return Math.max(1, Math.ceil((timeMs - Date.now()) / 1000));
}
