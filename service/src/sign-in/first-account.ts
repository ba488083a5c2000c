/**
 * The first account of an installation: whoever reads its terminal gets a link, and creates it without any mail. A link
 * works once, for a day, and only while there is no account; the database stores its SHA-256 alone.
 */
import { firstAccountLinkHours } from '../contract/periods.ts';
import { sql, type Database, type Executor, type Transaction } from '../database/database.ts';
import { createToken, digest } from './token.ts';

/** The link; null if there is an account already. */
export async function offerFirstAccount(
  database: Database,
  publicUrl: string,
): Promise<string | null> {
  const token = createToken();
  const { rows } = await sql`
    insert into first_account_links (hash, expires_at)
    select ${digest(token)}, now() + ${firstAccountLinkHours} * interval '1 hour' where not exists (select from users)
    returning 1
  `.execute(database);
  if (rows.length === 0) return null;
  await sql`delete from first_account_links where expires_at <= now()`.execute(database);
  // Behind `#`, which no server and no log on the way sees.
  return `${publicUrl}/profile/developer/first-account#${token}`;
}

export async function isFirstAccountLink(executor: Executor, token: string): Promise<boolean> {
  const { rows } = await sql`
    select 1 from first_account_links
    where hash = ${digest(token)} and expires_at > now() and not exists (select from users)
  `.execute(executor);
  return rows.length > 0;
}

/** All links go with the one: there is only one first account. Of two requests at once, one gets false. */
export async function takeFirstAccountLink(tx: Transaction, token: string): Promise<boolean> {
  await sql`lock table first_account_links in exclusive mode`.execute(tx);
  if (!(await isFirstAccountLink(tx, token))) return false;
  await sql`delete from first_account_links`.execute(tx);
  return true;
}
