/**
 * Claims deliveries that are due: takes a lease on each and counts the attempt before it is made, so that
 * a worker that dies or freezes cannot make a seventh. What may no longer be sent is cancelled instead.
 */
import { sql, type Database } from '../database/database.ts';
import type { Deliverable } from './deliver.ts';
import { inFlightPerWebhookMax } from './in-flight.ts';

export type ClaimOptions = {
  /** How many more attempts this process can have under way. */
  room: number;
  /** Under way in this process, by webhook. */
  inFlight: ReadonlyMap<string, number>;
  /** Only webhooks behind this one, so that all get their turn; see `nextCursor`. */
  cursor: string;
  leaseMs: number;
};

export type Claim = {
  deliveries: Deliverable[];
  cancelled: number;
  /** Where to go on, or null at the end of the round. */
  nextCursor: string | null;
};

export const roundStart = '00000000-0000-0000-0000-000000000000';
/** How many webhooks one claim looks at: its cost does not grow with the number that have deliveries waiting. */
const webhooksPerClaim = 128;

export async function claim(database: Database, options: ClaimOptions): Promise<Claim> {
  const busy = [...options.inFlight];
  const { rows } = await sql<
    Deliverable & {
      id: string | null;
      cancelled: number;
      seen: number;
      last: string | null;
      taken: number;
      lastTaken: string | null;
    }
  >`
    with recursive candidates as (
      -- The next webhook that has something waiting, then the next after it: an index step each, however
      -- much waits behind one of them.
      (select webhook_id, 1 as n from pending_deliveries
       where lease_token is null and webhook_id > ${options.cursor} order by webhook_id limit 1)
      union all
      select next.webhook_id, c.n + 1
      from candidates c cross join lateral (
        select p.webhook_id from pending_deliveries p
        where p.lease_token is null and p.webhook_id > c.webhook_id order by p.webhook_id limit 1
      ) next
      where c.n < ${webhooksPerClaim}
    ),
    due as materialized (
      select d.id, c.webhook_id, c.n from candidates c
      left join unnest(${busy.map(([id]) => id)}::uuid[], ${busy.map(([, count]) => count)}::int[])
        as busy(webhook_id, n) on busy.webhook_id = c.webhook_id
      cross join lateral (
        select p.id from pending_deliveries p
        where p.webhook_id = c.webhook_id and p.lease_token is null and p.due_at <= queue_now()
        order by p.due_at
        limit greatest(${inFlightPerWebhookMax}::int - coalesce(busy.n, 0), 0)
        for update skip locked
      ) d
      limit ${options.room}
    ),
    checked as materialized (
      select p.id, w.url, w.secret, e.created_at, e.data,
        case when w.previous_secret_expires_at > now() then w.previous_secret end as previous_secret,
        coalesce(w.active and app_may_receive(e.audience, e.org_id, e.alliance_id, e.created_at, w.app_id), false) as allowed,
        case when w.id is null then 'deletion' when w.active then 'permission' else 'deactivation' end as cancelled_by
      from due join pending_deliveries p on p.id = due.id
      left join webhooks w on w.id = p.webhook_id
      left join events e on e.id = p.event_id
    ),
    leased as (
      update pending_deliveries p
      set lease_token = gen_random_uuid(), leased_at = queue_now(),
        leased_until = queue_now() + ${options.leaseMs} * interval '1 millisecond',
        cycle_attempts = p.cycle_attempts + 1, attempt_count = p.attempt_count + 1
      from checked c where p.id = c.id and c.allowed
      returning p.id, p.lease_token, p.webhook_id, p.event, p.trigger, p.attempt_count, p.cycle_attempts,
        c.url, c.secret, c.previous_secret, c.created_at, c.data
    ),
    refused as (
      delete from pending_deliveries p using checked c where p.id = c.id and not c.allowed
      returning p.id, p.event_id, p.event, p.webhook_id, p.attempt_count, p.created_at, c.cancelled_by
    ),
    cancelled as (
      insert into deliveries (id, event_id, event, webhook_id, status, attempt_count, created_at, cancelled_by)
      select id, event_id, event, webhook_id, 'cancelled', attempt_count, created_at, cancelled_by from refused
      returning 1
    )
    select round.*, l.id, l.lease_token as "leaseToken", l.webhook_id as "webhookId", l.event, l.trigger,
      l.attempt_count as number, l.cycle_attempts as "cycleAttempt", l.url, l.secret,
      l.previous_secret as "previousSecret", l.created_at as "eventCreatedAt", l.data
    from (
      select (select count(*) from cancelled) as cancelled, count(*) as seen,
        (array_agg(webhook_id order by n desc))[1] as last, (select count(*) from due) as taken,
        (select webhook_id from due order by n desc limit 1) as "lastTaken"
      from candidates
    ) round left join leased l on true
  `.execute(database);
  const [first] = rows;
  return {
    deliveries: rows.filter((row) => row.id !== null),
    cancelled: first?.cancelled ?? 0,
    nextCursor: first ? behind(first, options.room) : null,
  };
}

/** Where the room ran out the next webhook in line is first next time: those that always have something due take turns. */
function behind(
  round: { seen: number; last: string | null; taken: number; lastTaken: string | null },
  room: number,
): string | null {
  if (round.taken >= room) return round.lastTaken;
  return round.seen < webhooksPerClaim ? null : round.last;
}
