/**
 * Claims due deliveries: takes a lease on them and counts each attempt before it is made, so that a worker that dies or
 * freezes cannot cause a seventh attempt. Cancels deliveries that may no longer be sent. Sends nothing; next:
 * `sending/deliver.ts`.
 */
import { randomUUID } from 'node:crypto';
import { arrayLiteral } from '../../database/array-literal.ts';
import { sql, type Database, type LeftJoined } from '../../database/database.ts';
import type { Deliverable } from '../sending/deliverable.ts';
import { inFlightPerWebhookMax } from './in-flight.ts';

export type ClaimOptions = {
  /** How many more attempts this process may start: in total, for failing webhooks, and for one webhook. */
  room: { total: number; failing: number; perWebhook: number };
  /** Attempts under way in this process, by webhook. */
  inFlight: ReadonlyMap<string, number>;
  leaseMs: number;
  /**
   * Null claims the deliveries that have been due the longest. A webhook id claims webhook by webhook, starting after
   * that id: slower, but a backlog of webhooks that have used up their share cannot hide due deliveries of others.
   */
  cursor: string | null;
  /**
   * The number of deliveries claimed so far, modulo `failingEvery`. It carries the share of failing webhooks over from
   * one claim to the next.
   */
  phase: number;
};

export type Claim = {
  deliveries: Deliverable[];
  cancelled: number;
  /** Whether the claim saw everything that is due, or reached the last webhook. */
  complete: boolean;
  /** The cursor for the next claim by webhook; null at the end of the round. */
  nextCursor: string | null;
  /** Time until the next delivery falls due, not counting those that are due already; null if there is none. */
  nextDueMs: number | null;
};

export const roundStart = '00000000-0000-0000-0000-000000000000';
/** The most deliveries that one statement claims. All of them are sent at once. */
export const claimMax = 256;
/** One in this many claimed deliveries belongs to a failing webhook. */
export const failingEvery = 8;
/** Webhooks per claim by webhook, so that its cost does not grow with the number of waiting webhooks. */
const webhooksPerClaim = 128;
/** Rows per claim by time: enough to get past webhooks that have used up their share. */
const windowMax = 512;
/** The same for the failing lane, which holds deliveries of webhooks whose last attempt failed. */
const failingWindowMax = 128;

export async function claim(database: Database, options: ClaimOptions): Promise<Claim> {
  const take = Math.min(options.room.total, claimMax);
  const head = options.cursor === null ? byTime() : byWebhook(options.cursor);
  const busy = [...options.inFlight];
  const token = randomUUID();
  const { rows } = await sql<Row>`
    -- prepared: claim
    with recursive clock as materialized (select queue_now() as now),
    busy as materialized (
      select * from unnest(${arrayLiteral(busy.map(([id]) => id))}::uuid[], ${arrayLiteral(busy.map(([, n]) => n))}::int[]) as b(webhook_id, n)
    ),
    ${head},
    placed as (
      select h.*, coalesce(b.n, 0) + row_number() over (partition by h.webhook_id order by h.due_at) as place
      from head h left join busy b on b.webhook_id = h.webhook_id
    ),
    chosen as materialized (
      select id from (
        select id, failing, row_number() over (partition by failing order by due_at) as turn
        from placed where place <= ${options.room.perWebhook}::int
      ) in_line
      where not failing or turn <= ${options.room.failing}::int
      -- One in eight deliveries is of a failing webhook, counted over all claims; all of them are if nobody else waits.
      order by case when failing then turn * ${sql.lit(failingEvery)} - ${options.phase}::int else turn end limit ${take}
    ),
    locked as materialized (
      select p.* from chosen cross join lateral (
        select ctid as tid, id, webhook_id, event_id from pending_deliveries
        where id = chosen.id and lease_token is null
          -- Another worker may have put it back since it was chosen. The test for true keeps an index from serving this
          -- condition.
          and (due_at <= (select now from clock)) is true
        for update skip locked
      ) p
    ),
    -- One row per event and webhook, however many of its deliveries are claimed. This uses an array instead of a join:
    -- a join would prune partitions at run time, and PostgreSQL 18 may then read freed memory where rows are locked
    -- (decision 19).
    subjects as materialized (
      select e.id as event_id, e.audience, e.org_id, e.alliance_id, e.created_at, e.data,
        (select listed from orgs o where o.id = e.org_id) as org_listed
      from events e where e.id = any(array(select distinct event_id from locked))
    ),
    -- The limit keeps each of these an index look-up. Without it, a plan made while the queue is empty would read the
    -- whole table.
    receivers as materialized (
      select l.webhook_id, w.* from (select distinct webhook_id from locked) l
      left join lateral (
        select w.active, w.url, w.secret,
          case when w.previous_secret_expires_at > now() then w.previous_secret end as previous_secret,
          b.org_id as bound_org, b.alliance_id as bound_alliance, b.created_at as bound_at
        from webhooks w left join bindings b on b.app_id = w.app_id where w.id = l.webhook_id limit 1
      ) w on true
    ),
    checked as materialized (
      select l.tid, l.id, w.url, w.secret, w.previous_secret,
        coalesce(w.active and may_receive(e.audience, e.org_id, e.alliance_id, e.created_at, e.org_listed,
          w.bound_org, w.bound_alliance, w.bound_at), false) as allowed,
        case when w.active is null then 'deletion' when w.active then 'permission' else 'deactivation' end as cancelled_by
      -- Full joins never compare every row with every other. An event that is gone yields nulls, so its deliveries are
      -- not allowed.
      from locked l full join subjects e using (event_id) full join receivers w using (webhook_id)
    ),
    -- Finds the row by its ctid, which the lock keeps valid, and so saves another index look-up per row.
    leased as (
      update pending_deliveries p
      set lease_token = ${token}, leased_at = (select now from clock),
        cycle_attempts = p.cycle_attempts + 1, attempt_count = p.attempt_count + 1
      from checked c where p.ctid = c.tid and c.allowed
      returning p.id, p.webhook_id, p.event_id, p.event, p.trigger, p.attempt_count, p.cycle_attempts, p.failing,
        c.url, c.secret, c.previous_secret
    ),
    lease as (
      insert into leases (token, delivery_ids, leased_until)
      select ${token}::uuid, array_agg(id), (select now from clock) + ${options.leaseMs} * interval '1 millisecond'
      from leased having count(*) > 0
    ),
    refused as (
      delete from pending_deliveries p using checked c where p.ctid = c.tid and not c.allowed
      returning p.id, p.event_id, p.event, p.webhook_id, p.attempt_count, p.created_at, c.cancelled_by
    ),
    cancelled as (
      insert into deliveries (id, event_id, event, webhook_id, status, attempt_count, created_at, cancelled_by)
      select id, event_id, event, webhook_id, 'cancelled', attempt_count, created_at, cancelled_by from refused
      returning 1
    )
    select round.*, l.id, l.webhook_id as "webhookId", l.event_id as "eventId", l.event, l.trigger,
      l.attempt_count as number, l.cycle_attempts as "cycleAttempt", l.url, l.secret,
      l.previous_secret as "previousSecret", l.failing, event.data, event.created_at as "eventCreatedAt"
    from (
      select (select count(*) from cancelled) as cancelled, look.*,
        extract(epoch from least(
          (select due_at from pending_deliveries where not failing and due_at > (select now from clock) order by due_at limit 1),
          (select due_at from pending_deliveries where failing and due_at > (select now from clock) order by due_at limit 1)
        ) - (select now from clock))::float8 * 1000 as "nextDueMs"
      from look
    ) round left join (
      select leased.*, row_number() over (partition by event_id order by id) as turn from leased
    ) l on true
    -- Returned once per event, because all its deliveries share it.
    left join lateral (select data, created_at from subjects e where e.event_id = l.event_id and l.turn = 1 limit 1) event on true
  `.execute(database);
  return read(rows, token);
}

type Leased = Omit<Deliverable, 'leaseToken' | 'data' | 'eventCreatedAt'> & {
  eventId: string;
  /** `data` and `eventCreatedAt` are set only in the first row of each event. */
  data: string | null;
  eventCreatedAt: Date | null;
};
type Round = {
  cancelled: number;
  complete: boolean;
  last: string | null;
  nextDueMs: number | null;
};
type Row = Round & LeftJoined<Leased>;

/** `head` holds the candidates; `look` says whether they are everything that is due. */
function byTime() {
  return sql`
    head as materialized (
      (select id, webhook_id, due_at, failing from pending_deliveries
       where not failing and due_at <= (select now from clock) and lease_token is null
       order by due_at limit ${sql.lit(windowMax)})
      union all
      (select id, webhook_id, due_at, failing from pending_deliveries
       where failing and due_at <= (select now from clock) and lease_token is null
       order by due_at limit ${sql.lit(failingWindowMax)})
    ),
    look as (
      select count(*) filter (where not failing) < ${sql.lit(windowMax)}
        and count(*) filter (where failing) < ${sql.lit(failingWindowMax)} as complete, null::uuid as last
      from head
    )`;
}

function byWebhook(cursor: string) {
  return sql`
    candidates as (
      -- Steps from one webhook with pending deliveries to the next, one index look-up each, however much waits behind
      -- any of them.
      (select webhook_id, 1 as n from pending_deliveries where webhook_id > ${cursor} order by webhook_id limit 1)
      union all
      select next.webhook_id, c.n + 1
      from candidates c cross join lateral (
        select p.webhook_id from pending_deliveries p where p.webhook_id > c.webhook_id order by p.webhook_id limit 1
      ) next
      where c.n < ${sql.lit(webhooksPerClaim)}
    ),
    head as materialized (
      select d.id, c.webhook_id, d.due_at, d.failing
      from candidates c left join busy on busy.webhook_id = c.webhook_id
      cross join lateral (
        select p.id, p.due_at, p.failing from pending_deliveries p
        where p.webhook_id = c.webhook_id and p.lease_token is null and p.due_at <= (select now from clock)
        order by p.due_at limit greatest(${sql.lit(inFlightPerWebhookMax)} - coalesce(busy.n, 0), 0)
      ) d
    ),
    look as (
      select count(*) < ${sql.lit(webhooksPerClaim)} as complete, (array_agg(webhook_id order by n desc))[1] as last
      from candidates
    )`;
}

function read(rows: Row[], leaseToken: string): Claim {
  const [first] = rows;
  if (!first) throw new Error('the claim returned no row');
  return {
    deliveries: toDeliverables(
      rows.filter((row) => row.id !== null),
      leaseToken,
    ),
    cancelled: first.cancelled,
    complete: first.complete,
    nextCursor: first.complete ? null : first.last,
    nextDueMs: first.nextDueMs,
  };
}

function toDeliverables(rows: Leased[], leaseToken: string): Deliverable[] {
  const events = new Map<string, Pick<Deliverable, 'data' | 'eventCreatedAt'>>();
  for (const { eventId, data, eventCreatedAt } of rows)
    if (data !== null && eventCreatedAt !== null)
      events.set(eventId, { data, eventCreatedAt: eventCreatedAt.toISOString() });
  // Mutates the rows instead of copying them; nothing else uses them.
  return rows.map((row) => Object.assign(row, { leaseToken, ...events.get(row.eventId) }));
}
