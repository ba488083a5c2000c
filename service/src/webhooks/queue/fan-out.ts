/**
 * Turns each committed event into deliveries, once: one statement gives it its position and its deliveries. Sends
 * nothing; next: `claim.ts`.
 */
import { sql, type Database } from '../../database/database.ts';

/** The limits of one statement, which takes about a second, far below the statement timeout. */
const eventsPerBatch = 100;
const deliveriesPerBatch = 50_000;
const fanOutLock = 70420006;

/** Fans out the oldest waiting events and returns how many; 0 if none wait or another worker is fanning out. */
export async function fanOut(database: Database): Promise<{ events: number; deliveries: number }> {
  const { rows } = await sql<{ events: number; deliveries: number }>`
    -- prepared: fan_out
    -- One worker at a time, so that positions follow the order in which events become visible.
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
      -- Uses an array instead of a join: a join would prune partitions at run time, and PostgreSQL 18 may then read
      -- freed memory where rows are changed (decision 19).
      update events e set position = (select position from waiting where id = e.id)
      where e.id = any(array(select id from waiting))
        -- The previous holder of the lock may have ended between this statement's snapshot and its turn.
        and e.position is null
      returning e.id, e.position, e.name, e.audience, e.org_id, e.alliance_id, e.created_at
    ),
    subjects as materialized (
      select e.*, (select listed from orgs o where o.id = e.org_id) as org_listed from positioned e
    ),
    -- Starts from the binding, so that an event for two apps does not look at all webhooks.
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
      -- When several deliveries fall due at the same moment, the older event goes first.
      order by a.position
      returning 1
    )
    select (select count(*) from positioned) as events, (select count(*) from created) as deliveries
  `.execute(database);
  return rows[0] ?? { events: 0, deliveries: 0 };
}
