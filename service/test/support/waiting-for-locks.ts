import { sql, type Executor } from '../../src/database/database.ts';
import type { TestDatabase } from './database.ts';
import { eventually } from './eventually.ts';

/** Resolves when so many statements in the database wait for a lock, or so many for one that `holder` has. */
export async function waitingForLocks(
  database: TestDatabase['database'],
  count = 1,
  holder?: Executor,
): Promise<void> {
  const pid = holder && (await pidOf(holder));
  await eventually(async () => {
    const { rows } = await sql`
      select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()
        and (${pid ?? null}::int is null or ${pid ?? null}::int = any(pg_blocking_pids(pid)))
    `.execute(database);
    return rows.length >= count;
  });
}

async function pidOf(session: Executor): Promise<number> {
  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(session);
  return rows[0]!.pid;
}
