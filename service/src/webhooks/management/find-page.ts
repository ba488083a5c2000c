/**
 * Finds one page of deliveries, newest first, and their exact total. The counts by hour say where the page begins, so no
 * page costs more than the deliveries of its hours.
 */
import { toUtc } from '../../contract/parse-time.ts';
import { sql, type Executor } from '../../database/database.ts';
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
  const { whole, touched } = hoursOf(filter);
  const { rows } = await sql<HourCount>`
    with known as materialized (
      select hour, id_hour, deliveries from delivery_totals
      where ${ofWebhooks} and ${matchingKind(filter, 'ended')} and ${touched(sql`hour`)}
      union all
      select hour, id_hour, deliveries from delivery_changes
      where ${ofWebhooks} and ${matchingKind(filter, 'ended')} and ${touched(sql`hour`)}
    )
    select id_hour as hour, sum(deliveries)::int8 as count
    from (
      select id_hour, deliveries from known where ${whole(sql`hour`)}
      union all
      select edge.id_hour, read.deliveries
      from (select distinct id_hour from known where not ${whole(sql`hour`)}) edge cross join lateral (
        select count(*) as deliveries from deliveries
        where ${ofWebhooks} and ${conditions(filter, 'ended')}
          and id >= uuid_v7_floor(edge.id_hour) and id < uuid_v7_floor(edge.id_hour + interval '1 hour')
          and not ${whole(sql`date_bin('1 hour', created_at, 'epoch')`)}
      ) read
      union all
      select uuid_v7_hour(id), count(*) from pending_deliveries
      where ${ofWebhooks} and ${conditions(filter, 'pending')} group by uuid_v7_hour(id)
    ) parts
    group by id_hour having sum(deliveries) > 0 order by id_hour desc
  `.execute(executor);
  return rows;
}

type Expression = ReturnType<typeof sql>;

/** Conditions on an hour: whether the filter includes all of it, and whether it includes any of it. */
function hoursOf({ since, until }: DeliveryFilter) {
  const from = since === undefined ? null : sql`${toUtc(since)}::timestamptz`;
  const to = until === undefined ? null : sql`${toUtc(until)}::timestamptz`;
  return {
    whole: (hour: Expression) => sql`
      (${from ? sql`${hour} >= ${from}` : sql`true`} and ${to ? sql`${hour} <= ${to} - interval '1 hour'` : sql`true`})
    `,
    touched: (hour: Expression) => sql`
      ${from ? sql`${hour} > ${from} - interval '1 hour'` : sql`true`} and ${to ? sql`${hour} < ${to}` : sql`true`}
    `,
  };
}
