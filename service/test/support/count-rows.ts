import { sql, type Executor } from '../../src/database/database.ts';

/** How many rows there are, as in sql`webhooks where active`. */
export async function countRows(executor: Executor, from: ReturnType<typeof sql>): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from ${from}
  `.execute(executor);
  return rows[0]?.count ?? 0;
}
