import type { RawBuilder } from 'kysely';
import { changedRows, sql, type Database } from './database.ts';

const batchSize = 10_000;

/**
 * Deletes the rows of a table for which `condition` holds, in batches that each commit separately. Locked rows are left
 * to the next call, so that nobody waits. Returns how many rows it deleted.
 */
export async function deleteInBatches(
  database: Database,
  { table, key, condition }: { table: string; key: string; condition: RawBuilder<unknown> },
): Promise<number> {
  for (let deleted = 0; ;) {
    const gone = await sql`
      delete from ${sql.table(table)} where ${sql.ref(key)} in (
        select ${sql.ref(key)} from ${sql.table(table)} where ${condition}
        limit ${batchSize} for update skip locked
      )
    `.execute(database);
    const count = changedRows(gone);
    deleted += count;
    if (count < batchSize) return deleted;
  }
}
