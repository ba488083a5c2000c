/** One export of an account at a time, over all processes: a row that ends by itself if its process does. */
import { sql, type Database } from '../database/database.ts';

export type ExportHold = {
  /** Call before each page. */
  renew(): Promise<void>;
  release(): Promise<void>;
};

/** Clients that take less than a page in half a minute are ended (`end-stalled-responses.ts`), so a renewal is never late. */
const heldMs = 120_000;
const renewAfterMs = heldMs / 4;

/** Returns null while another export of the account is running. */
export async function holdExport(database: Database, userId: string): Promise<ExportHold | null> {
  const until = sql`now() + ${heldMs} * interval '1 millisecond'`;
  let renewsAt = performance.now() + renewAfterMs;
  const { rows } = await sql<{ id: string }>`
    insert into account_exports as running (user_id, id, ends_at) values (${userId}, gen_random_uuid(), ${until})
    on conflict (user_id) do update set id = excluded.id, ends_at = excluded.ends_at where running.ends_at <= now()
    returning id
  `.execute(database);
  const id = rows[0]?.id;
  if (id === undefined) return null;
  return {
    async renew() {
      if (performance.now() < renewsAt) return;
      renewsAt = performance.now() + renewAfterMs;
      await sql`update account_exports set ends_at = ${until} where id = ${id}`.execute(database);
    },
    async release() {
      // Otherwise it ends by itself.
      await sql`delete from account_exports where id = ${id}`.execute(database).catch(() => {});
    },
  };
}
