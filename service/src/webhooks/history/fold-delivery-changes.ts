/**
 * Adds noted changes (`delivery_changes`, written by a trigger on `deliveries`) to the totals of lists and to the
 * statistics of charts. A total is the sum of `delivery_totals` and of the changes that are not yet added, so it is exact
 * at any time. Reads of totals are in `management/find-page.ts`.
 */
import { sql, type Database, type Transaction } from '../../database/database.ts';
import { statusDays, usageDays } from '../../contract/periods.ts';
import { stepOrSetAside } from '../../events/set-aside.ts';
import { deleteInBatches } from '../../database/delete-in-batches.ts';

/** Changes per call; the next call takes the rest. */
const changesMax = 5_000;
/** One process at a time, and not while a day's totals are dropped. */
const foldLock = 70420015;

/** How long statistics are kept, a day longer than they are shown: a week of each webhook, and `/status` of all together. */
const webhookStatsDays = 8;
const serviceStatsDays = statusDays + 1;

export type Fold = {
  /** Whether more changes may wait. */
  more: boolean;
  /** The `xid` below which no change waits. */
  floor: string;
};

/** No change waits below `floor`, an `xid`. */
export function foldDeliveryChanges(database: Database, floor = '0'): Promise<Fold> {
  return stepOrSetAside(database, {
    source: 'delivery_changes',
    stage: 'totals',
    step: (only) => fold(database, floor, only),
    list: () => listOldest(database, floor),
    condition: ({ tid, xid }) => sql`ctid = ${tid}::tid and xid = ${xid}::xid8`,
    merge: () => ({ more: true, floor }),
  });
}

/** A row is named by its place: nothing updates changes, and its transaction tells it from one that took its place. */
type Change = { tid: string; xid: string };

async function listOldest(database: Database, floor: string): Promise<Change[]> {
  const { rows } = await sql<Change>`
    select ctid::text as tid, xid::text as xid from delivery_changes
    where xid >= ${floor}::xid8 order by xid limit ${sql.lit(changesMax)}
  `.execute(database);
  return rows;
}

async function fold(database: Database, floor: string, changes: Change[] | null): Promise<Fold> {
  const only = changes && changes.map(({ tid }) => tid);
  const { rows } = await sql<{ taken: number; floor: string }>`
    -- prepared: fold_delivery_changes
    with turn as materialized (select pg_try_advisory_xact_lock(${sql.lit(foldLock)}) as mine),
    oldest as materialized (
      select ctid as tid, xid from delivery_changes
      where (select mine from turn) and xid >= ${floor}::xid8 and (${only}::tid[] is null or ctid = any(${only}::tid[]))
      order by xid limit ${sql.lit(changesMax)}
    ),
    taken as materialized (
      delete from delivery_changes where ctid = any(array(select tid from oldest))
      returning webhook_id, event, status, hour, id_hour, deliveries, durations, delays, by_failure
    ),
    totals as (
      insert into delivery_totals as t (webhook_id, hour, id_hour, event, status, deliveries)
      select webhook_id, hour, id_hour, event, status, sum(deliveries) from taken group by webhook_id, hour, id_hour, event, status
      on conflict (webhook_id, hour, id_hour, event, status) do update set deliveries = t.deliveries + excluded.deliveries
    ),
    first_outcomes as materialized (
      select webhook_id, hour, status, case when status = 'succeeded' then latency_bucket(m.duration) else 0 end as duration_bucket,
        latency_bucket(m.delay) as delay_bucket, m.place <= by_failure as by_failure
      from taken cross join lateral unnest(durations, delays) with ordinality as m(duration, delay, place)
    ),
    used as (
      insert into usage as t (day, app_id, deliveries)
      select day, app_id, sum(ended) from (
        -- By the index, one webhook after the other: a join might read all of them.
        select day, (select app_id from webhooks w where w.id = webhook_id) as app_id, ended from (
          select webhook_id, (hour at time zone 'utc')::date as day, count(*) as ended from first_outcomes group by 1, 2
        ) by_webhook offset 0
      ) by_app
      where app_id is not null group by day, app_id order by day, app_id
      on conflict (day, key_id, app_id) do update set deliveries = t.deliveries + excluded.deliveries
    ),
    webhooks as (
      insert into webhook_stats as t (webhook_id, hour, status, bucket, deliveries, by_failure)
      select webhook_id, hour, status, duration_bucket, count(*), count(*) filter (where by_failure)
      from first_outcomes group by webhook_id, hour, status, duration_bucket
      on conflict (webhook_id, hour, status, bucket) do update
      set deliveries = t.deliveries + excluded.deliveries, by_failure = t.by_failure + excluded.by_failure
    ),
    service as (
      insert into service_stats as t (hour, status, bucket, deliveries)
      select hour, status, delay_bucket, count(*) from first_outcomes group by hour, status, delay_bucket
      on conflict (hour, status, bucket) do update set deliveries = t.deliveries + excluded.deliveries
    )
    select (select count(*) from oldest) as taken,
      -- All transactions below the snapshot's xmin have ended, so nothing new can appear there.
      (select case
        when not mine then ${floor}
        when (select count(*) from oldest) = ${sql.lit(changesMax)} then (select xid::text from oldest order by xid desc limit 1)
        else pg_snapshot_xmin(pg_current_snapshot())::text
      end from turn) as floor
  `.execute(database);
  const [row] = rows;
  if (!row) throw new Error('the fold returned nothing');
  return { more: row.taken === changesMax, floor: row.floor };
}

type Statement = ReturnType<typeof sql>;

/**
 * Drops the totals of a day whose partition of `deliveries` is dropped in this transaction. Waits for a running fold, and keeps
 * others out until the end of the transaction. By the hour: many webhooks have more totals in a day than one statement deletes
 * in its time.
 */
export async function dropTotals(tx: Transaction, day: Statement): Promise<void> {
  await sql`select pg_advisory_xact_lock(${sql.lit(foldLock)})`.execute(tx);
  for (let hour = 0; hour < 24; hour += 1)
    await sql`delete from delivery_totals where id_hour = ${day} + ${hour} * interval '1 hour'`.execute(
      tx,
    );
}

/** Drops what changed since `dropTotals`, and was to be added to them. */
export async function dropChanges(tx: Transaction, day: Statement): Promise<void> {
  await sql`
    delete from delivery_changes where id_hour >= ${day} and id_hour < ${day} + interval '1 day'
  `.execute(tx);
}

export async function dropOldStats(database: Database): Promise<void> {
  await deleteInBatches(database, {
    table: 'webhook_stats',
    key: 'ctid',
    condition: sql`hour < (select queue_now()) - ${webhookStatsDays} * interval '1 day'`,
  });
  await deleteInBatches(database, {
    table: 'usage',
    key: 'ctid',
    condition: sql`day <= (select queue_now() at time zone 'utc')::date - ${usageDays}::int`,
  });
  await sql`
    delete from service_stats where hour < queue_now() - ${sql.lit(serviceStatsDays)} * interval '1 day'
  `.execute(database);
}
