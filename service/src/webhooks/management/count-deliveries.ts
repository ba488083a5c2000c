/**
 * Counts deliveries exactly and reads few of them: ended ones by the totals that `history/fold-delivery-changes.ts` keeps
 * and the changes that are not yet in them. Reads rows only of the hours in which `since` and `until` are.
 */
import { toUtc } from '../../contract/parse-time.ts';
import { sql, type Executor } from '../../database/database.ts';
import { conditions, matchingKind, type DeliveryFilter } from './delivery-filter.ts';

/** The number of deliveries whose ids are of one hour. */
export type HourCount = { hour: Date; count: number };

/** Returns the hours that have any, newest first. */
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
