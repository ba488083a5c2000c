/** Deletes what has run out, when somebody signs in: as often as it comes to be, and a bounded part each time. */
import { sql, type Database } from '../database/database.ts';
import type { Logger } from '../log.ts';

const rowsMax = 500;
/** An account that nobody has confirmed by then keeps its address from nobody else. */
const unverifiedDays = 7;

export async function sweep(database: Database, log: Logger): Promise<void> {
  try {
    await sql`
      with ended as (
        delete from sessions where id in (select id from sessions where expires_at <= now() limit ${rowsMax})
      ),
      unused as (
        delete from verifications where id in (select id from verifications where expires_at <= now() limit ${rowsMax})
      )
      delete from users where id in (
        select id from users
        where not email_verified and created_at < now() - ${unverifiedDays} * interval '1 day' limit ${rowsMax}
      )
    `.execute(database);
  } catch (error) {
    // Whoever signs in is not the one to suffer for it.
    log.warn({ reason: (error as Error).message }, 'sign-in.sweep');
  }
}
