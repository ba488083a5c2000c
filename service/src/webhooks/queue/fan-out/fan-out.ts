/**
 * Takes events from the outbox, once and in order: gives each its position in `events` and its deliveries. Deliveries
 * for which this process has room are inserted with their lease, so their first attempt needs no claim; all others are
 * parked. An event for many webhooks gets its position at once and its deliveries in slices (`advanceBroadcast`), with
 * other events in between. Sends nothing; next: `sending/deliver.ts`, or `claim.ts` for the others.
 */
import { arrayLiteral } from '../../../database/array-literal.ts';
import { sql, type Database, type LeftJoined } from '../../../database/database.ts';
import { fanOutLock } from '../../../events/queue-channel.ts';
import { isRefusal, setAside, stepOrSetAside } from '../../../events/set-aside.ts';
import { withPartitions } from '../../../database/migrate.ts';
import { positionsPerTimeline, timeline } from '../../../database/timeline.ts';
import {
  deliverableOf,
  firstOwner,
  lastLatency,
  type Deliverable,
  type OfEvent,
} from '../../sending/deliverable.ts';
import type { Lease } from '../dispatch/claim.ts';
import { slowMs, type LeaseRoom } from '../dispatch/room.ts';

/** The most events of one statement, and the least that it looks at, because the estimate may be too high. */
const eventsMax = 256;
const eventsMin = 32;
/** An event for more webhooks is a broadcast, and no slice has more deliveries. */
export const sliceMax = 512;
/** Webhooks that one slice looks at. */
const scannedMax = 4_096;
/** Others wait for a statement that evaluates filters. It begins no evaluation after this time; the largest takes about 3 ms. */
const filteringMs = 50;
/**
 * An event with longer filters, in characters of their paths, is a broadcast, because no event is left half evaluated. These
 * take `filteringMs` at the most: a comparison of 13 characters with 200 items takes 20 µs.
 */
const filterLengthMax = 32_768;
/** Webhooks with filters that one slice looks at. */
const filteredMax = 256;

export type FanOut = {
  /** How many events got their position. */
  events: number;
  deliveries: number;
  /** Leased to this process. */
  leased: Deliverable[];
  /** Webhooks whose deliveries were parked, because they have no room. */
  parked: string[];
  /** The database's time at which they were parked. */
  atMs: number;
  /** Whether another process was fanning out, so that nothing was looked at. */
  busy: boolean;
  /** Whether more events may wait, or slices. */
  more: boolean;
  /** Whether any broadcast has slices left. */
  broadcasts: boolean;
  /** The `xid` below which nothing is left; null if that is not known. */
  floor: string | null;
  /** Whether something was refused, and deliveries may be parked that are not in `parked`. */
  byParts: boolean;
};

export type FanOutOptions = {
  lease: Lease;
  room: LeaseRoom;
  /** The `floor` of an earlier call: entries below it need not be looked for. */
  floor: string;
  /** Leaves younger events to the process that is notified first. */
  minAgeMs: number;
  /** An estimate, so that no more events are looked at than there is room for. */
  deliveriesPerEvent: number;
};

/** Sets aside events that are refused alone. */
export function fanOut(database: Database, options: FanOutOptions): Promise<FanOut> {
  let leased = 0;
  const take = async (only: string[] | null, broadcastAbove: number) => {
    const [total, unknown] = [options.room.total, options.room.unknown].map((left) =>
      Math.max(left - leased, 0),
    ) as [number, number];
    const part = await withPartitions(
      () => ensureOutboxPartitions(database),
      () =>
        fanOutOnce(
          database,
          { ...options, room: { ...options.room, total, unknown } },
          only,
          broadcastAbove,
        ),
    );
    leased += part.leased.length;
    return part;
  };
  return stepOrSetAside(database, {
    source: 'outbox',
    stage: 'fan-out',
    step: (only) =>
      take(only, sliceMax).catch((error: unknown) => {
        if (only?.length !== 1 || !isRefusal(error)) throw error;
        // Of a broadcast, a slice can set aside one delivery without the others.
        return take(only, 0);
      }),
    list: () => listOldest(database, options),
    condition: (id) => sql`id = ${id}`,
    merge,
  });
}

function merge(parts: FanOut[]): FanOut {
  const add = (pick: (part: FanOut) => number) => parts.reduce((sum, part) => sum + pick(part), 0);
  return {
    events: add((part) => part.events),
    deliveries: add((part) => part.deliveries),
    leased: parts.flatMap((part) => part.leased),
    parked: parts.flatMap((part) => part.parked),
    atMs: Math.min(...parts.map((part) => part.atMs)),
    busy: false,
    more: true,
    broadcasts: true,
    floor: null,
    byParts: true,
  };
}

async function ensureOutboxPartitions(database: Database): Promise<void> {
  // For days on which no worker ran.
  await sql`select ensure_outbox_partitions()`.execute(database);
}

type Totals = Omit<FanOut, 'leased' | 'parked' | 'byParts'> & {
  parked: string[] | null;
  /** The time of the deliveries, if it is not the statement's; null if there are none. */
  madeAtMs: number | null;
};
type EventColumns = { data: string; eventCreatedAt: Date; traceparent: string | null };
type DeliveryColumns = Omit<
  Deliverable,
  | keyof EventColumns
  | 'leaseToken'
  | 'leaseEndsAt'
  | 'createdAtMs'
  | 'chat'
  | 'trigger'
  | 'number'
  | 'cycleAttempt'
>;
/** The first row has the totals and nothing else; each other row has an event's data or a delivery. */
type Row = { totals: Totals | null } & LeftJoined<
  | ({ eventId: string } & EventColumns & {
        [Column in Exclude<keyof DeliveryColumns, 'eventId'>]: null;
      })
  | (DeliveryColumns & { [Column in keyof EventColumns]: null })
>;

/** `only`: the ids of these events. One for more webhooks than `broadcastAbove` becomes a broadcast. */
async function fanOutOnce(
  database: Database,
  options: FanOutOptions,
  only: string[] | null,
  broadcastAbove: number,
): Promise<FanOut> {
  const { lease, room, floor, minAgeMs } = options;
  const eventsLimit = limitEvents(options, only);
  const leaseEndsAt = performance.now() + lease.ms;
  const { rows } = await sql<Row>`
    -- prepared: fan_out
    with ${oldestEvents(options, only)},
    ${subscribers},
    ${chooseEvents(room.total, broadcastAbove)},
    subscribers_of_chosen as materialized (
      select s.*, ${firstOwner('s.app_id')} as owner, ${lastLatency('s.webhook_id')} as latency_ms from subscribers s
      where (topic in (select topic from chosen where not is_broadcast)) is true
    ),
    ${placeChosen},
    -- One that is small goes before the large ones, which may wait for their receivers.
    begun as (
      insert into broadcasts (event_id, position)
      select id, case when ${broadcastAbove}::int = 0 then -position else position end from placed where is_broadcast
    ),
    addressed as (
      select position, event_id, name, id_at, made_at, may_lease, webhook_id, app_id, url, secret, previous_secret,
        previous_secret_expires_at, own_headers, owner, latency_ms
      from (
        select e.position, e.id as event_id, e.name, e.audience, e.org_id, e.alliance_id, e.created_at, e.org_listed,
          clock_timestamp() as id_at, now as made_at,
          -- Chat channels may have to wait, which only a claim looks for.
          s.format = 'json' as may_lease, s.*,
          s.filter_path is null or s.webhook_id = any(e.passed) as passes
        from clock, placed e join subscribers_of_chosen s on s.topic = e.topic
        where not e.is_broadcast
        offset 0
      ) e where passes and may_receive(audience, org_id, alliance_id, created_at, org_listed, bound_org, bound_alliance, bound_at)
    ),
    ${makeDeliveries(lease, room)},
    totals as (
      select events, null::timestamptz as made_at, looked > events and events > 0 or events >= ${eventsLimit}::int as more,
        begins or exists (select from broadcasts) as broadcasts,
        -- All transactions below the snapshot's xmin have ended.
        (select least(pg_snapshot_xmin(pg_current_snapshot()),
            (select xid from outbox where xid >= ${floor}::xid8 and ctid <> all(array(select tid from chosen)) order by xid limit 1))::text
         from turn where mine and ${minAgeMs}::int = 0) as floor
      from (select count(*) as events, bool_or(is_broadcast) is true as begins from placed) placed,
        (select count(*) as looked from oldest) oldest
    )
    ${returnLeased}
  `.execute(database);
  return read(rows, lease.token, leaseEndsAt);
}

function limitEvents({ room, deliveriesPerEvent }: FanOutOptions, only: string[] | null): number {
  if (only) return only.length;
  const estimate = Math.ceil(room.total / deliveriesPerEvent) + 1;
  return Math.min(Math.max(estimate, eventsMin), eventsMax);
}

/** The ids of the events at which the next fan-out looks. */
async function listOldest(database: Database, options: FanOutOptions): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    with ${oldestEvents(options, null)} select id from oldest order by overtakes desc, xid, id
  `.execute(database);
  return rows.map(({ id }) => id);
}

/** The events at which a fan-out looks: `oldest`. */
function oldestEvents(options: FanOutOptions, only: string[] | null) {
  const { floor, minAgeMs } = options;
  const eventsLimit = limitEvents(options, only);
  return sql`
    clock as materialized (select queue_now() as now),
    ${turn},
    ${waitingEvents('first', sql`xid >= ${floor}::xid8 and (${only}::uuid[] is null or id = any(${only}::uuid[]))`, eventsLimit, minAgeMs)},
    -- A transaction with more events than that is overtaken by those after it.
    large as materialized (
      select max(xid) as xid from first having count(*) = ${eventsLimit}::int and min(xid) = max(xid)
    ),
    ${waitingEvents('overtaking', sql`xid > (select xid from large) and ${only}::uuid[] is null`, eventsMin, minAgeMs)},
    oldest as materialized (select *, false as overtakes from first union all select *, true from overtaking)
  `;
}

/** Locks the oldest events that wait where `where` says, except those that somebody has locked. */
function waitingEvents(
  name: string,
  where: ReturnType<typeof sql>,
  limit: number,
  minAgeMs: number,
) {
  return sql`
    ${sql.raw(name)} as materialized (
      select ctid as tid, xid, id, name, audience, org_id, alliance_id,
        -- Events of one topic go to the same webhooks, but for when these were bound.
        case audience when 'global' then name else concat_ws(' ', name, org_id, alliance_id) end as topic
      from outbox
      where ${where}
        -- One from the future is from before the database's clock was put back.
        and created_at not between (select now from clock) - ${minAgeMs}::int * interval '1 millisecond' and (select now from clock)
      order by xid, id limit (select case when mine then ${limit}::int else 0 end from turn)
      for update skip locked
    )
  `;
}

/** When the statement first asks. */
const filteringStarted = sql`started as materialized (select clock_timestamp() as at)`;
const isFilteringOver = sql`
  (clock_timestamp() > (select at from started) + ${sql.lit(filteringMs)} * interval '1 millisecond')
`;

/** Takes as many of `oldest` as there is room for: `chosen`. `passed` are the webhooks whose filters let the event pass. */
function chooseEvents(total: number, broadcastAbove: number) {
  return sql`
  sizes as materialized (
    select topic, count(*) as subscribers, count(filter_path) as filters, sum(length(filter_path::text)) as filter_length
    from subscribers group by topic
  ),
  sized as (
    -- The slices of a broadcast evaluate them.
    select *, case when is_broadcast then 0 else filters end as filtered
    from (
      select tid, xid, id, name, topic, overtakes, row_number() over (order by xid, id) as place,
        coalesce(s.subscribers, 0) as subscribers, coalesce(s.filters, 0) as filters,
        coalesce(s.subscribers > ${broadcastAbove}::int or s.filter_length > ${sql.lit(filterLengthMax)}, false) as is_broadcast
      from oldest o left join sizes s using (topic)
    ) o
    order by overtakes desc, xid, id
  ),
  ${filteringStarted},
  -- As many as there is room for, and at least one: a backlog waits as one row per event.
  chosen as materialized (
    select tid, xid, id, topic, is_broadcast, passed from (
      select *, bool_and(is_next) over in_order as is_in_time,
        sum(case when not is_broadcast then subscribers - filtered + coalesce(cardinality(passed), 0) end) over in_order as total
      from (
        -- Each event is read once, and only if there is a filter, and time to evaluate it.
        select *, case when is_next and filtered > 0 then array(
          select webhook_id from subscribers s
          where s.topic = r.topic and filter_path is not null and passes_filter(filter_path, r.name, r.readable)
        ) end as passed
        from (
          select *, case when is_next and filtered > 0 then (select filterable(data) from outbox where ctid = tid) end as readable
          from (
            select *, filtered = 0 or place = 1 or not ${isFilteringOver} as is_next from sized offset 0
          ) sized offset 0
        ) r offset 0
      ) evaluated
      window in_order as (order by overtakes desc, xid, id)
    ) summed
    where is_in_time and coalesce(total, 0) <= ${total}::int or place = 1
  )
  `;
}

/** True, after it has moved positions to the range of the server's timeline: clients may have cursors of events that a failover lost. */
const areOfTimeline = sql`(
  select case when mine and coalesce(pg_sequence_last_value('event_positions'), 0) < lowest
    then setval('event_positions', lowest) else 1 end
  from turn cross join (select (${timeline} - 1) * ${sql.lit(positionsPerTimeline)}::bigint as lowest) of_timeline
) > 0`;

/** Moves `chosen` from the outbox to `events`: `placed`. */
const placeChosen = sql`
  taken as (
    delete from outbox where ctid = any(array(select tid from chosen))
    returning xid, id, name, audience, org_id, alliance_id, data, created_at, traceparent
  ),
  placed as materialized (
    select in_order.*, nextval('event_positions') as position,
      (select listed from orgs o where o.id = in_order.org_id) as org_listed
    from (select * from taken join chosen using (xid, id) order by xid, id) in_order
    where ${areOfTimeline}
  ),
  stored as (
    insert into events (id, name, audience, org_id, alliance_id, data, created_at, position, org_listed, traceparent)
    select id, name, audience, org_id, alliance_id, data, created_at, position, org_listed, traceparent from placed
  )
`;

/** One process at a time, so that positions follow the order in which events become visible. */
const turn = sql`
  turn as materialized (select pg_try_advisory_xact_lock(${sql.lit(fanOutLock)}) as mine)
`;

/** The webhooks of each topic, up to one more than a slice has. */
const subscribers = sql`
  subscribers as materialized (
    select t.topic, s.* from (
      select distinct topic, name, audience, case when audience <> 'global' then org_id end as org_id,
        case when audience <> 'global' then alliance_id end as alliance_id
      from oldest
    ) t cross join lateral (
      select b.org_id as bound_org, b.alliance_id as bound_alliance, b.created_at as bound_at, w.* from (
        -- The offsets keep each of these a look-up by index, whatever the planner believes of the tables.
        select null::uuid as app_id, null::uuid as org_id, null::uuid as alliance_id, null::timestamptz as created_at
        where t.audience = 'global'
        union all
        select app_id, org_id, alliance_id, created_at from bindings where t.audience = 'organization' and org_id = t.org_id
        union all
        select app_id, org_id, alliance_id, created_at from bindings where t.audience = 'alliance' and alliance_id = t.alliance_id
        offset 0
      ) b cross join lateral (
        select id as webhook_id, app_id, url, format, secret, previous_secret, previous_secret_expires_at, own_headers, filter_path
        from webhooks where b.app_id is null and takes_event(active, events, t.name)
        union all
        select id, app_id, url, format, secret, previous_secret, previous_secret_expires_at, own_headers, filter_path
        from webhooks where app_id = b.app_id and takes_event(active, events, t.name)
        offset 0
      ) w limit ${sql.lit(sliceMax + 1)}
    ) s
  )
`;

/** Whether a version was valid when the event `e` got its position. */
const wasValid = sql`
  -- One from the future is from before the database's clock was put back.
  (valid_from <= e.fanned_out_at
    or e.fanned_out_at <= (select now from clock) and valid_from > (select now from clock))
  and coalesce(valid_to > e.fanned_out_at, true)
`;

type SliceOptions = Pick<FanOutOptions, 'lease' | 'room' | 'minAgeMs'> & { count: number };
/** Where a broadcast is. */
type Head = { eventId: string; reached: string };

/**
 * Makes the next slice of a broadcast, of at most `count` deliveries. Returns zero events. If it is refused it makes fewer,
 * down to one, which is set aside.
 */
export async function advanceBroadcast(database: Database, options: SliceOptions): Promise<FanOut> {
  for (let { count } = options; ; count = Math.ceil(count / 2)) {
    const head = count === 1 ? await readHead(database) : null;
    try {
      return await advanceOnce(database, { ...options, count }, head);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      if (head) return setNextAside(database, options, head, error);
    }
  }
}

async function readHead(database: Database): Promise<Head | null> {
  const { rows } = await sql<Head>`
    select event_id as "eventId", reached from broadcasts order by position limit 1
  `.execute(database);
  return rows[0] ?? null;
}

async function setNextAside(
  database: Database,
  { minAgeMs }: SliceOptions,
  head: Head,
  error: unknown,
): Promise<FanOut> {
  const moved = sql`
    with clock as materialized (select queue_now() as now),
    ${turn},
    ${nextSubscribers(minAgeMs, 1, head)}
    update broadcasts set reached = webhook_id from placed e cross join subscribers
    where broadcasts.event_id = e.id
    returning jsonb_build_object('id', uuid_v7(e.fanned_out_at), 'event_id', e.id, 'event', e.name, 'webhook_id', webhook_id,
      'trigger', 'event', 'created_at', e.fanned_out_at, 'due_at', e.fanned_out_at) as original
  `;
  const count = await setAside(database, {
    source: 'pending_deliveries',
    stage: 'fan-out',
    error,
    moved,
  });
  if (count === 0) throw error;
  return merge([]);
}

/** `at`: only if the broadcast is there. */
async function advanceOnce(
  database: Database,
  { lease, room, count, minAgeMs }: SliceOptions,
  at: Head | null,
): Promise<FanOut> {
  const leaseEndsAt = performance.now() + lease.ms;
  const { rows } = await sql<Row>`
    -- prepared: advance_broadcast
    with clock as materialized (select queue_now() as now),
    ${turn},
    ${nextSubscribers(minAgeMs, count, at)},
    reached as materialized (
      select case
        when exists (select from late)
        then (select id from (${scanned}) w where id < (select webhook_id from late) order by id desc limit 1)
        when (select count(*) from subscribers) = ${count}::int
        then (select webhook_id from subscribers order by webhook_id desc limit 1)
        -- Null after the last one.
        else (select nullif(id, (select id from webhooks order by id desc limit 1)) from (${scanned}) w order by id desc limit 1)
      end as id from broadcast b
    ),
    advanced as (
      update broadcasts set reached = (select id from reached), advanced_at = (select now from clock)
      where event_id = (select event_id from broadcast) and (select id from reached) is not null
    ),
    ended as (
      delete from broadcasts where event_id = (select event_id from broadcast) and (select id from reached) is null
      returning event_id
    ),
    addressed as (
      select e.position, e.id as event_id, e.name, e.fanned_out_at as id_at, e.fanned_out_at as made_at, s.*, ${firstOwner('s.app_id')} as owner, ${lastLatency('s.webhook_id')} as latency_ms
      from placed e cross join subscribers s
      -- Otherwise each use of a column would look it up again.
      offset 0
    ),
    ${makeDeliveries(lease, room)},
    totals as (
      select 0 as events, exists (select from broadcast) as more, null::text as floor, (select fanned_out_at from placed) as made_at,
        (select count(*) from broadcasts) > (select count(*) from ended) as broadcasts
    )
    ${returnLeased}
  `.execute(database);
  return read(rows, lease.token, leaseEndsAt);
}

/** The webhooks that the next slice looks at, in order. */
const scanned = sql`
  select * from (
    select *, row_number() over in_order as place, count(filter_path) over in_order as filtered
    from webhooks where id > (select reached from broadcast)
    window in_order as (order by id rows unbounded preceding)
  ) w
  where place <= ${sql.lit(scannedMax)} and filtered <= ${sql.lit(filteredMax)}
  order by id
`;

/**
 * The first broadcast, its event as `placed`, and its next webhooks as `subscribers`. It may be newer than the statement's
 * snapshot, if its slice before this one was committed meanwhile: it is changed by its id, because the snapshot has no row
 * at its place.
 */
function nextSubscribers(minAgeMs: number, count: number, at: Head | null) {
  return sql`
  broadcast as materialized (
    select event_id, reached from broadcasts
    where (select mine from turn)
      and (${at?.eventId ?? null}::uuid is null or event_id = ${at?.eventId ?? null}::uuid and reached = ${at?.reached ?? null}::uuid)
      and advanced_at not between (select now from clock) - ${minAgeMs}::int * interval '1 millisecond' and (select now from clock)
    order by position limit 1 for update skip locked
  ),
  placed as materialized (
    select e.* from broadcast b cross join lateral (select * from events where id = b.event_id limit 1) e
  ),
  readable as materialized (select filterable(data) as data from placed),
  ${filteringStarted},
  -- The webhooks of the moment at which the event got its position.
  looked as materialized (
    select w.id as webhook_id, w.app_id, w.url, w.secret, w.previous_secret, w.previous_secret_expires_at, w.own_headers, s.may_lease, s.is_late
    from (${scanned}) w cross join lateral (
      select w.active and w.format = 'json' and may_receive(e.audience, e.org_id, e.alliance_id, e.created_at,
        (select listed from orgs o where o.id = e.org_id), n.org_id, n.alliance_id, n.created_at) as may_lease, is_late
      from placed e
      cross join lateral (
        select active, events, filter_path from webhook_versions
        where webhook_id = w.id and ${wasValid}
        order by valid_from desc limit 1
      ) v
      -- The first is never late, so that each slice gets further, and neither is one that is refused.
      cross join lateral (
        select case when v.filter_path is not null and w.place > 1 and ${at === null}::boolean then ${isFilteringOver} else false end as is_late offset 0
      ) l
      left join lateral (
        select org_id, alliance_id, bound_at from binding_versions
        where app_id = w.app_id and ${wasValid}
        order by valid_from desc limit 1
      ) b on true
      left join lateral (select org_id, alliance_id, created_at from bindings where app_id = w.app_id limit 1) n on true
      where takes_event(v.active, v.events, e.name) and may_receive(e.audience, e.org_id, e.alliance_id, e.created_at,
        e.org_listed, b.org_id, b.alliance_id, b.bound_at)
        -- Read at most once, and only if there is a filter.
        and (is_late or passes_filter(v.filter_path, e.name, (select data from readable)))
      -- Keeps the order of the webhooks, so that it ends with the last one that is needed.
      offset 0
    ) s
    order by w.id limit ${count}::int
  ),
  -- The next slice begins with it.
  late as materialized (select webhook_id from looked where is_late order by webhook_id limit 1),
  subscribers as materialized (
    select * from looked where (webhook_id >= (select webhook_id from late)) is not true
  )
  `;
}

/** Inserts the deliveries of `addressed`: `made`. */
function makeDeliveries(lease: Lease, { total, unknown, full, ...room }: LeaseRoom) {
  return sql`
    counted as (
      select a.*, may_lease and (webhook_id in (select unnest(${arrayLiteral(full)}::uuid[]))) is not true
        and coalesce(latency_ms <= ${sql.lit(slowMs)}, true)
        and row_number() over (partition by webhook_id order by position) <= least(
          webhook_share(webhook_id, ${room.perWebhook}::int, ${room.place}::int, ${room.workers}::int),
          case when latency_ms is null then ${room.atFirst}::int end) as fits
      from addressed a
    ),
    made as materialized (
      select uuid_v7(id_at) as id, in_order.*, fits and count(*) filter (where fits) over so_far <= ${total}::int
        and (latency_ms is not null or count(*) filter (where fits and latency_ms is null) over so_far <= ${unknown}::int) as leased
      -- When several deliveries are parked at the same moment, the older event goes first.
      from (select * from counted order by position) in_order
      window so_far as (order by position rows unbounded preceding)
    ),
    queued as (
      insert into pending_deliveries (id, event_id, event, webhook_id, trigger, created_at, parked, lease_token, leased_at,
        due_at, attempt_count, cycle_attempts)
      select id, event_id, name, webhook_id, 'event', made_at, not leased,
        case when leased then ${lease.token}::uuid end, case when leased then now end,
        case when leased then now + ${lease.ms}::int * interval '1 millisecond' else now end,
        leased::int, leased::int
      from made, clock
    )
  `;
}

/** The totals, the data of events that have leased deliveries, and these. */
const returnLeased = sql`
  select row_to_json(row) as totals, null::uuid as id, null::uuid as "webhookId", null::uuid as "eventId",
    null as event, null as url, null::bytea as secret, null::bytea as "previousSecret", null::bytea as "ownHeaders", null as owner, null::int as "latencyMs",
    null as data, null::timestamptz as "eventCreatedAt", null as traceparent
  from (
    select events, more, floor, broadcasts, deliveries, parked, not mine as busy,
      (extract(epoch from made_at) * 1000)::float8 as "madeAtMs", (extract(epoch from now) * 1000)::float8 as "atMs"
    from totals, clock, turn, (
      select count(*) as deliveries, array_agg(distinct webhook_id) filter (where not leased) as parked from made
    ) made
  ) row
  union all
  select null, null, null, id, null, null, null, null, null, null, null, data, created_at, traceparent
  from placed where (id in (select event_id from made where leased)) is true
  union all
  select null, id, webhook_id, event_id, name, url, secret,
    case when previous_secret_expires_at > now() then previous_secret end, own_headers, owner, latency_ms, null, null, null
  from made where leased
`;

function read(rows: Row[], leaseToken: string, leaseEndsAt: number): FanOut {
  const totals = rows[0]?.totals;
  if (!totals) throw new Error('the fan-out returned no totals');
  const { parked, madeAtMs, ...rest } = totals;
  const contents = new Map<string, OfEvent>();
  for (const row of rows)
    if (row.id === null && row.eventId !== null)
      contents.set(row.eventId, {
        data: row.data,
        eventCreatedAt: row.eventCreatedAt.toISOString(),
        traceparent: row.traceparent,
      });
  const firstAttempt = { trigger: 'event', number: 1, cycleAttempt: 1 } as const;
  const lease = { leaseToken, leaseEndsAt, createdAtMs: madeAtMs ?? rest.atMs };
  const leased: Deliverable[] = [];
  for (const row of rows) {
    const content = row.eventId === null ? undefined : contents.get(row.eventId);
    if (row.id === null || !content) continue;
    const { id, webhookId, eventId, event } = row;
    const delivery = { id, webhookId, eventId, event, ...lease, ...firstAttempt };
    leased.push(deliverableOf(delivery, row, content, null));
  }
  return { ...rest, leased, parked: parked ?? [], byParts: false };
}
