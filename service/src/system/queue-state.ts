/** Counts the queue for metrics and probes, with limits on rows, time and frequency. */
import { sql, type Database } from '../database/database.ts';
import { coalesce } from '../database/coalesce.ts';
import type { QueueState } from '../runtime/metrics.ts';

/** Counts stop here, at about 20 ms, so that a scrape stays cheap. */
const countMax = 10_000;
/** A scrape does not wait for a database that is unavailable or stalled, and two scrapers cost no more than one. */
const bounds = { timeoutMs: 2_000, reuseMs: 1_000 };

/** Returns a reader that queries at most once per second and rejects while the database is unavailable. */
export function createQueueReader(
  database: Database,
  retentionDays: number,
): () => Promise<QueueState> {
  return coalesce(() => readQueueState(database, retentionDays), bounds);
}

/** Returns a check that resolves while the database answers at all, also while a lock holds up whoever reads the queue. */
export function createPing(database: Database): () => Promise<unknown> {
  return coalesce(() => sql`select 1`.execute(database), bounds);
}

async function readQueueState(database: Database, retentionDays: number): Promise<QueueState> {
  const { rows } = await sql<QueueState>`
    -- read once: PostgreSQL cannot use an index for a function that may return another time for each row
    with clock as materialized (select queue_now() as now)
    select due.due, due."oldestDueSeconds",
      (select count(*) from (
        select from pending_deliveries where lease_token is null limit ${countMax}) pending) as pending,
      (select count(*) from (
        select from pending_deliveries where lease_token is not null limit ${countMax}) held) as leased,
      (select count(*) from (
        (select from outbox limit ${countMax})
        union all
        (select from broadcasts limit ${countMax})
        union all
        (select from published_events where rejected_at is null limit ${countMax})
        limit ${countMax}) waiting) as "eventsWaiting",
      coalesce(greatest(extract(epoch from (select now from clock) - least(
        (select created_at from outbox order by xid, id limit 1),
        -- Since its last slice: it may take long because its receivers do.
        (select advanced_at from broadcasts order by position limit 1),
        (select created_at from published_events where rejected_at is null order by xid, id limit 1)
      )), 0), 0)::float8 as "oldestEventSeconds",
      (select coalesce(jsonb_object_agg(stage, rows), '{}') from (
        select stage, count(*) as rows from (select stage from set_aside limit ${countMax}) s group by stage) by_stage) as "setAside",
      (select least(count(*), ${countMax}) from (
        (select set_aside_at as at from set_aside order by set_aside_at limit ${countMax})
        union all
        (select rejected_at from published_events where rejected_at is not null order by rejected_at limit ${countMax})
       ) old where at < (select now from clock) - ${retentionDays - 1} * interval '1 day') as "setAsideExpiring"
    from (
      select least(count(*), ${countMax}) as due,
        coalesce(greatest(extract(epoch from (select now from clock) - min(due_at) filter (where not parked)), 0), 0)::float8 as "oldestDueSeconds"
      from (
        (select due_at, parked from pending_deliveries
         where lease_token is null and not parked and due_at <= (select now from clock) order by due_at limit ${countMax})
        union all
        -- these wait for their webhooks, which are slow or have failed
        (select due_at, parked from pending_deliveries where parked and due_at <= (select now from clock) limit ${countMax})
      ) first
    ) due
  `.execute(database);
  const [state] = rows;
  if (!state) throw new Error('the queue was not counted');
  return state;
}
