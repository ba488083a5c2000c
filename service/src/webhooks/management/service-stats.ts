/** Reads how deliveries went over all webhooks together, for everybody: shares and delays, and nothing of a webhook. */
import { sql, type Executor } from '../../database/database.ts';
import { statusDays } from '../../contract/periods.ts';
import { addLatency, latencyQuantile, type LatencyHistogram } from './delivery-stats.ts';

export type ServicePeriod = {
  /** The share that succeeded, of those that succeeded or failed; null if there were none. */
  successShare: number | null;
  /** From queuing to the response, of those that succeeded, within 10 %; null if there were none. */
  delayP50Ms: number | null;
  delayP95Ms: number | null;
};
export type ServiceStats = {
  lastDay: ServicePeriod;
  /** Each day in UTC, newest first. */
  days: (ServicePeriod & { day: string })[];
};

type Row = {
  /** Null: the last 24 hours. */
  day: string | null;
  status: 'succeeded' | 'failed' | null;
  bucket: number;
  deliveries: number;
};

export async function readServiceStats(executor: Executor): Promise<ServiceStats> {
  const { rows } = await sql<Row>`
    with today as materialized (select date_bin('1 day', queue_now(), 'epoch') as start),
    recent as materialized (
      select hour, status, bucket, deliveries from service_stats, today
      where hour >= start - ${statusDays - 1} * interval '1 day' and status in ('succeeded', 'failed')
    )
    select to_char(d.start, 'YYYY-MM-DD') as day, r.status, coalesce(r.bucket, 0) as bucket,
      coalesce(sum(r.deliveries), 0)::int8 as deliveries
    from today cross join lateral generate_series(today.start - ${statusDays - 1} * interval '1 day', today.start, interval '1 day') as d(start)
    left join recent r on r.hour >= d.start and r.hour < d.start + interval '1 day'
    group by d.start, r.status, r.bucket
    union all
    select null, status, bucket, sum(deliveries)::int8 from recent
    where hour > queue_now() - interval '24 hours' group by status, bucket
    order by day desc nulls first
  `.execute(executor);
  const byDay = Map.groupBy(rows, ({ day }) => day);
  return {
    lastDay: sumUp(byDay.get(null) ?? []),
    days: [...byDay].flatMap(([day, some]) =>
      day === null ? [] : [Object.assign({ day }, sumUp(some))],
    ),
  };
}

function sumUp(rows: Row[]): ServicePeriod {
  const counts = { succeeded: 0, failed: 0 };
  const delays: LatencyHistogram = new Map();
  for (const { status, bucket, deliveries } of rows) {
    if (status === null) continue;
    counts[status] += deliveries;
    if (status === 'succeeded') addLatency(delays, bucket, deliveries);
  }
  const ended = counts.succeeded + counts.failed;
  return {
    successShare: ended === 0 ? null : counts.succeeded / ended,
    delayP50Ms: latencyQuantile(delays, 0.5),
    delayP95Ms: latencyQuantile(delays, 0.95),
  };
}
