/** What pending migrations lock, and for how long, from `migrations/locks.json` and the sizes of the tables. Locks nothing. */
import { readFile } from 'node:fs/promises';
import { sql, type Database } from './database.ts';

/** By table, without the tables that the migration creates. A migration holds its locks until its end. */
export type MigrationLocks = Record<
  string,
  {
    /** Whom the lock keeps out: writers, readers and writers, or nobody. */
    blocks: 'writes' | 'reads' | null;
    /** What takes longer for a larger table. */
    work: 'reads' | 'indexes' | 'rewrites' | null;
  }
>;

export type MigrationEstimate = {
  name: string;
  ms: number;
  tables: ({ table: string; bytes: number } & MigrationLocks[string])[];
};

/**
 * Bytes of a table per millisecond. Indexes and rewrites are measured (docs/decisions/0031-releases-and-upgrades.md). A plain read is
 * faster than this, and one that computes something for each row is slower.
 */
const rates = { reads: 200_000, indexes: 200_000, rewrites: 40_000 };
/** Each statement and the commit. */
const leastMs = 10;

export async function estimateLocks(
  database: Database,
  names: string[],
): Promise<MigrationEstimate[]> {
  const all = await readLocks();
  const sizes = await readSizes(database);
  return names.map((name) => {
    const tables = Object.entries(all[name] ?? {}).map(([table, lock]) => ({
      table,
      bytes: sizes.get(table) ?? 0,
      blocks: lock.blocks,
      work: lock.work,
    }));
    const ms = tables.map(({ bytes, work }) => (work ? bytes / rates[work] : 0));
    return { name, ms: ms.reduce((sum, each) => sum + each, leastMs), tables };
  });
}

/** Written by `npm run schema`. */
export const locksFile = new URL('../../migrations/locks.json', import.meta.url);

async function readLocks(): Promise<Record<string, MigrationLocks>> {
  return JSON.parse(await readFile(locksFile, 'utf8')) as Record<string, MigrationLocks>;
}

/** A partitioned table has the size of its partitions. */
async function readSizes(database: Database): Promise<Map<string, number>> {
  const { rows } = await sql<{ name: string; bytes: number }>`
    select coalesce(p.relname, c.relname) as name, sum(pg_table_size(c.oid))::int8 as bytes
    from pg_class c left join pg_inherits i on i.inhrelid = c.oid left join pg_class p on p.oid = i.inhparent
    where c.relnamespace = to_regnamespace('orgdir') and c.relkind in ('r', 'p')
    group by 1
  `.execute(database);
  return new Map(rows.map(({ name, bytes }) => [name, bytes]));
}
