/** Stores when each scheduled sync is next due: one row per kind for all processes, on the database's clock. */
import type { SyncKind, SyncRun } from '../contract/sync-run.ts';
import type { Schedule } from '../runtime/cron.ts';
import { sql, type Database, type Transaction } from '../database/database.ts';
import type { DueTime } from './perform-run.ts';

/** How often to try a run that crashes its process before leaving it until the next due time. */
const triesMax = 3;

/** Stores the next due time if there is none or the schedule has changed. A due time in the past stays due. */
export async function plan(database: Database, kind: SyncKind, schedule: Schedule): Promise<void> {
  const dueAt = schedule.next(await readClock(database));
  await sql`
    insert into sync_schedules as s (kind, cron, due_at) values (${kind}, ${schedule.text}, ${dueAt})
    on conflict (kind) do update set cron = excluded.cron, due_at = excluded.due_at, tries = 0
    where s.cron <> excluded.cron
  `.execute(database);
}

/** Milliseconds until the sync is due; 0 or less if it is due now. */
export async function untilDue(database: Database, kind: SyncKind): Promise<number> {
  const { rows } = await sql<{ ms: number }>`
    select extract(epoch from due_at - clock_timestamp())::float8 * 1000 as ms from sync_schedules where kind = ${kind}
  `.execute(database);
  // The row is missing after a restore; the next start plans it again.
  return rows[0]?.ms ?? Number.POSITIVE_INFINITY;
}

/** The due time as `performRun` uses it. */
export function dueTime(kind: SyncKind, schedule: Schedule): DueTime {
  return {
    async take(session) {
      const { rows } = await sql<{ tries: number }>`
        update sync_schedules set tries = tries + 1
        where kind = ${kind} and due_at <= clock_timestamp()
        returning tries
      `.execute(session);
      const [row] = rows;
      if (!row) return false;
      if (row.tries <= triesMax) return true;
      await moveOn(session, kind, schedule);
      return false;
    },
    async resolve(tx: Transaction, run: SyncRun) {
      if (run.reason === 'stopped') await giveBack(tx, kind);
      else await moveOn(tx, kind, schedule);
    },
  };
}

/** Skips due times that passed during the run. */
async function moveOn(database: Database, kind: SyncKind, schedule: Schedule): Promise<void> {
  const dueAt = schedule.next(await readClock(database));
  await sql`
    update sync_schedules set due_at = ${dueAt}, tries = 0 where kind = ${kind}
  `.execute(database);
}

/** Leaves the sync due, for this or another process to run. */
async function giveBack(tx: Transaction, kind: SyncKind): Promise<void> {
  await sql`
    update sync_schedules set tries = greatest(tries - 1, 0) where kind = ${kind}
  `.execute(tx);
}

async function readClock(database: Database): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(database);
  return rows[0]?.now ?? new Date();
}
