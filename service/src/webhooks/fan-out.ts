/**
 * Turns committed events into deliveries, once each: an event gets its position and its deliveries in one
 * transaction. Sends nothing. Next: `claim.ts`.
 */
import { sql, type Database } from '../database/database.ts';

/** One transaction's worth; more events wait for the next. So many deliveries take a second or two, far below the limit of a statement. */
const eventsPerBatch = 100;
const deliveriesPerBatch = 50_000;
const fanOutLock = 70420006;

/** Fans out the oldest events that wait. Returns how many; 0 where none waits or another worker is at it. */
export async function fanOut(database: Database): Promise<{ events: number; deliveries: number }> {
  return database.transaction().execute(async (tx) => {
    // One at a time over all workers: positions are given in the order in which they become visible.
    const { rows: locks } = await sql<{
      locked: boolean;
    }>`select pg_try_advisory_xact_lock(${fanOutLock}) as locked`.execute(tx);
    if (!locks[0]?.locked) return { events: 0, deliveries: 0 };
    const { rows } = await sql<{ events: number; deliveries: number }>`
      with waiting as materialized (
        select id, nextval('event_positions') as position
        from (
          select id from events where position is null and audience <> 'webhook'
          order by id limit (
            select least(${eventsPerBatch}, greatest(1, ${deliveriesPerBatch} / greatest(1, count(*))))
            from webhooks where active
          )
        ) as oldest
      ),
      positioned as (
        update events e set position = waiting.position
        from waiting where e.id = waiting.id
        returning e.id, e.name, e.audience, e.org_id, e.alliance_id, e.created_at
      ),
      created as (
        insert into pending_deliveries (id, event_id, event, webhook_id, trigger, due_at)
        select uuid_v7(), e.id, e.name, w.id, 'event', queue_now()
        from positioned e
        join webhooks w on w.active and (w.events is null or e.name = any(w.events))
        where app_may_receive(e.audience, e.org_id, e.alliance_id, e.created_at, w.app_id)
        returning 1
      )
      select (select count(*) from positioned) as events, (select count(*) from created) as deliveries
    `.execute(tx);
    return rows[0] ?? { events: 0, deliveries: 0 };
  });
}
