/** What the queue holds, for whoever watches it: bounded in rows, in time, and in how often the database is asked. */
import { sql, type Database } from '../database/database.ts';
import { shareAnswer } from '../database/shared-answer.ts';
import type { QueueState } from '../metrics.ts';

/** Counts stop here: beyond it the figure says no more than that there is far too much, and a scrape stays cheap. */
const countMax = 100_000;
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
    select
      (select count(*) from (
        select from pending_deliveries
        where lease_token is null and due_at <= (select now from clock) limit ${countMax}) due) as due,
      coalesce((
        select greatest(extract(epoch from (select now from clock) - min(due_at)), 0)
        from pending_deliveries where lease_token is null)::float8, 0) as "oldestDueSeconds",
      (select count(*) from (
        select from pending_deliveries where lease_token is null limit ${countMax}) pending) as pending,
      (select count(*) from (
        select from pending_deliveries where lease_token is not null limit ${countMax}) leased) as leased,
      (select count(*) from (
        select from events where position is null and audience <> 'webhook' limit ${countMax}) waiting) as "eventsWaiting"
  `.execute(database);
  const [state] = rows;
  if (!state) throw new Error('the queue was not counted');
  return state;
}
