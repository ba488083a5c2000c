/**
 * Turns committed events into deliveries, once each: an event gets its position and its deliveries in one statement.
 * Sends nothing. Next: `claim.ts`.
 */
import { sql, type Database } from '../../database/database.ts';

/** One statement's worth; more events wait for the next. So many deliveries take a second or so, far below the limit of a statement. */
const eventsPerBatch = 100;
const deliveriesPerBatch = 50_000;
const fanOutLock = 70420006;

/** Fans out the oldest events that wait. Returns how many; 0 where none waits or another worker is at it. */
export async function fanOut(database: Database): Promise<{ events: number; deliveries: number }> {
  const { rows } = await sql<{ events: number; deliveries: number }>`
    -- prepared: fan_out
    -- One at a time over all workers: positions are given in the order in which they become visible.
    with turn as materialized (select pg_try_advisory_xact_lock(${sql.lit(fanOutLock)}) as mine),
    waiting as materialized (
      select id, nextval('event_positions') as position
      from (
        select id from events where position is null and audience <> 'webhook'
        order by id limit (
          select case when mine then (
            select least(${sql.lit(eventsPerBatch)}, greatest(1, ${sql.lit(deliveriesPerBatch)} / greatest(1, count(*))))
            from webhooks where active
          ) else 0 end from turn
        )
      ) as oldest
    ),
    positioned as (
      -- By an array, and no join, which would choose partitions as it runs: where rows are changed, PostgreSQL 18 may
      -- read freed memory (decision 19).
      update events e set position = (select position from waiting where id = e.id)
      where e.id = any(array(select id from waiting))
        -- The holder before this one may have ended between this statement's snapshot and its turn.
        and e.position is null
      returning e.id, e.position, e.name, e.audience, e.org_id, e.alliance_id, e.created_at
    ),
    subjects as materialized (
      select e.*, (select listed from orgs o where o.id = e.org_id) as org_listed from positioned e
    ),
    -- Whom it is bound to is found by the binding: an event for two apps does not look at all webhooks.
    addressed as (
      select e.*, w.id as webhook_id, w.last_failure_at, w.last_success_at, null::uuid as bound_org, null::uuid as bound_alliance, null::timestamptz as bound_at
      from subjects e join webhooks w on w.active and (w.events is null or e.name = any(w.events))
      where e.audience = 'global'
      union all
      select e.*, w.id, w.last_failure_at, w.last_success_at, b.org_id, b.alliance_id, b.created_at
      from subjects e
      join bindings b on b.org_id = e.org_id
      join webhooks w on w.app_id = b.app_id and w.active and (w.events is null or e.name = any(w.events))
      where e.audience = 'organization'
      union all
      select e.*, w.id, w.last_failure_at, w.last_success_at, b.org_id, b.alliance_id, b.created_at
      from subjects e
      join bindings b on b.alliance_id = e.alliance_id
      join webhooks w on w.app_id = b.app_id and w.active and (w.events is null or e.name = any(w.events))
      where e.audience = 'alliance'
    ),
    created as (
      insert into pending_deliveries (id, event_id, event, webhook_id, trigger, due_at, failing)
      select uuid_v7(), a.id, a.name, a.webhook_id, 'event', queue_now(), is_failing(a.last_success_at, a.last_failure_at)
      from addressed a
      where may_receive(a.audience, a.org_id, a.alliance_id, a.created_at, a.org_listed, a.bound_org, a.bound_alliance, a.bound_at)
      -- Of what falls due in one moment, the older event goes first.
      order by a.position
      returning 1
    )
    select (select count(*) from positioned) as events, (select count(*) from created) as deliveries
  `.execute(database);
  return rows[0] ?? { events: 0, deliveries: 0 };
}
