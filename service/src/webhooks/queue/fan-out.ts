/**
 * Takes events from the outbox, once and in order: gives each its position in `events` and its deliveries. Deliveries
 * for which this process has room are inserted with their lease, so their first attempt needs no claim. Sends nothing;
 * next: `sending/deliver.ts`, or `claim.ts` for the others.
 */
import { sql, type Database, type LeftJoined } from '../../database/database.ts';
import { firstOwner, type Deliverable } from '../sending/deliverable.ts';
import type { Room } from './in-flight.ts';
import type { Lease } from './lease.ts';
import { roomsOf, webhookRoom } from './webhook-room.ts';

/** The most events of one statement. */
const eventsMax = 256;
/** The most deliveries of one statement, which then takes about a second, unless one event has more. */
const deliveriesMax = 50_000;
/** The advisory lock of a fan-out. */
export const fanOutLock = 70420006;

export type FanOut = {
  events: number;
  deliveries: number;
  /** Leased to this process. */
  leased: Deliverable[];
  /** Whether deliveries are due that were neither leased nor parked. */
  hasDue: boolean;
  /** Webhooks whose deliveries were parked, because they have no room. */
  parked: string[];
  /** The database's time at which they were parked. */
  atMs: number;
  /** Whether another process was fanning out, so that nothing was looked at. */
  busy: boolean;
  /** Whether more events may wait. */
  more: boolean;
  /** The `xid` below which nothing is left; null if that is not known. */
  floor: string | null;
};

export type FanOutOptions = {
  lease: Lease;
  room: Room;
  /** The `floor` of an earlier call: entries below it need not be looked for. */
  floor: string;
  /** Leaves younger events to the process that is notified first. */
  minAgeMs: number;
  /** An estimate, so that no more events are looked at than there is room for. */
  deliveriesPerEvent: number;
};

export async function fanOut(database: Database, options: FanOutOptions): Promise<FanOut> {
  try {
    return await fanOutOnce(database, options);
  } catch (error) {
    if (!lacksPartition(error)) throw error;
    await ensureOutboxPartitions(database);
    return fanOutOnce(database, options);
  }
}

/** PostgreSQL reports a missing partition as a violated check without a name. */
function lacksPartition(error: unknown): boolean {
  const { code, constraint } = error as { code?: string; constraint?: string };
  return code === '23514' && constraint === undefined;
}

/**
 * Creates partitions for days on which no worker ran. If such a day was dropped, this creates it again, and the next
 * run of retention drops it.
 */
async function ensureOutboxPartitions(database: Database): Promise<void> {
  await sql`
    -- A process's clock makes the id, the database's clock the time, so the two may be on different days.
    select ensure_partitions(day - 1, day + 1)
    from (select distinct (created_at at time zone 'utc')::date as day from outbox) as days
  `.execute(database);
}

type Totals = Omit<FanOut, 'leased' | 'parked'> & { parked: string[] | null };
/** A row has either an event's data or a delivery. */
type EventRow = {
  eventId: string;
  data: string;
  eventCreatedAt: Date;
  traceparent: string | null;
} & {
  [Column in Exclude<keyof DeliveryRow, 'eventId'>]: null;
};
type DeliveryRow = Pick<
  Deliverable,
  'id' | 'webhookId' | 'eventId' | 'event' | 'url' | 'secret' | 'previousSecret' | 'owner'
>;
/** The first row has the totals and nothing else. */
type Row = { totals: Totals | null } & LeftJoined<
  EventRow | (DeliveryRow & { [Column in 'data' | 'eventCreatedAt' | 'traceparent']: null })
>;

async function fanOutOnce(database: Database, options: FanOutOptions): Promise<FanOut> {
  const { lease, room, minAgeMs, deliveriesPerEvent } = options;
  const eventsLimit = Math.min(Math.ceil(room.total / deliveriesPerEvent) + 1, eventsMax);
  const leaseEndsAt = performance.now() + lease.ms;
  const { rows } = await sql<Row>`
    -- prepared: fan_out
    with clock as materialized (select queue_now() as now),
    ${roomsOf(room)},
    ${takeEvents(options, eventsLimit)},
    ${address},
    counted as (
      select a.*, row_number() over (partition by webhook_id order by position)
        <= ${webhookRoom(room)} as fits
      from addressed a
    ),
    made as materialized (
      select uuid_v7() as id, in_order.*, fits and row_number() over (partition by fits order by position) <= ${room.total}::int as leased
      -- When several deliveries fall due at the same moment, the older event goes first.
      from (select * from counted order by position) in_order
    ),
    queued as (
      insert into pending_deliveries (id, event_id, event, webhook_id, trigger, created_at, parked, lease_token, leased_at,
        due_at, attempt_count, cycle_attempts)
      select id, event_id, name, webhook_id, 'event', now, not fits,
        case when leased then ${lease.token}::uuid end, case when leased then now end,
        case when leased then now + ${lease.ms}::int * interval '1 millisecond' else now end,
        leased::int, leased::int
      from made, clock
    )
    select row_to_json(totals) as totals, null::uuid as id, null::uuid as "webhookId", null::uuid as "eventId",
      null as event, null as url, null::bytea as secret, null::bytea as "previousSecret",
      null as owner, null as data, null::timestamptz as "eventCreatedAt", null as traceparent
    from (
      select (select count(*) from taken) as events, (select count(*) from made) as deliveries,
        (select extract(epoch from now) * 1000 from clock)::float8 as "atMs", (select not mine from turn) as busy,
        exists (select from made where fits and not leased) as "hasDue",
        (select array_agg(distinct webhook_id) from made where not fits) as parked,
        (select count(*) from oldest) = ${eventsLimit}::int or (select count(*) from oldest) > (select count(*) from chosen) as more,
        -- Events are taken in the order of their transactions, and all transactions below the snapshot's xmin have ended.
        (select least(pg_snapshot_xmin(pg_current_snapshot()),
            (select xid from oldest where tid <> all(array(select tid from chosen)) order by xid limit 1),
            (select xid from oldest where (select count(*) from oldest) = ${eventsLimit}::int order by xid desc limit 1))::text
         from turn where mine and ${minAgeMs}::int = 0) as floor
    ) totals
    union all
    select null, null, null, id, null, null, null, null, null, data, created_at, traceparent
    from placed where (id in (select event_id from made where leased)) is true
    union all
    select null, id, webhook_id, event_id, name, url, secret,
      case when previous_secret_expires_at > now() then previous_secret end,
      ${firstOwner('made.app_id')}, null, null, null
    from made where leased
  `.execute(database);
  return read(rows, lease.token, leaseEndsAt);
}

/** Moves the `oldest` events from the outbox to `events`, as many as there is room for: `placed`. */
function takeEvents(options: FanOutOptions, eventsLimit: number) {
  return sql`
    -- One process at a time, so that positions follow the order in which events become visible.
    turn as materialized (select pg_try_advisory_xact_lock(${sql.lit(fanOutLock)}) as mine),
    oldest as materialized (
      select ctid as tid, xid, id, audience, org_id, alliance_id from outbox
      where xid >= ${options.floor}::xid8
        -- Without a minimum age, a database whose clock was put back delays nothing.
        and (${options.minAgeMs}::int = 0 or created_at <= (select now from clock) - ${options.minAgeMs}::int * interval '1 millisecond')
      order by xid, id limit (select case when mine then ${eventsLimit}::int else 0 end from turn)
      for update skip locked
    ),
    -- As many as there is room for, and at least one: a backlog waits as one row per event.
    chosen as materialized (
      select tid from (
        select tid, sum(deliveries) over (order by xid, id) as total, row_number() over (order by xid, id) as place
        from (
          select oldest.*, case audience
            when 'global' then (select count(*) from webhooks where active)
            else (
              select count(*) from (
                select app_id from bindings where oldest.audience = 'organization' and org_id = oldest.org_id
                union all
                select app_id from bindings where oldest.audience = 'alliance' and alliance_id = oldest.alliance_id
                offset 0
              ) b cross join lateral (select from webhooks where app_id = b.app_id and active offset 0) w
            ) end as deliveries
          from oldest
        ) counted
      ) summed
      where total <= least(${options.room.total}::int, ${sql.lit(deliveriesMax)}) or place = 1
    ),
    taken as (
      delete from outbox where ctid = any(array(select tid from chosen))
      returning xid, id, name, audience, org_id, alliance_id, data, created_at, traceparent
    ),
    placed as materialized (
      select in_order.*, nextval('event_positions') as position,
        (select listed from orgs o where o.id = in_order.org_id) as org_listed
      from (select * from taken order by xid, id) in_order
    ),
    stored as (
      insert into events (id, name, audience, org_id, alliance_id, data, created_at, position, org_listed, traceparent)
      select id, name, audience, org_id, alliance_id, data, created_at, position, org_listed, traceparent from placed
    )
  `;
}

/** Finds the webhooks of each event: `addressed`. */
const address = sql`
  -- The offsets keep each of these a look-up by index, whatever the planner believes of the tables.
  addressed as (
    select e.position, e.id as event_id, e.name, w.*
    from placed e
    cross join lateral (
      select null::uuid as app_id, null::uuid as org_id, null::uuid as alliance_id, null::timestamptz as created_at
      where e.audience = 'global'
      union all
      select app_id, org_id, alliance_id, created_at from bindings where e.audience = 'organization' and org_id = e.org_id
      union all
      select app_id, org_id, alliance_id, created_at from bindings where e.audience = 'alliance' and alliance_id = e.alliance_id
      offset 0
    ) b
    cross join lateral (
      select id as webhook_id, app_id, url, secret, previous_secret, previous_secret_expires_at
      from webhooks where b.app_id is null and takes_event(active, events, e.name)
      union all
      select id, app_id, url, secret, previous_secret, previous_secret_expires_at
      from webhooks where app_id = b.app_id and takes_event(active, events, e.name)
      offset 0
    ) w
    where may_receive(e.audience, e.org_id, e.alliance_id, e.created_at, e.org_listed, b.org_id, b.alliance_id, b.created_at)
  )
`;

function read(rows: Row[], leaseToken: string, leaseEndsAt: number): FanOut {
  const totals = rows[0]?.totals;
  if (!totals) throw new Error('the fan-out returned no totals');
  const { parked, ...rest } = totals;
  const contents = new Map<string, Pick<Deliverable, 'data' | 'eventCreatedAt' | 'traceparent'>>();
  for (const row of rows)
    if (row.id === null && row.eventId !== null)
      contents.set(row.eventId, {
        data: row.data,
        eventCreatedAt: row.eventCreatedAt.toISOString(),
        traceparent: row.traceparent,
      });
  const firstAttempt = { trigger: 'event', number: 1, cycleAttempt: 1 } as const;
  const leased: Deliverable[] = [];
  for (const row of rows) {
    if (row.id === null) continue;
    const { data = '', eventCreatedAt = '', traceparent = null } = contents.get(row.eventId) ?? {};
    // Adds to the row instead of copying it; nothing else uses it.
    const more = {
      data,
      eventCreatedAt,
      traceparent,
      leaseToken,
      leaseEndsAt,
      createdAtMs: rest.atMs,
    };
    leased.push(Object.assign(row, more, firstAttempt));
  }
  return { ...rest, leased, parked: parked ?? [] };
}
