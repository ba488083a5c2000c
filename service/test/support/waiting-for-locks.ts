import { sql } from '../../src/database/database.ts';
import type { TestDatabase } from './database.ts';
import { eventually } from './eventually.ts';

/** Resolves when so many statements in the database wait for a lock. */
export function waitingForLocks(database: TestDatabase['database'], count = 1): Promise<unknown> {
  return eventually(async () => {
    const { rows } = await sql`
      select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()
    `.execute(database);
    return rows.length >= count;
  });
}
