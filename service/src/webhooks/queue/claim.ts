/**
 * Leases deliveries that wait: retries, redeliveries, and those for which fan-out had no room. Counts each attempt before
 * it is made, so that a worker that dies or freezes cannot cause a seventh attempt. Two claims at once take different
 * rows. Next: `load-deliveries.ts`, which checks permission.
 */
import { arrayLiteral } from '../../database/array-literal.ts';
import { sql, type Database, type LeftJoined } from '../../database/database.ts';
import type { Room } from './in-flight.ts';
import type { Lease } from './lease.ts';
import type { LeasedDelivery } from '../sending/deliverable.ts';
import { roomsOf, webhookRoom } from './webhook-room.ts';

/** The most deliveries that one statement claims. */
export const claimMax = 256;
/** Webhooks whose parked deliveries one statement claims, or looks for. */
export const webhooksMax = 128;

export type Claim = {
  leased: LeasedDelivery[];
  /** How many deliveries were leased or parked. */
  found: number;
  /** Webhooks whose deliveries were parked, because they have no room. */
  parked: string[];
  /** Time until the next delivery falls due, not counting those that are due already; null if there is none. */
  nextDueMs: number | null;
  /** The database's time of this claim, in RFC 3339. */
  at: string;
};

export type ClaimOptions = {
  lease: Lease;
  room: Room;
  /** The time of an earlier claim that found everything; null looks at everything. */
  since: string | null;
  /** How long a transaction may have taken that made a delivery due before `since` and committed after. */
  lookBackMs: number;
};

/**
 * By webhook, the time before which none of its deliveries is parked, in the database's milliseconds. Who learns of
 * deliveries that were parked sets it again, so that a claim under way does not.
 */
export type ParkedSince = Map<string, { atMs: number }>;

/** Longer than a transaction can take that makes a delivery due, or parks it. */
export const transactionMaxMs = 20_000;

type Leased = Omit<LeasedDelivery, 'leaseToken' | 'leaseEndsAt'>;
type Totals = { found: number; parked: string[] | null; nextDueMs: number | null; at: string };

/** Claims what has been due the longest. Parks the deliveries of webhooks without room, so that they delay no others. */
export async function claimDue(
  database: Database,
  { lease, room, since, lookBackMs }: ClaimOptions,
): Promise<Claim> {
  const leaseEndsAt = performance.now() + lease.ms;
  const { rows } = await sql<{ totals: Totals | null } & LeftJoined<Leased>>`
    -- prepared: claim_due
    with clock as materialized (select queue_now() as now),
    ${roomsOf(room)},
    due as materialized (
      select ctid as tid, webhook_id, due_at from pending_deliveries
      where lease_token is null and not parked and due_at <= (select now from clock)
        -- Rows that are gone but in somebody's snapshot stay at the head of the index, and are not stepped over again.
        and due_at >= coalesce(${since}::timestamptz - ${lookBackMs}::int * interval '1 millisecond', '-infinity')
      order by due_at limit ${Math.min(room.total, claimMax)}::int
      for update skip locked
    ),
    placed as materialized (
      select tid, row_number() over (partition by webhook_id order by due_at)
        <= ${webhookRoom(room)} as fits
      from due
    ),
    parked as (
      -- Parked ones are in the order in which they were parked, so a claim may begin where the last one ended.
      update pending_deliveries set parked = true, due_at = (select now from clock)
      where ctid = any(array(select tid from placed where not fits))
      returning webhook_id
    ),
    leased as (${leaseRows(lease, sql`select tid from placed where fits`)})
    select row_to_json(totals) as totals, null::uuid as id, null::uuid as "webhookId", null::uuid as "eventId", null as event,
      null as trigger, null::int as number, null::int as "cycleAttempt", null::float8 as "createdAtMs"
    from (
      select (select now from clock) as at, (select count(*) from placed) as found,
        (select array_agg(distinct webhook_id) from parked) as parked,
        (select extract(epoch from due_at - (select now from clock))::float8 * 1000 from pending_deliveries
         where lease_token is null and not parked and due_at > (select now from clock)
         order by due_at limit 1) as "nextDueMs"
    ) totals
    union all
    select null, leased.* from leased
  `.execute(database);
  const totals = rows[0]?.totals;
  if (!totals) throw new Error('the claim returned no totals');
  const { parked, ...rest } = totals;
  return { ...rest, leased: read(rows, lease.token, leaseEndsAt), parked: parked ?? [] };
}

/** Claims parked deliveries of these webhooks, each as many as it has room for. Updates `since`. */
export async function claimParked(
  database: Database,
  lease: Lease,
  rooms: ReadonlyMap<string, number>,
  since: ParkedSince = new Map(),
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
        where webhook_id = w.id and parked and due_at >= to_timestamp(w.since / 1000) and due_at <= (select now from clock)
        order by due_at limit w.room
        for update skip locked
      ) d
    ),
    leased as (${leaseRows(lease, sql`select tid from due`)})
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
  return read(rows, lease.token, leaseEndsAt);
}

/** Leases the rows that the caller has locked. */
function leaseRows(lease: Lease, tids: ReturnType<typeof sql>) {
  return sql`
    update pending_deliveries set parked = false, lease_token = ${lease.token}::uuid, leased_at = (select now from clock),
      due_at = (select now from clock) + ${lease.ms}::int * interval '1 millisecond',
      cycle_attempts = cycle_attempts + 1, attempt_count = attempt_count + 1
    where ctid = any(array(${tids}))
    returning id, webhook_id as "webhookId", event_id as "eventId", event, trigger, attempt_count as number,
      cycle_attempts as "cycleAttempt", (extract(epoch from created_at) * 1000)::float8 as "createdAtMs"
  `;
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

function read(
  rows: LeftJoined<Leased>[],
  leaseToken: string,
  leaseEndsAt: number,
): LeasedDelivery[] {
  return rows.flatMap((row) => (row.id === null ? [] : { ...row, leaseToken, leaseEndsAt }));
}
