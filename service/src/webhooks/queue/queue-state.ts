/** What the queue holds, for whoever watches it: bounded in rows, in time, and in how often the database is asked. */
import { sql, type Database } from '../../database/database.ts';
import { shareAnswer } from '../../database/shared-answer.ts';
import type { QueueState } from '../../metrics.ts';

/** Counts stop here, some 20 ms away: beyond it the figure says no more than that there is far too much, and a scrape stays cheap. */
const countMax = 10_000;
/** A scrape does not wait for a database that is away or stalled; two scrapers ask it no more often than one. */
const bounds = { withinMs: 2_000, standsForMs: 1_000 };

/** Returns a reader that asks the database at most once a second, however many call it. Rejects while it is away. */
export function createQueueReader(database: Database): () => Promise<QueueState> {
  return shareAnswer(() => readQueueState(database), bounds);
}

async function readQueueState(database: Database): Promise<QueueState> {
  const { rows } = await sql<QueueState>`
    -- read once: a function that may give another time for each row cannot be looked up in an index
    with clock as materialized (select queue_now() as now)
    select due.due, due."oldestDueSeconds",
      (select count(*) from (
        select from pending_deliveries where lease_token is null limit ${countMax}) pending) as pending,
      (select coalesce(sum(cardinality(delivery_ids)), 0)::int from (
        select delivery_ids from leases limit ${countMax}) held) as leased,
      (select count(*) from (
        (select from events where position is null and audience <> 'webhook' limit ${countMax})
        union all
        (select from published_events where rejected_at is null limit ${countMax})
        limit ${countMax}) waiting) as "eventsWaiting"
    from (
      select least(count(*), ${countMax}) as due,
        coalesce(greatest(extract(epoch from (select now from clock) - min(due_at)), 0), 0)::float8 as "oldestDueSeconds"
      from (
        -- the two lines of the queue, each in the order of its index
        (select due_at, lease_token from pending_deliveries
         where not failing and due_at <= (select now from clock) order by due_at limit ${countMax})
        union all
        (select due_at, lease_token from pending_deliveries
         where failing and due_at <= (select now from clock) order by due_at limit ${countMax})
      ) first
      -- what is under way became due before it was claimed, and still is
      where lease_token is null
    ) due
  `.execute(database);
  const [state] = rows;
  if (!state) throw new Error('the queue was not counted');
  return state;
}
