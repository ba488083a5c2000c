/**
 * Finds one page of deliveries, newest first, and their exact total. The counts by hour say where the page begins, so no
 * page costs more than the deliveries of its hours.
 */
import { requireTime, toUtc } from '../../contract/parse-time.ts';
import { sql, type Executor } from '../../database/database.ts';
import { dayMs, idFloor } from '../history/ended-deliveries.ts';
import { conditions, type DeliveryFilter, matchingKind } from './delivery-filter.ts';

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

const hourMs = 3_600_000;

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
  const times = hours.map((hour) => hour.getTime());
  const ofHour = sql`
    webhook_id = webhook and id >= uuid_v7_floor(hour) and id < uuid_v7_floor(hour + interval '1 hour')
    and id >= ${idFloor(Math.min(...times))} and id < ${idFloor(Math.max(...times) + hourMs)}
  `;
  // The days are values, so that no others are planned for. Reads only ids: without a filter an index has them, and skipped rows are not read.
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

/** The number of deliveries whose ids are of one hour. */
type HourCount = { hour: Date; count: number };

/**
 * Returns the hours that have any, newest first. Reads few deliveries: ended ones are counted by the totals that
 * `history/fold-delivery-changes.ts` keeps and the changes that are not yet in them, and rows are read only of the hours in
 * which `since` and `until` are.
 */
export async function countDeliveries(
  executor: Executor,
  webhookIds: string[],
  filter: DeliveryFilter,
): Promise<HourCount[]> {
  const ofWebhooks = sql`webhook_id = any(${webhookIds}::uuid[])`;
  const { isWhole, edges } = hoursOf(filter);
  const of = sql`${ofWebhooks} and ${matchingKind(filter, 'ended')}`;
  const { rows } = await sql<HourCount>`
    select id_hour as hour, sum(deliveries)::int8 as count
    from (
      select id_hour, deliveries from delivery_totals where ${of} and ${isWhole}
      union all
      select id_hour, deliveries from delivery_changes where ${of} and ${isWhole}
      ${edges.length === 0 ? sql`` : partlyIn(edges, webhookIds, filter)}
      union all
      select uuid_v7_hour(id), count(*) from pending_deliveries
      where ${ofWebhooks} and ${conditions(filter, 'pending')} group by uuid_v7_hour(id)
    ) parts
    group by id_hour having sum(deliveries) > 0 order by id_hour desc
  `.execute(executor);
  return rows;
}

/** The ended deliveries of these hours. */
function partlyIn(hours: string[], webhookIds: string[], filter: DeliveryFilter) {
  const ofWebhooks = sql`webhook_id = any(${webhookIds}::uuid[])`;
  const isIn = sql`= any(${hours}::timestamptz[])`;
  const noted = sql`${ofWebhooks} and ${matchingKind(filter, 'ended')} and hour ${isIn}`;
  const times = hours.map((hour) => Date.parse(hour));
  // With the slack of `conditions`.
  const isNear = sql`
    id >= ${idFloor(Math.min(...times) - dayMs)} and id < ${idFloor(Math.max(...times) + hourMs + dayMs)}
  `;
  return sql`
      union all
      select edge.id_hour, read.deliveries
      from (
        select id_hour from delivery_totals where ${noted} union select id_hour from delivery_changes where ${noted}
      ) edge cross join lateral (
        select count(*) as deliveries from deliveries
        where ${ofWebhooks} and ${conditions(filter, 'ended')} and ${isNear}
          and id >= uuid_v7_floor(edge.id_hour) and id < uuid_v7_floor(edge.id_hour + interval '1 hour')
          and date_bin('1 hour', created_at, 'epoch') ${isIn}
      ) read
  `;
}

/** A condition on hours of which the filter includes all, and the hours of which it includes a part. */
function hoursOf({ since, until }: DeliveryFilter) {
  const whole = [sql`true`];
  if (since !== undefined) whole.push(sql`hour >= ${toUtc(since)}::timestamptz`);
  if (until !== undefined)
    whole.push(sql`hour <= ${toUtc(until)}::timestamptz - interval '1 hour'`);
  const edges = [since, until].flatMap((time) => {
    const ms = time === undefined ? 0 : requireTime(time).getTime();
    return ms % hourMs === 0 ? [] : [new Date(Math.floor(ms / hourMs) * hourMs).toISOString()];
  });
  return { isWhole: sql.join(whole, sql` and `), edges };
}
