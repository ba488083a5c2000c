/**
 * The requests of keys, and of apps, that are used in several API processes: a process leases part of a minute in advance.
 * The database's clock decides when a minute ends, so the clocks of the processes may differ.
 */
import { sql, type Database } from '../database/database.ts';

export type LeaseRequest = {
  /** Or the id of an app. */
  keyId: string;
  /** Requests that the process has admitted without a lease. */
  debt: number;
  wanted: number;
  /** How long the minute lasts if this lease begins it. */
  leftMs: number;
};

export type Lease = {
  keyId: string;
  /** 0 once the minute is used up. */
  granted: number;
  /** Requests of this minute that all processes have leased or admitted without a lease. */
  used: number;
  /** Distinguishes minutes. */
  windowId: number;
  leftMs: number;
};

/** Rows of minutes that ended this long ago are deleted. */
const forgottenAfterMs = 3_600_000;

/** The most that a lease gets of what is left, so that processes leave little unused when the minute is used up. */
function leaseMax(left: number): number {
  return Math.ceil(Math.max(0, left) / 10);
}

export async function leaseRequests(
  database: Database,
  perMinute: number,
  requests: LeaseRequest[],
): Promise<Lease[]> {
  const asked = requests.map(({ debt, wanted, ...request }) => ({
    ...request,
    debt,
    wanted: Math.min(wanted, leaseMax(perMinute - debt)),
  }));
  const { rows } = await sql<Lease>`
    -- prepared: lease_requests
    with clock as materialized (select queue_now() as now),
    leased as (
      insert into rate_windows as minute (key_id, ends_at, used, granted)
      select "keyId", now + "leftMs" * interval '1 millisecond', debt + wanted, wanted
      from clock cross join json_to_recordset(${JSON.stringify(asked)}::json)
        as asked ("keyId" uuid, debt bigint, wanted integer, "leftMs" float8)
      -- so that two processes never wait for each other's rows
      order by "keyId"
      on conflict (key_id) do update set (ends_at, used, granted) = (
        select case when goes_on then minute.ends_at else excluded.ends_at end, before + lease.granted, lease.granted
        -- one that ends much later than in a minute began before the clock was set back
        from (select minute.ends_at > now and minute.ends_at < now + interval '2 minutes' as goes_on from clock) as now
        cross join lateral (
          -- excluded.used - excluded.granted is the debt
          select case when goes_on then minute.used else 0 end + excluded.used - excluded.granted as before
        ) as spent
        cross join lateral (
          -- as in leaseMax
          select least(excluded.granted, ceil(greatest(${perMinute}::bigint - before, 0) / 10.0))::integer as granted
        ) as lease
      )
      returning key_id, granted, used, ends_at
    )
    select key_id as "keyId", granted, used, (extract(epoch from ends_at) * 1000000)::bigint as "windowId",
      (extract(epoch from ends_at - now) * 1000)::float8 as "leftMs"
    from leased cross join clock
  `.execute(database);
  return rows;
}

export async function deleteEndedWindows(database: Database): Promise<void> {
  await sql`
    delete from rate_windows where ends_at < queue_now() - ${forgottenAfterMs}::int * interval '1 millisecond'
  `.execute(database);
}
