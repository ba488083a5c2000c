/**
 * Makes the partitions of the days to come, and drops those of days that are past keeping. Neither makes others wait:
 * a lock that is not to be had within a moment means that it is done at the next turn.
 */
import { sql, type Database, type Transaction } from '../../database/database.ts';
import { ensurePartitions } from '../../database/migrate.ts';

/** One worker at a time: two that lock and drop the same tables would meet in a deadlock. */
const dropLock = 70420007;
/**
 * All who come meanwhile wait behind us. Far below PostgreSQL's `deadlock_timeout` of a second, so that whoever locks
 * these tables in another order is never chosen to fail in our place.
 */
const lockTimeoutMs = 100;

/** Of one day: its deliveries and attempts, and the events of the day before. */
type Day = { day: string; partitions: string[] };

/**
 * Returns the names of the partitions dropped: of whole days older than `retentionDays` that nothing still to be done needs.
 * Tells the first day that has to stay, as `YYYYMMDD`: none behind it is dropped either.
 */
export async function turnPartitions(
  database: Database,
  retentionDays: number,
  tellKept: (day: string) => void = () => {},
): Promise<string[]> {
  await ensurePartitions(database);
  const dropped: string[] = [];
  for (const day of await listPast(database, retentionDays)) {
    // In order, and no further than a day that stays: whatever is still listed has its event.
    const outcome = await dropDay(database, day);
    if (outcome === 'needed') tellKept(day.day);
    if (outcome !== 'dropped') break;
    dropped.push(...day.partitions);
  }
  return dropped;
}

/** Oldest first. Events go a day later than deliveries: one that waited over midnight is of a later day than its event. */
async function listPast(database: Database, retentionDays: number): Promise<Day[]> {
  const { rows } = await sql<Day>`
    select to_char(day, 'YYYYMMDD') as day, array_agg(name order by name) as partitions
    from (
      select c.relname::text as name,
        to_date(substring(c.relname from '_(\\d{8})$'), 'YYYYMMDD') + (parent.relname = 'events')::int as day
      from pg_inherits i
      join pg_class c on c.oid = i.inhrelid join pg_class parent on parent.oid = i.inhparent
      where parent.relname in ('events', 'deliveries', 'attempts') and parent.relnamespace = 'orgdir'::regnamespace
    ) partition
    where day < (queue_now() at time zone 'utc')::date - ${retentionDays}::int
    group by day order by day
  `.execute(database);
  return rows;
}

/** `later`: another has the turn, or a lock is not to be had. */
async function dropDay(
  database: Database,
  { day, partitions }: Day,
): Promise<'dropped' | 'needed' | 'later'> {
  return database
    .transaction()
    .execute(async (tx) => {
      if (!(await lockTurn(tx))) return 'later';
      // Whoever had the turn before may have dropped it since it was listed.
      if (await isGone(tx, partitions)) return 'later';
      if (await isNeeded(tx, day)) return 'needed';
      await sql`set local lock_timeout = ${sql.lit(lockTimeoutMs)}`.execute(tx);
      // The parents, as dropping a partition locks them anyway, and always in this order. From here on nothing is
      // moved back to the queue; what was moved since the look above is seen by the next one.
      await sql`lock table only events, only deliveries, only attempts in access exclusive mode`.execute(
        tx,
      );
      if (await isQueued(tx, day)) return 'needed';
      await sql`drop table ${sql.join(partitions.map((name) => sql.table(name)))}`.execute(tx);
      return 'dropped' as const;
    })
    .catch((error: { code?: string }) => {
      // lock_not_available
      if (error.code === '55P03') return 'later' as const;
      throw error;
    });
}

async function lockTurn(tx: Transaction): Promise<boolean> {
  const { rows } = await sql<{ locked: boolean }>`
    select pg_try_advisory_xact_lock(${sql.lit(dropLock)}) as locked
  `.execute(tx);
  return rows[0]?.locked === true;
}

async function isGone(tx: Transaction, partitions: string[]): Promise<boolean> {
  const { rows } = await sql<{ gone: boolean }>`
    select bool_or(to_regclass(name) is null) as gone from unnest(${partitions}::text[]) as p(name)
  `.execute(tx);
  return rows[0]?.gone !== false;
}

/** In one look, so that an event on its way from the one to the other is seen. It reads the queue whole, hence without a lock. */
async function isNeeded(tx: Transaction, day: string): Promise<boolean> {
  const { rows } = await sql<{ needed: boolean }>`
    with d as materialized (select ${startOf(day)} as start)
    select exists (
      select from pending_deliveries p, d
      where (p.event_id >= uuid_v7_floor(d.start - interval '1 day') and p.event_id < uuid_v7_floor(d.start))
        or (p.id >= uuid_v7_floor(d.start) and p.id < uuid_v7_floor(d.start + interval '1 day'))
    ) or exists (
      -- Recorded while no worker ran, and still to be fanned out.
      select from events e, d
      where e.position is null and e.audience <> 'webhook'
        and e.id >= uuid_v7_floor(d.start - interval '1 day') and e.id < uuid_v7_floor(d.start)
    ) as needed
  `.execute(tx);
  return rows[0]?.needed === true;
}

/** Whether a delivery of that day was sent again meanwhile: its attempts would have nowhere to go. One look at the index. */
async function isQueued(tx: Transaction, day: string): Promise<boolean> {
  const { rows } = await sql<{ queued: boolean }>`
    select exists (
      select from pending_deliveries
      where id >= uuid_v7_floor(${startOf(day)}) and id < uuid_v7_floor(${startOf(day)} + interval '1 day')
    ) as queued
  `.execute(tx);
  return rows[0]?.queued === true;
}

function startOf(day: string) {
  return sql`(to_date(${day}, 'YYYYMMDD')::timestamp at time zone 'utc')`;
}
