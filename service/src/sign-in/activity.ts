/**
 * Writes to the audit log what happens to an account: who signed in, from where, and what changed. The user reads it in
 * the portal under Account, the operator with `orgdir audit list`.
 */
import type { Actor } from '../access/actor.ts';
import { recordAudit, type AuditAction } from '../access/audit-log.ts';
import { sql, type Database, type LeftJoined, type Transaction } from '../database/database.ts';
import type { Caller } from './caller.ts';

export type AccountAction = Extract<AuditAction, `account.${string}`>;
export type Account = { id: string; email: string };
/** `caller`: who asks, unless an operator does. */
type ActiveAccount = Account & { caller?: Pick<Caller, 'ip' | 'userAgent'> | null };
export type SignedInAccount = Account & { sessionId: string; caller: Caller };

/** `details`: whatever there is to say besides the caller's address and user agent. */
export async function recordActivity(
  tx: Transaction,
  action: AccountAction,
  { id, email, caller }: ActiveAccount,
  { actor, ...details }: Record<string, unknown> & { actor?: Actor } = {},
): Promise<void> {
  await recordAudit(tx, actor ?? { kind: 'user', id, name: email }, {
    action,
    subject: { kind: 'account', id },
    appId: null,
    details: {
      ...details,
      ...(caller && { ip: caller.ip, userAgent: caller.userAgent }),
    },
  });
}

export type AccountActivity = {
  id: number;
  at: Date;
  action: string;
  details: Record<string, unknown>;
};

/** One page, newest first, and how many entries there are. */
export async function listActivity(
  database: Database,
  accountId: string,
  { page, limit }: { page: number; limit: number },
): Promise<{ total: number; entries: AccountActivity[] }> {
  const { rows } = await sql<{ total: number } & LeftJoined<AccountActivity>>`
    select totals.total, page.* from (
      select count(*) as total from audit_log where subject_kind = 'account' and subject_id = ${accountId}
    ) totals
    left join lateral (
      select id, at, action, details from audit_log where subject_kind = 'account' and subject_id = ${accountId}
      order by at desc, id desc limit ${limit} offset ${(page - 1) * limit}
    ) page on true
    order by page.at desc, page.id desc
  `.execute(database);
  return { total: rows[0]?.total ?? 0, entries: rows.filter((row) => row.id !== null) };
}
