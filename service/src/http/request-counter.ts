/**
 * Counts requests in windows, of a minute unless said otherwise, in this process's memory. `@fastify/rate-limit` does the same through
 * a chain of promises, which cost a cached read a tenth of its time (docs/decisions/0003-reads.md).
 */
type Usage = {
  remaining: number;
  exceeded: boolean;
  /** When the window ends, in milliseconds since 1970. */
  resetAt: number;
};

const minuteMs = 60_000;
/** Keys and addresses at once, about 3 MB; beyond that those that came first start anew. */
const bucketsMax = 20_000;

export function createRequestCounter(most: number, windowMs = minuteMs): (bucket: string) => Usage {
  const windows = new Map<string, { count: number; resetAt: number }>();
  return (bucket) => {
    const at = Date.now();
    let window = windows.get(bucket);
    if (!window || window.resetAt <= at) {
      window = { count: 0, resetAt: at + windowMs };
      // Anew at the end of the map, which is kept in the order of the windows' ends.
      windows.delete(bucket);
      windows.set(bucket, window);
      if (windows.size > bucketsMax) forgetFirst(windows);
    }
    window.count += 1;
    const { count, resetAt } = window;
    return { remaining: Math.max(0, most - count), exceeded: count > most, resetAt };
  };
}

function forgetFirst(windows: Map<string, unknown>): void {
  for (const bucket of windows.keys()) {
    windows.delete(bucket);
    return;
  }
}

/** For `Retry-After`: whole seconds, one at least. */
export function secondsUntil(timeMs: number): number {
  return Math.max(1, Math.ceil((timeMs - Date.now()) / 1000));
}
