/** When each scheduled sync is next due: one row a kind for all processes. The clock is the database's. */
import type { SyncKind, SyncRun } from '../contract/sync-run.ts';
import type { Schedule } from '../cron.ts';
import { sql, type Database, type Transaction } from '../database/database.ts';
import type { DueTime } from './perform-run.ts';

/** A run that ends its process with it is tried so often, then left until the next time. */
const triesMax = 3;

/** Writes down the next time where there is none, or where the schedule is another than it was. What has passed stays due. */
export async function plan(database: Database, kind: SyncKind, schedule: Schedule): Promise<void> {
  const dueAt = schedule.next(await readClock(database));
  await sql`
    insert into sync_schedules as s (kind, cron, due_at) values (${kind}, ${schedule.text}, ${dueAt})
    on conflict (kind) do update set cron = excluded.cron, due_at = excluded.due_at, tries = 0
    where s.cron <> excluded.cron
  `.execute(database);
}

/** Milliseconds until it is due; 0 or less where it is. */
export async function untilDue(database: Database, kind: SyncKind): Promise<number> {
  const { rows } = await sql<{ ms: number }>`
    select extract(epoch from due_at - clock_timestamp())::float8 * 1000 as ms from sync_schedules where kind = ${kind}
  `.execute(database);
  // Gone with its database's restore: planned again at the next start.
  return rows[0]?.ms ?? Number.POSITIVE_INFINITY;
}

/** What `performRun` needs to know of a due time. */
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

/** Times that passed during the run are not run after it. */
async function moveOn(database: Database, kind: SyncKind, schedule: Schedule): Promise<void> {
  const dueAt = schedule.next(await readClock(database));
  await sql`
    update sync_schedules set due_at = ${dueAt}, tries = 0 where kind = ${kind}
  `.execute(database);
}

/** It stays due: whoever starts next, or goes on beside, runs it. */
async function giveBack(tx: Transaction, kind: SyncKind): Promise<void> {
  await sql`
    update sync_schedules set tries = greatest(tries - 1, 0) where kind = ${kind}
  `.execute(tx);
}

async function readClock(database: Database): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(database);
  return rows[0]?.now ?? new Date();
}
