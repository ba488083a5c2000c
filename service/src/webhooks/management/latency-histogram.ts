/** Numbers of deliveries by latency, in the buckets of the SQL function `latency_bucket`. */

export type LatencyHistogram = Map<number, number>;

export function addLatency(histogram: LatencyHistogram, bucket: number, count: number): void {
  histogram.set(bucket, (histogram.get(bucket) ?? 0) + count);
}

/** Returns the latency in milliseconds that a share of the deliveries did not exceed, within 10 %; null if there are none. */
export function latencyQuantile(histogram: LatencyHistogram, share: number): number | null {
  const total = histogram.values().reduce((sum, count) => sum + count, 0);
  let seen = 0;
  for (const [bucket, count] of [...histogram].sort(([a], [b]) => a - b)) {
    seen += count;
    if (seen >= share * total) return middleOf(bucket);
  }
  return null;
}

/** A bucket ends at 2^(bucket/4) ms. */
function middleOf(bucket: number): number {
  return bucket === 0 ? 1 : Math.round(2 ** ((bucket - 0.5) / 4));
}
