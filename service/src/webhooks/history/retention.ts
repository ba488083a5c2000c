/**
 * Creates the partitions for the coming days, drops those past retention, and deletes the versions of webhooks and bindings that
 * ended before. Partitions make no other sessions wait: if a lock is not free within a moment, the next run tries again.
 * `doctor` and a metric show a day that stays too long.
 */
import { deleteInBatches } from '../../database/delete-in-batches.ts';
import { coalesce } from '../../database/coalesce.ts';
import { listLockHolders } from '../../database/list-lock-holders.ts';
import {
  isLockTimeout,
  sql,
  type Database,
  type Executor,
  type Transaction,
} from '../../database/database.ts';
import { ensurePartitions } from '../../database/migrate.ts';
import { dropChanges, dropTotals } from './fold-delivery-changes.ts';

/** One worker at a time; two that lock and drop the same tables would deadlock. */
export const dropLock = 70420007;
/**
 * Sessions that arrive while we wait for the lock queue behind us. This is far below PostgreSQL's `deadlock_timeout` of
 * a second, so that a session that locks these tables in another order is never the one that fails.
 */
const lockTimeoutMs = 100;
/** Locked, or changed, with every day. */
const sharedTables = ['events', 'deliveries', 'attempts', 'delivery_totals', 'delivery_changes'];
/** The partitions of one day's deliveries and attempts, and of the events of the day before. */
type Day = { day: string; partitions: string[]; overdueSeconds: number };

/** What needs a day: pending deliveries, broadcasts, or what was set aside. */
type Need = 'pending' | 'broadcast' | 'set_aside';

/** A day, as `YYYYMMDD`, that is past retention and stays, with all later ones. */
export type KeptDay = { day: string } & (
  | { reason: Need }
  /** `holders`: the sessions that have its tables, or those of all days, locked. */
  | { reason: 'locked'; holders: string }
);

/** Ends the transaction, so that nothing of it stays. */
class NeededMeanwhile extends Error {
  readonly need: Need;

  constructor(need: Need) {
    super(`the day is needed: ${need}`);
    this.need = need;
  }
}

/**
 * Returns the names of the dropped partitions: whole days older than `retentionDays` that no pending work needs. Calls
 * `onKept` with the first day that has to stay.
 */
export async function rotatePartitions(
  database: Database,
  retentionDays: number,
  onKept: (kept: KeptDay) => void = () => {},
): Promise<string[]> {
  await ensurePartitions(database);
  const dropped: string[] = [];
  for (const day of await listExpired(database, retentionDays)) {
    // Drops days in order and stops at the first that stays, so that every delivery that is still listed has its event.
    const outcome = await dropDay(database, day);
    if (outcome === 'dropped') {
      dropped.push(...day.partitions);
      continue;
    }
    if (outcome === 'locked')
      onKept({ day: day.day, reason: outcome, holders: await listHolders(database, day) });
    else if (outcome !== 'later') onKept({ day: day.day, reason: outcome });
    break;
  }
  return dropped;
}

/** The first day past retention; null if there is none, or if pending work needs it. */
export async function findOverdueDay(
  database: Database,
  retentionDays: number,
): Promise<Day | null> {
  const [first] = await listExpired(database, retentionDays);
  return first && !(await findNeed(database, first.day)) ? first : null;
}

/** Returns a reader for scrapes, which queries at most once per minute. */
export function createOverdueReader(database: Database, retentionDays: number) {
  return coalesce(
    async () => (await findOverdueDay(database, retentionDays))?.overdueSeconds ?? 0,
    { timeoutMs: 2_000, reuseMs: 60_000 },
  );
}

/** The sessions that may keep a day from being dropped. */
export function listHolders(database: Database, { partitions }: Day): Promise<string> {
  return listLockHolders(database, [...sharedTables, ...partitions]);
}

/** Oldest first. Events stay a day longer, because a delivery after midnight belongs to a later day than its event. */
async function listExpired(database: Database, retentionDays: number): Promise<Day[]> {
  const { rows } = await sql<Day>`
    select to_char(day, 'YYYYMMDD') as day, array_agg(name order by name) as partitions,
      extract(epoch from queue_now() - (day + ${retentionDays}::int + 1)::timestamp at time zone 'utc')::float8 as "overdueSeconds"
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

/** `later`: another worker is dropping partitions. `locked`: a lock was not free in time. */
async function dropDay(
  database: Database,
  { day, partitions }: Day,
): Promise<'dropped' | 'later' | 'locked' | Need> {
  return database
    .transaction()
    .execute(async (tx) => {
      if (!(await lockTurn(tx))) return 'later';
      // Another worker may have dropped the day since it was listed.
      if (await isDropped(tx, partitions)) return 'later';
      const need = await findNeed(tx, day);
      if (need) return need;
      await sql`set local lock_timeout = ${sql.lit(lockTimeoutMs)}`.execute(tx);
      // Before the tables are locked, because it takes a moment.
      await dropTotals(tx, startOf(day));
      // Locks the parents, which dropping a partition locks anyway, always in this order. From here on no delivery
      // moves back to the queue, and the second look sees those that moved since the first.
      await sql`lock table only events, only deliveries, only attempts in access exclusive mode`.execute(
        tx,
      );
      const needMeanwhile = await findNeed(tx, day);
      if (needMeanwhile) throw new NeededMeanwhile(needMeanwhile);
      await dropChanges(tx, startOf(day));
      await sql`drop table ${sql.join(partitions.map((name) => sql.table(name)))}`.execute(tx);
      return 'dropped' as const;
    })
    .catch((error: unknown) => {
      if (error instanceof NeededMeanwhile) return error.need;
      if (isLockTimeout(error)) return 'locked' as const;
      throw error;
    });
}

async function lockTurn(tx: Transaction): Promise<boolean> {
  const { rows } = await sql<{ locked: boolean }>`
    select pg_try_advisory_xact_lock(${sql.lit(dropLock)}) as locked
  `.execute(tx);
  return rows[0]?.locked === true;
}

async function isDropped(tx: Transaction, partitions: string[]): Promise<boolean> {
  const { rows } = await sql<{ gone: boolean }>`
    select bool_or(to_regclass(name) is null) as gone from unnest(${partitions}::text[]) as p(name)
  `.execute(tx);
  return rows[0]?.gone !== false;
}

/** What needs a delivery of that day, or an event of the day before; null if nothing does. It takes no lock. */
async function findNeed(executor: Executor, day: string): Promise<Need | null> {
  const start = startOf(day);
  const [dayBefore, end] = [sql`${start} - interval '1 day'`, sql`${start} + interval '1 day'`];
  const { rows } = await sql<{ need: Need | null }>`
    select case
      when exists (
        select from pending_deliveries
        -- Earlier than the events too: the database's clock may have been put back, or another one may have made their ids.
        where id >= uuid_v7_floor(${start} - interval '2 days') and id < uuid_v7_floor(${end})
      ) or exists (
        -- Those whose ids are of other hours than their events' (migrations/0005).
        select from pending_deliveries
        where left(id::text, 6) <> left(event_id::text, 6)
          and event_id >= uuid_v7_floor(${dayBefore}) and event_id < uuid_v7_floor(${start})
      ) then 'pending'
      -- Their next deliveries belong to the day of fan-out, which follows that of the event.
      when exists (select from broadcasts where event_id < uuid_v7_floor(${end})) then 'broadcast'
      when exists (
        select from set_aside
        where delivery_id >= uuid_v7_floor(${start}) and delivery_id < uuid_v7_floor(${end})
          or event_id >= uuid_v7_floor(${dayBefore}) and event_id < uuid_v7_floor(${start})
          -- It would change totals of a day that has none any more.
          or source = 'delivery_changes'
            and (original->>'id_hour')::timestamptz >= ${start} and (original->>'id_hour')::timestamptz < ${end}
      ) then 'set_aside'
    end as need
  `.execute(executor);
  return rows[0]?.need ?? null;
}

function startOf(day: string) {
  return sql`(to_date(${day}, 'YYYYMMDD')::timestamp at time zone 'utc')`;
}

/**
 * Deletes the versions of webhooks and bindings, which triggers write (`migrations/0002_baseline_access.sql`,
 * `0005_baseline_webhooks.sql`), that ended before the events that are kept.
 */
export async function dropOldVersions(database: Database, retentionDays: number): Promise<void> {
  for (const table of ['webhook_versions', 'binding_versions'])
    await deleteInBatches(database, {
      table,
      key: 'id',
      // Events are kept for up to two days longer.
      condition: sql`valid_to < now() - (${retentionDays}::int + 2) * interval '1 day'`,
    });
}
