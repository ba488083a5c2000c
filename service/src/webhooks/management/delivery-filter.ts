/** The filters of lists of deliveries, as conditions on the two tables that hold them. */
import { requireTime, toUtc } from '../../contract/parse-time.ts';
import type { Delivery } from '../../contract/webhook.ts';
import { sql } from '../../database/database.ts';
import { dayMs, idFloor, undelivered } from '../history/ended-deliveries.ts';

export type DeliveryFilter = {
  status?: Delivery['status'] | 'undelivered' | undefined;
  event?: string | undefined;
  /** Filters by the time of queuing; `since` is inclusive, `until` is exclusive. */
  since?: string | undefined;
  until?: string | undefined;
  /** Only those after this one in a list: its id. */
  before?: string | undefined;
};

type Table = 'pending' | 'ended';

/** The conditions of a filter on one of the two tables. */
export function conditions(filter: DeliveryFilter, table: Table) {
  const { since, until, before } = filter;
  const all = [matchingKind(filter, table)];
  // The id contains the time, so only the partitions of those days are read, and planned for: these are values, not
  // expressions. A day's slack allows for clock differences.
  if (before !== undefined) all.push(sql`id < ${before}::uuid`);
  if (since !== undefined) {
    all.push(
      sql`created_at >= ${toUtc(since)}::timestamptz`,
      sql`id >= ${idFloor(requireTime(since).getTime() - dayMs)}`,
    );
  }
  if (until !== undefined) {
    all.push(
      sql`created_at < ${toUtc(until)}::timestamptz`,
      sql`id < ${idFloor(requireTime(until).getTime() + dayMs)}`,
    );
  }
  return sql.join(all, sql` and `);
}

/** The conditions on status and event. */
export function matchingKind({ status, event }: DeliveryFilter, table: Table) {
  const all = [sql`true`];
  if (status !== undefined && (status === 'pending') !== (table === 'pending'))
    all.push(sql`false`);
  else if (status === 'undelivered') all.push(undelivered);
  else if (table === 'ended' && status !== undefined) all.push(sql`status = ${status}`);
  if (event !== undefined) all.push(sql`event = ${event}`);
  return sql.join(all, sql` and `);
}
