/** Reads all entries of the audit log by one user, or about their account, for the export of their data. */
import { sql, type Database } from '../database/database.ts';
import type { AuditEntry } from './audit-log.ts';

export type UserEntry = Pick<AuditEntry, 'id' | 'at' | 'action' | 'subject' | 'appId' | 'details'>;

/**
 * Newest first, those older than `last`. `account`: entries about the account. `changes`: the user's entries about anything
 * else.
 */
export async function listUserEntries(
  database: Database,
  userId: string,
  kind: 'account' | 'changes',
  last: UserEntry | null,
  limit: number,
): Promise<UserEntry[]> {
  const isWanted =
    kind === 'account'
      ? sql`subject_kind = 'account' and subject_id = ${userId}`
      : sql`actor_kind = 'user' and actor_id = ${userId} and subject_kind <> 'account'`;
  const isOlder = last ? sql`(at, id) < (${last.at}, ${last.id})` : sql`true`;
  const { rows } = await sql<UserEntry>`
    select id, at, action, jsonb_build_object('kind', subject_kind, 'id', subject_id) as subject, app_id as "appId", details
    from audit_log where ${isWanted} and ${isOlder} order by at desc, id desc limit ${limit}
  `.execute(database);
  return rows;
}
