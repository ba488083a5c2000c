/**
 * Finds one page of deliveries, newest first, and their exact total. The counts by hour say where the page begins, so no
 * page costs more than the deliveries of its hours.
 */
import { sql, type Executor } from '../../database/database.ts';
import { countDeliveries, type HourCount } from './count-deliveries.ts';
import { conditions, type DeliveryFilter } from './delivery-filter.ts';

export async function findPage(
  executor: Executor,
  webhookIds: string[],
  query: DeliveryFilter & { page: number; limit: number },
): Promise<{ total: number; ids: string[] }> {
  const hours = await countDeliveries(executor, webhookIds, query);
  const total = hours.reduce((sum, { count }) => sum + count, 0);
  const position = positionOf(query, hours);
  return { total, ids: position ? await readIds(executor, webhookIds, query, position) : [] };
}

type Position = {
  /** The hours that the page needs, newest first. */
  hours: Date[];
  /** The deliveries of these hours that are newer than the page, and those that are in it. */
  skip: number;
  count: number;
};

/** Returns where a page is; null if it is past the last one. */
function positionOf(
  { page, limit }: { page: number; limit: number },
  counts: HourCount[],
): Position | null {
  const before = (page - 1) * limit;
  const hours: Date[] = [];
  let seen = 0;
  let skipped = 0;
  for (const { hour, count } of counts) {
    if (seen >= before + limit) break;
    seen += count;
    if (seen <= before) skipped = seen;
    else hours.push(hour);
  }
  if (hours.length === 0) return null;
  return { hours, skip: before - skipped, count: Math.min(limit, seen - before) };
}

async function readIds(
  executor: Executor,
  webhookIds: string[],
  filter: DeliveryFilter,
  { hours, skip, count }: Position,
): Promise<string[]> {
  const most = skip + count;
  const ofHour = sql`
    webhook_id = webhook and id >= uuid_v7_floor(hour) and id < uuid_v7_floor(hour + interval '1 hour')
  `;
  // Reads only ids: without a filter an index has them, and skipped rows are not read.
  const { rows } = await sql<{ id: string }>`
    select id
    from unnest(${hours.map((hour) => hour.toISOString())}::timestamptz[]) as h(hour)
    cross join unnest(${webhookIds}::uuid[]) as w(webhook)
    cross join lateral (
      (select id from pending_deliveries where ${ofHour} and ${conditions(filter, 'pending')} order by id desc limit ${most})
      union all
      (select id from deliveries where ${ofHour} and ${conditions(filter, 'ended')} order by id desc limit ${most})
    ) of_hour
    order by id desc limit ${count} offset ${skip}
  `.execute(executor);
  return rows.map(({ id }) => id);
}
