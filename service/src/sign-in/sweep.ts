/** Deletes expired sessions, links and invitations when somebody signs in: a bounded number each time, as often as new ones appear. */
import { sql, type Database } from '../database/database.ts';
import type { Logger } from '../log.ts';

const rowsMax = 500;

export async function sweep(database: Database, log: Logger): Promise<void> {
  try {
    await sql`
      with ended as (
        delete from sessions where id in (select id from sessions where expires_at <= now() limit ${rowsMax})
      ),
      unused as (
        delete from verifications where id in (select id from verifications where expires_at <= now() limit ${rowsMax})
      ),
      unconfirmed as (
        delete from address_changes where user_id in (
          select user_id from address_changes where expires_at <= now() limit ${rowsMax}
        )
      ),
      expired as (
        delete from app_invitations where id in (select id from app_invitations where expires_at <= now() limit ${rowsMax})
      )
      delete from password_links where email in (
        select email from password_links where expires_at <= now() limit ${rowsMax}
      )
    `.execute(database);
  } catch (error) {
    // The sign-in itself has succeeded.
    log.warn({ reason: (error as Error).message }, 'sign_in.sweep_failed');
  }
}
