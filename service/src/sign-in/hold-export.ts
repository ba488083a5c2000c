/**
 * One export of an account at a time, over all processes: a row that ends by itself if its process does. It lasts only
 * while the session that began it may read the account.
 */
import { refuseSuspended, suspensionOf, type Suspension } from '../access/suspensions.ts';
import { sql, type Database, type LeftJoined } from '../database/database.ts';
import { ServiceError } from '../errors.ts';

export type ExportHold = {
  /**
   * Call after reading a page and before sending it: then nothing is sent that was read after the right was lost. Throws
   * `unauthorized`, `suspended`, and `conflict` if another export has begun.
   */
  renew(): Promise<void>;
  release(): Promise<void>;
};

/** Clients that take less than a page in half a minute are ended (`connections/end-stalled.ts`), so a renewal is never late. */
const heldMs = 120_000;

type Confirmed = { isHeld: boolean; hasSession: boolean } & LeftJoined<Suspension>;

/** Returns null while another export of the account is running. `email`, `sessionId`: of the session that begins it. */
export async function holdExport(
  database: Database,
  { id: userId, email, sessionId }: { id: string; email: string; sessionId: string },
): Promise<ExportHold | null> {
  const until = sql`now() + ${heldMs} * interval '1 millisecond'`;
  const { rows } = await sql<{ id: string }>`
    insert into account_exports as running (user_id, id, ends_at) values (${userId}, gen_random_uuid(), ${until})
    on conflict (user_id) do update set id = excluded.id, ends_at = excluded.ends_at where running.ends_at <= now()
    returning id
  `.execute(database);
  const id = rows[0]?.id;
  if (id === undefined) return null;
  return {
    async renew() {
      const { rows: found } = await sql<Confirmed>`
        with renewed as (update account_exports set ends_at = ${until} where id = ${id} returning 1)
        select exists (select from renewed) as "isHeld", s."suspendedAt", s."suspendedReason",
          exists (
            select from sessions join users u on u.id = user_id
            where sessions.id = ${sessionId} and expires_at > now() and u.email = ${email}
          ) as "hasSession"
        from (select) as one left join lateral ${suspensionOf('account', sql`${userId}::uuid`)} s on true
      `.execute(database);
      const [state] = found;
      if (!state?.hasSession) throw new ServiceError('unauthorized', 'The session has ended.');
      refuseSuspended('account', state);
      if (!state.isHeld) throw new ServiceError('conflict', 'Another export has begun.');
    },
    async release() {
      // Otherwise it ends by itself.
      await sql`delete from account_exports where id = ${id}`.execute(database).catch(() => {});
    },
  };
}
