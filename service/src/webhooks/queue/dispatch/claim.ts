/**
 * Leases deliveries that wait: retries, redeliveries, and those for which fan-out had no room. What falls due is parked, and
 * what is parked is leased webhook by webhook, so that no webhook's backlog delays another's. Counts each attempt before it
 * is made, so that a worker that dies or freezes cannot cause a seventh attempt. Two claims at once take different rows.
 * Next: `load-deliveries.ts`, which checks permission.
 */
import { arrayLiteral } from '../../../database/array-literal.ts';
import { sql, type Database, type LeftJoined } from '../../../database/database.ts';
import { stepOrSetAside } from '../../../events/set-aside.ts';
import type { LeasedDelivery } from '../../sending/deliverable.ts';
import { closedMs } from './chat-limits.ts';

/** The most deliveries that one statement parks. */
export const parkMax = 512;
/** Webhooks whose parked deliveries one statement claims, or looks for. */
export const webhooksMax = 128;

/** The mark of a process on the deliveries that it leases with one statement. */
export type Lease = {
  /** Unique, so that a late record of an earlier lease of the same delivery writes nothing. */
  token: string;
  /** An attempt's whole deadline, and the time to record it. */
  ms: number;
};

export type ParkedDue = {
  /** How many deliveries were parked. */
  count: number;
  /** Their webhooks. */
  webhookIds: string[];
  /** Time until the next delivery falls due, not counting those that are due already; null if there is none. */
  nextDueMs: number | null;
  /** The database's time of this look, in RFC 3339. */
  at: string;
  /** Whether something was refused, and deliveries may be parked whose webhooks are not in `webhookIds`. */
  byParts: boolean;
};

/**
 * By webhook, the time before which none of its deliveries is parked, in the database's milliseconds. Who learns of
 * deliveries that were parked sets it again, so that a running claim does not.
 */
export type ParkedSince = Map<string, { atMs: number }>;

/** Longer than a transaction can take that makes a delivery due, or parks it. */
export const transactionMaxMs = 20_000;

type Leased = Omit<LeasedDelivery, 'leaseToken' | 'leaseEndsAt'>;

/** How a delivery is set aside that is refused. */
const waiting = {
  source: 'pending_deliveries',
  stage: 'claim',
  condition: (id: string) => sql`id = ${id} and lease_token is null`,
} as const;

/**
 * Parks what is due, the longest first. `since`: the time of an earlier look that found everything, or null; it looks back
 * from there over transactions of `lookBackMs`.
 */
export function parkDue(
  database: Database,
  since: string | null = null,
  lookBackMs = transactionMaxMs,
): Promise<ParkedDue> {
  return stepOrSetAside(database, {
    ...waiting,
    step: (only) => parkOnce(database, since, lookBackMs, only),
    list: () => listIds(database, dueRows(since, lookBackMs)),
    merge: (parts) => ({
      // The next look goes on at once.
      count: parkMax,
      webhookIds: parts.flatMap(({ webhookIds }) => webhookIds),
      nextDueMs: null,
      at: parts[0]?.at ?? '',
      byParts: true,
    }),
  });
}

/** The ids of `due`. */
async function listIds(database: Database, due: ReturnType<typeof sql>): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    with clock as materialized (select queue_now() as now), ${due} select id from due
  `.execute(database);
  return rows.map(({ id }) => id);
}

/** Needs `clock`. */
function dueRows(since: string | null, lookBackMs: number, only: string[] | null = null) {
  return sql`
    due as materialized (
      select id, ctid as tid from pending_deliveries
      where lease_token is null and not parked and due_at <= (select now from clock)
        -- Rows that are gone but in somebody's snapshot stay at the head of the index, and are not stepped over again.
        and due_at >= coalesce(${since}::timestamptz - ${lookBackMs}::int * interval '1 millisecond', '-infinity')
        and (${only}::uuid[] is null or id = any(${only}::uuid[]))
      order by due_at limit ${sql.lit(parkMax)}
      for update skip locked
    )
  `;
}

async function parkOnce(
  database: Database,
  since: string | null,
  lookBackMs: number,
  only: string[] | null,
): Promise<ParkedDue> {
  type Row = Omit<ParkedDue, 'webhookIds' | 'byParts'> & { webhookIds: string[] | null };
  const { rows } = await sql<Row>`
    -- prepared: park_due
    with clock as materialized (select queue_now() as now),
    ${dueRows(since, lookBackMs, only)},
    parked as (
      -- Parked ones are in the order in which they were parked, so a claim may begin where the last one ended.
      update pending_deliveries set parked = true, due_at = (select now from clock)
      where ctid = any(array(select tid from due))
      returning webhook_id
    )
    select json_build_object('at', now) ->> 'at' as at, (select count(*) from due) as count,
      (select array_agg(distinct webhook_id) from parked) as "webhookIds",
      (select extract(epoch from due_at - now)::float8 * 1000 from pending_deliveries
       where lease_token is null and not parked and due_at > now
       order by due_at limit 1) as "nextDueMs"
    from clock
  `.execute(database);
  const [row] = rows;
  if (!row) throw new Error('the look for due deliveries returned nothing');
  return { ...row, webhookIds: row.webhookIds ?? [], byParts: false };
}

export type Claimed = {
  leased: LeasedDelivery[];
  /** Webhooks of which nothing was leased, because a chat platform has closed them for so many milliseconds. */
  closed: Map<string, number>;
  /** Whether something was refused, so that these webhooks may have room left and deliveries for it. */
  byParts: boolean;
};

/** As `claimParked`, and sets aside deliveries that are refused. */
export async function claimOrSetAside(
  database: Database,
  lease: Lease,
  rooms: ReadonlyMap<string, number>,
  since: ParkedSince,
): Promise<Claimed> {
  if (rooms.size === 0) return { leased: [], closed: new Map(), byParts: false };
  return stepOrSetAside(database, {
    ...waiting,
    step: async (only) => ({
      ...(await claimParked(database, lease, rooms, only ? new Map() : since, only)),
      byParts: only !== null,
    }),
    list: () => listIds(database, parkedRows(rooms, since)),
    merge: (parts) => ({
      leased: parts.flatMap(({ leased }) => leased),
      closed: new Map(parts.flatMap(({ closed }) => [...closed])),
      byParts: true,
    }),
  });
}

/** Needs `clock`. */
function parkedRows(
  rooms: ReadonlyMap<string, number>,
  since: ParkedSince,
  only: string[] | null = null,
) {
  const ids = [...rooms.keys()];
  return sql`
    webhook as materialized (
      select *, ${closedMs} as closed_ms from unnest(${arrayLiteral(ids)}::uuid[], ${arrayLiteral([...rooms.values()])}::int[],
        ${arrayLiteral(ids.map((id) => since.get(id)?.atMs ?? -Infinity))}::float8[]) as w(id, room, since)
    ),
    due as materialized (
      select w.id as webhook_id, w.room, d.id, d.tid, d.due_at
      from webhook w cross join lateral (
        select id, ctid as tid, due_at from pending_deliveries
        where webhook_id = w.id and parked and due_at >= to_timestamp(w.since / 1000)
          and (${only}::uuid[] is null or id = any(${only}::uuid[]))
        -- The order of one index alone.
        order by due_at, id limit w.room
        for update skip locked
      ) d
      where w.closed_ms is null
    )
  `;
}

/** Claims parked deliveries of these webhooks, each as many as it has room for. Updates `since`. */
export async function claimParked(
  database: Database,
  lease: Lease,
  rooms: ReadonlyMap<string, number>,
  since: ParkedSince = new Map(),
  only: string[] | null = null,
): Promise<Omit<Claimed, 'byParts'>> {
  const leaseEndsAt = performance.now() + lease.ms;
  const ids = [...rooms.keys()];
  const before = ids.map((id) => since.get(id));
  type Row = Record<'since' | 'closed', Record<string, number> | null> & LeftJoined<Leased>;
  const { rows } = await sql<Row>`
    -- prepared: claim_parked
    with clock as materialized (select queue_now() as now),
    ${parkedRows(rooms, since, only)},
    leased as (
      update pending_deliveries set parked = false, lease_token = ${lease.token}::uuid, leased_at = (select now from clock),
        due_at = (select now from clock) + ${lease.ms}::int * interval '1 millisecond',
        cycle_attempts = cycle_attempts + 1, attempt_count = attempt_count + 1
      where ctid = any(array(select tid from due))
      returning id, webhook_id as "webhookId", event_id as "eventId", event, trigger, attempt_count as number,
        cycle_attempts as "cycleAttempt", (extract(epoch from created_at) * 1000)::float8 as "createdAtMs"
    )
    select json_object_agg(webhook_id, reached) as since,
      (select json_object_agg(id, closed_ms) from webhook where closed_ms is not null) as closed, null::uuid as id, null::uuid as "webhookId", null::uuid as "eventId",
      null as event, null as trigger, null::int as number, null::int as "cycleAttempt", null::float8 as "createdAtMs"
    from (
      -- A column of whole milliseconds may be a little less than the time that was written to it.
      select webhook_id, extract(epoch from case when count(*) = room then max(due_at) else now end) * 1000 - 1 as reached
      from due, clock group by webhook_id, room, now
    ) claimed
    union all
    select null, null, leased.* from leased
  `.execute(database);
  const reached = rows[0]?.since ?? {};
  for (const [index, id] of ids.entries()) {
    const atMs = reached[id];
    if (atMs !== undefined && since.get(id) === before[index]) since.set(id, { atMs });
  }
  const leaseOf = { leaseToken: lease.token, leaseEndsAt };
  return {
    leased: rows.flatMap((row) => (row.id === null ? [] : Object.assign(row, leaseOf))),
    closed: new Map(Object.entries(rows[0]?.closed ?? {})),
  };
}

/**
 * Returns webhooks with deliveries that were parked since this time, or all, in order of ids after `cursor`; fewer than
 * the most at the end.
 */
export async function listParked(
  database: Database,
  cursor: string,
  since: string | null = null,
): Promise<string[]> {
  const { rows } = await sql<{ webhookId: string }>`
    -- prepared: list_parked
    -- Steps from one webhook to the next, one index look-up each, however much waits behind any of them.
    with recursive since as materialized (
      select coalesce(${since}::timestamptz - ${sql.lit(transactionMaxMs)} * interval '1 millisecond', '-infinity') as at
    ),
    webhooks_parked as (
      (select webhook_id, 1 as n from pending_deliveries
       where parked and webhook_id > ${cursor}::uuid and due_at >= (select at from since) order by webhook_id, due_at, id limit 1)
      union all
      select next.webhook_id, n + 1
      from webhooks_parked w cross join lateral (
        select p.webhook_id from pending_deliveries p
        where parked and p.webhook_id > w.webhook_id and due_at >= (select at from since) order by p.webhook_id, p.due_at, p.id limit 1
      ) next
      where n < ${sql.lit(webhooksMax)}
    )
    select webhook_id as "webhookId" from webhooks_parked
  `.execute(database);
  return rows.map(({ webhookId }) => webhookId);
}
