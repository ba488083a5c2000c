/** What a user has chosen for their account. */
import type { AccountPreferences } from '../contract/account.ts';
import { sql, type Executor } from '../database/database.ts';
import { ServiceError } from '../errors.ts';

/** Throws `unauthorized` if the account is gone. */
export async function readPreferences(
  executor: Executor,
  userId: string,
): Promise<AccountPreferences> {
  const { rows } = await sql<AccountPreferences>`
    select announcement_mails as "announcementMails" from users where id = ${userId}
  `.execute(executor);
  return requireAccount(rows);
}

/** Throws `unauthorized` if the account is gone. */
export async function changePreferences(
  executor: Executor,
  userId: string,
  { announcementMails }: AccountPreferences,
): Promise<AccountPreferences> {
  const { rows } = await sql<AccountPreferences>`
    update users set announcement_mails = ${announcementMails} where id = ${userId}
    returning announcement_mails as "announcementMails"
  `.execute(executor);
  return requireAccount(rows);
}

function requireAccount([row]: AccountPreferences[]): AccountPreferences {
  if (!row) throw new ServiceError('unauthorized', 'Sign in first.');
  return row;
}
