/** Counts the pages of tables and indexes that statements read. */
import { sql, type Database } from '../../src/database/database.ts';

/** Of what `act` does in `session`, which has one connection. */
export async function pagesOf(session: Database, act: () => Promise<unknown>): Promise<number> {
  const before = await pages(session);
  await act();
  return (await pages(session)) - before;
}

async function pages(session: Database): Promise<number> {
  await sql`select pg_stat_force_next_flush()`.execute(session);
  const { rows } = await sql<{ pages: number }>`
    select sum(heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)::float8 as pages
    from pg_statio_user_tables
  `.execute(session);
  return rows[0]?.pages ?? Number.NaN;
}
