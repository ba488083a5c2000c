/**
 * Leases deliveries that wait: retries, redeliveries, and those for which fan-out had no room. What falls due is parked, and
 * what is parked is leased webhook by webhook, so that no webhook's backlog delays another's. Counts each attempt before it
 * is made, so that a worker that dies or freezes cannot cause a seventh attempt. Two claims at once take different rows.
 * Next: `load-deliveries.ts`, which checks permission.
 */
import { arrayLiteral } from '../../../database/array-literal.ts';
import { sql, type Database, type LeftJoined } from '../../../database/database.ts';
import { isRefusal, setAsideRefused, type SetAside } from '../../../events/set-aside.ts';
import type { Lease } from './lease.ts';
import type { LeasedDelivery } from '../../sending/deliverable.ts';

/** The most deliveries that one statement parks. */
export const parkMax = 512;
/** Webhooks whose parked deliveries one statement claims, or looks for. */
export const webhooksMax = 128;

export type ParkedDue = {
  /** How many deliveries were parked. */
  count: number;
  /** Their webhooks. */
  webhookIds: string[];
  /** Time until the next delivery falls due, not counting those that are due already; null if there is none. */
  nextDueMs: number | null;
  /** The database's time of this look, in RFC 3339. */
  at: string;
  /** Deliveries that are refused. */
  setAside: SetAside[];
};

/**
 * By webhook, the time before which none of its deliveries is parked, in the database's milliseconds. Who learns of
 * deliveries that were parked sets it again, so that a running claim does not.
 */
export type ParkedSince = Map<string, { atMs: number }>;

/** Longer than a transaction can take that makes a delivery due, or parks it. */
export const transactionMaxMs = 20_000;

type Leased = Omit<LeasedDelivery, 'leaseToken' | 'leaseEndsAt'>;

/**
 * Parks what is due, the longest first. `since`: the time of an earlier look that found everything, or null; it looks back
 * from there over transactions of `lookBackMs`.
 */
export async function parkDue(
  database: Database,
  since: string | null = null,
  lookBackMs = transactionMaxMs,
): Promise<ParkedDue> {
  try {
    return await parkOnce(database, since, lookBackMs);
  } catch (error) {
    if (!isRefusal(error)) throw error;
  }
  const { rows } = await sql<{ id: string }>`
    select id from pending_deliveries where lease_token is null and not parked and due_at <= queue_now()
    order by due_at limit ${sql.lit(parkMax)}
  `.execute(database);
  const webhookIds = new Set<string>();
  const aside = await claimByParts(database, rows, async (only) => {
    const part = await parkOnce(database, null, transactionMaxMs, only);
    for (const id of part.webhookIds) webhookIds.add(id);
  });
  // The next look goes on at once.
  return {
    ...(await parkOnce(database, null, transactionMaxMs, [])),
    count: parkMax,
    webhookIds: [...webhookIds],
    setAside: aside,
  };
}

/** Runs `step` for some of the deliveries that wait, and sets aside those that are refused alone. */
function claimByParts(
  database: Database,
  waiting: { id: string }[],
  step: (only: string[]) => Promise<void>,
): Promise<SetAside[]> {
  return setAsideRefused(
    database,
    { source: 'pending_deliveries', stage: 'claim' },
    waiting.map(({ id }) => id),
    step,
    (id) => sql`id = ${id} and lease_token is null`,
  );
}

async function parkOnce(
  database: Database,
  since: string | null,
  lookBackMs: number,
  only: string[] | null = null,
): Promise<ParkedDue> {
  const { rows } = await sql<
    Omit<ParkedDue, 'webhookIds' | 'setAside'> & { webhookIds: string[] | null }
  >`
    -- prepared: park_due
    with clock as materialized (select queue_now() as now),
    due as materialized (
      select ctid as tid from pending_deliveries
      where lease_token is null and not parked and due_at <= (select now from clock)
        -- Rows that are gone but in somebody's snapshot stay at the head of the index, and are not stepped over again.
        and due_at >= coalesce(${since}::timestamptz - ${lookBackMs}::int * interval '1 millisecond', '-infinity')
        and (${only}::uuid[] is null or id = any(${only}::uuid[]))
      order by due_at limit ${sql.lit(parkMax)}
      for update skip locked
    ),
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
  return { ...row, webhookIds: row.webhookIds ?? [], setAside: [] };
}

/** As `claimParked`, and sets aside deliveries that are refused. */
export async function claimOrSetAside(
  database: Database,
  lease: Lease,
  rooms: ReadonlyMap<string, number>,
  since: ParkedSince,
): Promise<{ leased: LeasedDelivery[]; setAside: SetAside[] }> {
  if (rooms.size === 0) return { leased: [], setAside: [] };
  try {
    return { leased: await claimParked(database, lease, rooms, since), setAside: [] };
  } catch (error) {
    if (!isRefusal(error)) throw error;
  }
  const { rows } = await sql<{ id: string }>`
    select d.id from unnest(${[...rooms.keys()]}::uuid[], ${[...rooms.values()]}::int[]) as w(id, room) cross join lateral (
      select id from pending_deliveries where webhook_id = w.id and parked order by due_at limit w.room
    ) d
  `.execute(database);
  const leased: LeasedDelivery[] = [];
  const aside = await claimByParts(database, rows, async (only) => {
    leased.push(...(await claimParked(database, lease, rooms, new Map(), only)));
  });
  return { leased, setAside: aside };
}

/** Claims parked deliveries of these webhooks, each as many as it has room for. Updates `since`. */
export async function claimParked(
  database: Database,
  lease: Lease,
  rooms: ReadonlyMap<string, number>,
  since: ParkedSince = new Map(),
  only: string[] | null = null,
): Promise<LeasedDelivery[]> {
  const leaseEndsAt = performance.now() + lease.ms;
  const ids = [...rooms.keys()];
  const before = ids.map((id) => since.get(id));
  const { rows } = await sql<{ since: Record<string, number> | null } & LeftJoined<Leased>>`
    -- prepared: claim_parked
    with clock as materialized (select queue_now() as now),
    webhook as materialized (
      select * from unnest(${arrayLiteral(ids)}::uuid[], ${arrayLiteral([...rooms.values()])}::int[],
        ${arrayLiteral(before.map((one) => one?.atMs ?? -Infinity))}::float8[]) as w(id, room, since)
    ),
    due as materialized (
      select w.id as webhook_id, w.room, d.tid, d.due_at
      from webhook w cross join lateral (
        select ctid as tid, due_at from pending_deliveries
        where webhook_id = w.id and parked and due_at >= to_timestamp(w.since / 1000)
          and (${only}::uuid[] is null or id = any(${only}::uuid[]))
        order by due_at limit w.room
        for update skip locked
      ) d
    ),
    leased as (
      update pending_deliveries set parked = false, lease_token = ${lease.token}::uuid, leased_at = (select now from clock),
        due_at = (select now from clock) + ${lease.ms}::int * interval '1 millisecond',
        cycle_attempts = cycle_attempts + 1, attempt_count = attempt_count + 1
      where ctid = any(array(select tid from due))
      returning id, webhook_id as "webhookId", event_id as "eventId", event, trigger, attempt_count as number,
        cycle_attempts as "cycleAttempt", (extract(epoch from created_at) * 1000)::float8 as "createdAtMs"
    )
    select json_object_agg(webhook_id, reached) as since, null::uuid as id, null::uuid as "webhookId", null::uuid as "eventId",
      null as event, null as trigger, null::int as number, null::int as "cycleAttempt", null::float8 as "createdAtMs"
    from (
      -- A column of whole milliseconds may be a little less than the time that was written to it.
      select webhook_id, extract(epoch from case when count(*) = room then max(due_at) else now end) * 1000 - 1 as reached
      from due, clock group by webhook_id, room, now
    ) claimed
    union all
    select null, leased.* from leased
  `.execute(database);
  const reached = rows[0]?.since ?? {};
  for (const [index, id] of ids.entries()) {
    const atMs = reached[id];
    if (atMs !== undefined && since.get(id) === before[index]) since.set(id, { atMs });
  }
  const leaseOf = { leaseToken: lease.token, leaseEndsAt };
  return rows.flatMap((row) => (row.id === null ? [] : Object.assign(row, leaseOf)));
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
       where parked and webhook_id > ${cursor}::uuid and due_at >= (select at from since) order by webhook_id limit 1)
      union all
      select next.webhook_id, n + 1
      from webhooks_parked w cross join lateral (
        select p.webhook_id from pending_deliveries p
        where parked and p.webhook_id > w.webhook_id and due_at >= (select at from since) order by p.webhook_id limit 1
      ) next
      where n < ${sql.lit(webhooksMax)}
    )
    select webhook_id as "webhookId" from webhooks_parked
  `.execute(database);
  return rows.map(({ webhookId }) => webhookId);
}
