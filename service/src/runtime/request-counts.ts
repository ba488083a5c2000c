/**
 * Counts HTTP requests in plain numbers: a request of a cached page takes 76 µs, of which an update of a prom-client
 * histogram would be one. `metrics.ts` turns them into metrics at a scrape.
 */

/** `aborted`: the connection ended before the response. */
type StatusClass = '2xx' | '3xx' | '4xx' | '5xx' | 'aborted';
/** Who called: nobody known, a key of an app, a platform key, or somebody who is signed in to the portal. */
export type KeyKind = 'none' | 'app' | 'platform' | 'session';

export type OperationCounts = {
  requests: Map<KeyKind, Record<StatusClass, number>>;
  bytes: number;
  seconds: number;
  /** Requests by duration: up to each of `durationBuckets`, and longer than all of them last. */
  durations: number[];
};

/** In seconds. A cached page takes less than the first; a bulk write may take longer than the last. */
export const durationBuckets = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const bucketsMs = durationBuckets.map((seconds) => seconds * 1_000);

const statusClasses = ['2xx', '3xx', '4xx', '5xx'] as const;
const tooManyRequests = 429;

export class RequestCounts {
  readonly operations = new Map<string, OperationCounts>();
  readonly rateLimited: Record<KeyKind, number> = { none: 0, app: 0, platform: 0, session: 0 };

  /**
   * Adds a request that has ended. `operation`: an operationId, or the route of what is no operation; never a path, of which
   * there are any number. `durationMs`: null if it says nothing. `bytes`: of the response, with its headers. One by one,
   * because an object would be garbage.
   */
  add(
    operation: string,
    key: KeyKind,
    status: number | 'aborted',
    durationMs: number | null,
    bytes: number,
  ): void {
    let counts = this.operations.get(operation);
    if (!counts) this.operations.set(operation, (counts = newCounts()));
    let byStatus = counts.requests.get(key);
    if (!byStatus) counts.requests.set(key, (byStatus = noRequests()));
    const statusClass = status === 'aborted' ? status : statusClasses[Math.floor(status / 100) - 2];
    byStatus[statusClass ?? '5xx'] += 1;
    counts.bytes += bytes;
    if (status === tooManyRequests) this.rateLimited[key] += 1;
    if (durationMs === null) return;
    counts.seconds += durationMs / 1_000;
    let bucket = 0;
    while (bucket < bucketsMs.length && durationMs > (bucketsMs[bucket] ?? 0)) bucket += 1;
    counts.durations[bucket] = (counts.durations[bucket] ?? 0) + 1;
  }
}

/**
 * The number of requests, and by when which share of them had ended: the bound of the bucket, in ms. Null: there were none, or
 * longer than the last bound.
 */
export function summarise({ operations }: RequestCounts): {
  count: number;
  withinMs: (share: number) => number | null;
} {
  const all = [...operations.values()].map(({ durations }) => durations);
  const buckets = [...bucketsMs, null].map((_, index) =>
    all.reduce((sum, durations) => sum + (durations[index] ?? 0), 0),
  );
  const count = buckets.reduce((sum, each) => sum + each, 0);
  return {
    count,
    withinMs(share) {
      let ended = 0;
      const index = buckets.findIndex((each) => (ended += each) >= share * count);
      return count === 0 ? null : (bucketsMs[index] ?? null);
    },
  };
}

function newCounts(): OperationCounts {
  const durations = Array.from({ length: durationBuckets.length + 1 }, () => 0);
  return { requests: new Map(), bytes: 0, seconds: 0, durations };
}

/** All classes, because a rate needs a zero to rise from. */
function noRequests(): Record<StatusClass, number> {
  return { '2xx': 0, '3xx': 0, '4xx': 0, '5xx': 0, aborted: 0 };
}
