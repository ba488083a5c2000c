/** Reads the statistics of webhooks for charts: outcomes and latency by the time of queuing. */
import type {
  DeliveryPeriod,
  DeliveryStats,
  WebhookStats,
} from '../../contract/portal-deliveries.ts';
import { sql, type Executor } from '../../database/database.ts';

/**
 * `history/fold-delivery-changes.ts` keeps the first outcomes of a little more than the longest range. An hour is counted from
 * the deliveries, which know their last outcome.
 */
export const ranges = {
  hour: { periods: 60, periodHours: 1 / 60 },
  day: { periods: 24, periodHours: 1 },
  week: { periods: 28, periodHours: 6 },
} as const;

type Row = {
  /** Null, as the status, for a period without deliveries. */
  webhookId: string | null;
  start: Date;
  status: 'succeeded' | 'failed' | 'cancelled' | 'pending' | null;
  /** Null if the latency of what succeeded is not known. */
  bucket: number | null;
  deliveries: number;
  /** Of those that were cancelled: because the webhook failed. */
  byFailure: number;
};

type Range = keyof typeof ranges;
type Sql = ReturnType<typeof sql>;

/** Of webhooks together. */
export async function readDeliveryStats(
  executor: Executor,
  webhookIds: string[],
  range: Range,
): Promise<DeliveryStats> {
  const rows = await readRows(executor, webhookIds, range);
  const byStart = Map.groupBy(rows, ({ start }) => start.toISOString());
  return {
    periodHours: ranges[range].periodHours,
    periods: [...byStart].map(([start, some]) => Object.assign({ start }, sumUp(some))),
    total: sumUp(rows),
  };
}

/** Of each webhook, in the last 24 hours. */
export async function readWebhookStats(
  executor: Executor,
  webhookIds: string[],
): Promise<WebhookStats[]> {
  const rows = await readRows(executor, webhookIds, 'day');
  const hours = [...Map.groupBy(rows, ({ start }) => start.getTime()).values()];
  return webhookIds.map((webhookId) => {
    const isIts = (row: Row) => row.webhookId === webhookId;
    return {
      webhookId,
      total: sumUp(rows.filter(isIts)),
      hours: hours.map((hour) => {
        const { succeeded, failed, cancelledByFailure = 0 } = sumUp(hour.filter(isIts));
        return { succeeded, failed: failed + cancelledByFailure };
      }),
    };
  });
}

async function readRows(executor: Executor, webhookIds: string[], range: Range): Promise<Row[]> {
  const { periods, periodHours } = ranges[range];
  const ids = sql`${webhookIds}::uuid[]`;
  const [ended, pending] =
    range === 'hour'
      ? [endedLately(ids), sql`('event', 'redelivery')`]
      : [endedByHour(ids), sql`('event')`];
  const { rows } = await sql<Row>`
    with length as (select ${periodHours * 60}::int * interval '1 minute' as period),
    periods as materialized (
      select generate_series(last - ${periods - 1} * period, last, period) as start
      from (select period, date_bin(period, queue_now(), 'epoch') as last from length) l
    ),
    since as materialized (select min(start) as start from periods),
    counted as (
      ${ended}
      union all
      select webhook_id, created_at, 'pending', 0, 1, 0 from pending_deliveries, since
      where webhook_id = any(${ids}) and created_at >= start and trigger in ${pending}
    )
    select c.webhook_id as "webhookId", p.start, c.status, c.bucket, coalesce(c.deliveries, 0) as deliveries,
      coalesce(c.by_failure, 0) as "byFailure"
    from periods p left join (
      select webhook_id, date_bin(period, hour, 'epoch') as start, status, bucket, sum(deliveries)::int8 as deliveries,
        sum(by_failure)::int8 as by_failure
      from counted, length group by 1, 2, 3, 4
    ) c using (start)
    order by p.start
  `.execute(executor);
  return rows;
}

function endedByHour(ids: Sql): Sql {
  return sql`
      select webhook_id, hour, status, bucket, deliveries, by_failure from webhook_stats, since
      where webhook_id = any(${ids}) and hour >= start
      union all
      -- Those that are not yet added to the statistics.
      select webhook_id, hour, status, case when status = 'succeeded' then latency_bucket(duration) else 0 end, 1, (place <= by_failure)::int
      from since, delivery_changes cross join lateral unnest(durations) with ordinality as m(duration, place)
      where webhook_id = any(${ids}) and hour >= start
  `;
}

/**
 * By minute, which the statistics do not keep. Buckets are found for groups, because that takes longer than to read a row. Of what
 * was sent again, no latency is known without its attempts.
 */
function endedLately(ids: Sql): Sql {
  return sql`
      select webhook_id, hour, status, case when status = 'succeeded' then latency_bucket(ms) else 0 end as bucket, deliveries,
        case when by_failure then deliveries else 0 end as by_failure
      from (
        select webhook_id, date_bin('1 minute', created_at, 'epoch') as hour, status, by_failure, first_outcome_ms as ms, count(*) as deliveries
        from deliveries
        where webhook_id = any(${ids}) and event not in ('webhook.test', 'webhook.probe') and created_at >= (select start from since)
          -- Ids are made when an event is recorded, which may be a while before its deliveries.
          and id >= (select uuid_v7_floor(start - interval '1 hour') from since)
        group by 1, 2, 3, 4, 5
      ) as d
  `;
}

function sumUp(rows: Row[]): Omit<DeliveryPeriod, 'start'> {
  const counts = { succeeded: 0, failed: 0, cancelled: 0, cancelledByFailure: 0, pending: 0 };
  const latencies: LatencyHistogram = new Map();
  for (const { status, bucket, deliveries, byFailure } of rows) {
    if (status === null) continue;
    counts[status] += deliveries;
    counts.cancelledByFailure += byFailure;
    if (status === 'succeeded' && bucket !== null) addLatency(latencies, bucket, deliveries);
  }
  return {
    ...counts,
    latencyP50Ms: latencyQuantile(latencies, 0.5),
    latencyP95Ms: latencyQuantile(latencies, 0.95),
  };
}

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
