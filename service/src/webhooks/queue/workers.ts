/**
 * Tells the processes that deliver from each other: how many are alive, this one's place among them, and the webhooks that
 * none may send to, because another session keeps their health from being written.
 */
import { sql, type Database, type Executor } from '../../database/database.ts';
import { newestMigration } from '../../database/migrate.ts';
import { apiProcessLock, versionLock } from '../../database/revisions.ts';
import { ServiceError } from '../../errors.ts';
import { workersChannel } from '../../events/queue-channel.ts';

export type Membership = {
  place: number;
  workers: number;
  /** The database's time at which each of the others has been seen since, in milliseconds; null if there are none. */
  othersSeenAtMs: number | null;
  /** Webhooks whose health waits because another session has locked them. */
  blocked: string[];
  /** Whether any health waits for longer than it should. */
  isLate: boolean;
  /** The `xid` below which no outcome of a webhook waits. */
  outcomesFloor: string;
  /** The database's time, in milliseconds. */
  atMs: number;
  /** What it was before it was put back, as far as a process has noted it that may be gone; null if it was not. */
  wasAtMs: number | null;
};

/** A process that has not been seen for this long has no share in the limits. It may still hold leases. */
const aliveMs = 5_000;
/** A process that has not been seen for this long has left, and its row is deleted. */
const forgottenMs = 12 * aliveMs;
/** Health is written within this time, unless somebody holds the webhook's row. */
export const healthDelayMs = 500;

export async function joinWorkers(
  database: Database,
  id: string,
  outcomesFloor = '0',
): Promise<Membership> {
  const { rows } = await sql<Membership>`
    -- prepared: join_workers
    with clock as materialized (select queue_now() as now),
    seen as (
      insert into workers (id, seen_at, migration) select ${id}::uuid, now, ${newestMigration}::int from clock
      on conflict (id) do update set seen_at = excluded.seen_at, migration = excluded.migration
    ),
    -- A time in the future is from before the database's clock was put back: whoever is alive writes it again.
    forgotten as (
      delete from workers where id = any(array(
        select id from workers where id <> ${id}::uuid
          and seen_at not between (select now from clock) - ${forgottenMs}::int * interval '1 millisecond'
            and (select now from clock) + ${aliveMs}::int * interval '1 millisecond'
        -- Nobody waits for a row that somebody has locked.
        for update skip locked
      ))
    ),
    alive as (
      select id, seen_at from workers where id <> ${id}::uuid
        and seen_at between (select now from clock) - ${aliveMs}::int * interval '1 millisecond'
          and (select now from clock) + ${aliveMs}::int * interval '1 millisecond'
    ),
    late as materialized (
      select distinct webhook_id from (
        select webhook_id from webhook_outcomes
        where xid >= ${outcomesFloor}::xid8
          and recorded_at not between (select now from clock) - ${healthDelayMs}::int * interval '1 millisecond'
            and (select now from clock) + ${healthDelayMs}::int * interval '1 millisecond'
        order by xid, seq offset 0
      ) o
    ),
    -- A webhook is only blocked while somebody holds its row: health that is late for another reason stops no deliveries.
    free as materialized (
      select w.id from late cross join lateral (
        select id from webhooks where id = late.webhook_id for no key update skip locked
      ) w
    )
    select (select count(*) from alive where id < ${id}::uuid)::int as place, (select count(*) from alive)::int + 1 as workers,
      (select extract(epoch from min(seen_at)) * 1000 from alive)::float8 as "othersSeenAtMs",
      coalesce((
        select array_agg(w.id) from late cross join lateral (select id from webhooks where id = late.webhook_id limit 1) w
        where (w.id in (select id from free)) is not true
      ), '{}') as blocked,
      exists (select from late) as "isLate",
      -- All transactions below the snapshot's xmin have ended, so nothing new can appear there.
      least((select xid from webhook_outcomes where xid >= ${outcomesFloor}::xid8 order by xid limit 1),
        pg_snapshot_xmin(pg_current_snapshot()))::text as "outcomesFloor",
      (select extract(epoch from now) * 1000 from clock)::float8 as "atMs",
      (select extract(epoch from max(seen_at)) * 1000 from workers
        where seen_at > (select now from clock) + ${aliveMs}::int * interval '1 millisecond')::float8 as "wasAtMs"
  `.execute(database);
  const [row] = rows;
  if (!row) throw new Error('the process did not join');
  return row;
}

export async function leaveWorkers(database: Database, id: string): Promise<void> {
  await sql`
    with gone as (delete from workers where id = ${id})
    select pg_notify(${workersChannel}, '')
  `.execute(database);
}

/** Makes the other processes look at once who delivers. */
export async function announceJoining(database: Database): Promise<void> {
  await sql`select pg_notify(${workersChannel}, '')`.execute(database);
}

const isAlive = sql`
  seen_at between queue_now() - ${sql.lit(aliveMs)}::int * interval '1 millisecond'
    and queue_now() + ${sql.lit(aliveMs)}::int * interval '1 millisecond'
`;

/** The processes that are alive. */
export async function countWorkers(database: Database): Promise<number> {
  const { rows } = await sql<{ workers: number }>`
    select count(*)::int as workers from workers where ${isAlive}
  `.execute(database);
  return rows[0]?.workers ?? 0;
}

/**
 * For settings that a process of before a migration would not follow. Throws `conflict` while a worker or an API process of that
 * time is alive, which is during an upgrade.
 */
export async function requireProcessesSince(
  executor: Executor,
  migration: number,
  what: string,
): Promise<void> {
  const { rows } = await sql`
    select from workers where ${isAlive} and coalesce(migration, 0) < ${migration}
    union all
    select from pg_locks api
    where locktype = 'advisory' and classid = 0 and objid = ${apiProcessLock}::oid
      and database = (select oid from pg_database where datname = current_database())
      and not exists (
        select from pg_locks known
        where known.pid = api.pid and known.locktype = 'advisory' and known.classid = ${versionLock}::oid
          and known.objid::bigint >= ${migration}
      )
    limit 1
  `.execute(executor);
  if (rows.length > 0)
    throw new ServiceError(
      'conflict',
      `The service is being upgraded, and some of its processes do not know ${what} yet. Try again in a few minutes.`,
    );
}
