/** The sessions of one account. */
import { requireNotSuspended } from '../access/suspensions.ts';
import { sql, type Database, type Executor, type Transaction } from '../database/database.ts';
import { ServiceError } from '../errors.ts';
import { userAgentCharsMax } from './caller.ts';
import { completeMax, incompleteMax, isComplete } from './session-proof.ts';

export type Session = {
  id: string;
  /** Whether it is the one that asks. */
  current: boolean;
  ipAddress: string | null;
  userAgent: string | null;
  createdAt: Date;
  expiresAt: Date;
};

/**
 * Newest first: as many as an account keeps (`endExcessSessions`), without those that miss its second factor. Whoever began
 * such a one knows the password and is not in, which the activity of the account says.
 */
export async function listSessions(
  database: Database,
  userId: string,
  currentId: string | null,
): Promise<Session[]> {
  const { rows } = await sql<Session>`
    select id, id is not distinct from ${currentId}::uuid as current, ip_address as "ipAddress", left(user_agent, ${userAgentCharsMax}) as "userAgent", created_at as "createdAt", expires_at as "expiresAt"
    from sessions s where user_id = ${userId} and expires_at > now() and ${isComplete}
    order by created_at desc, id desc
    limit ${completeMax + incompleteMax}
  `.execute(database);
  return rows;
}

/**
 * Keeps a session until the end of the transaction. Throws `unauthorized` if it has ended, as by a reset of the password, and
 * `suspended` if its account is.
 */
export async function holdSession(tx: Transaction, sessionId: string): Promise<void> {
  const { rows } = await sql<{ userId: string }>`
    select user_id as "userId" from sessions where id = ${sessionId} for key share
  `.execute(tx);
  const [session] = rows;
  if (!session) throw new ServiceError('unauthorized', 'Sign in first.');
  await requireNotSuspended(tx, 'account', session.userId, null);
}

/** Lets changes of how one signs in wait for each other, so that none relies on what another one ends. Throws as `holdSession`. */
export async function lockSignedIn(
  tx: Transaction,
  { id, sessionId }: { id: string; sessionId: string },
): Promise<void> {
  await sql`select from users where id = ${id} for update`.execute(tx);
  await holdSession(tx, sessionId);
}

/** Returns false if there is no such session of this account. */
export async function endSession(
  executor: Executor,
  userId: string,
  sessionId: string,
): Promise<boolean> {
  const { rows } = await sql`
    delete from sessions where id = ${sessionId} and user_id = ${userId} returning 1
  `.execute(executor);
  return rows.length > 0;
}

/** Ends all sessions of an account, except the one given, and returns how many there were. */
export async function endSessions(
  executor: Executor,
  userId: string,
  exceptId: string | null,
): Promise<number> {
  const { rows } = await sql`
    delete from sessions where user_id = ${userId} and id is distinct from ${exceptId}::uuid returning 1
  `.execute(executor);
  return rows.length;
}
