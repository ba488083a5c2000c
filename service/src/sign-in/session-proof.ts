/**
 * What a session has proved: a second factor, without which an account that has one stays closed, and how recently its
 * user proved who they are. Read from the database at each request, so that a new factor or a new rule holds at once, for
 * every session and however it began.
 */
import { suspensionOf, type Suspension } from '../access/suspensions.ts';
import type { OperatorRole } from '../contract/console.ts';
import { proofMinutes } from '../contract/periods.ts';
import type { Config } from '../settings/config.ts';
import { sql, type Database, type Executor, type LeftJoined } from '../database/database.ts';

/** `confirm`: the account has a second factor to prove. `set_up`: it needs one and has none. */
export type MissingFactor = 'confirm' | 'set_up';
export type SessionProof = {
  /** Null: nothing is missing. Until then the session opens nothing else. */
  missingFactor: MissingFactor | null;
  /** Whether sensitive changes may be made without another proof. */
  isRecentlyProven: boolean;
  /** Of the account. The session opens nothing then. */
  suspension: Suspension | null;
  /** What the account may do in the console; null for everybody else. */
  operatorRole: OperatorRole | null;
};
type ProofRules = Pick<Config['signIn'], 'requireSecondFactor'> & {
  /** Whether codes can be sent to confirm with. */
  hasMail: boolean;
};

/** The time to enter a second factor after the password. */
const confirmMinutes = 10;
/** Sessions of one account: more than anybody has browsers. */
export const completeMax = 50;
/** Sessions that miss a second factor, counted separately: somebody who knows only the password ends no other session. */
export const incompleteMax = 5;

type Row = Pick<SessionProof, 'isRecentlyProven' | 'operatorRole'> & {
  hasFactor: boolean;
  mustHaveFactor: boolean;
  hasProvenFactor: boolean;
  canConfirm: boolean;
} & LeftJoined<Suspension>;

/** Null if the session has ended, or waited too long for a second factor. */
export async function readSessionProof(
  database: Database,
  sessionId: string,
  { requireSecondFactor, hasMail }: ProofRules,
): Promise<SessionProof | null> {
  const { rows } = await sql<Row>`
    select
      coalesce(s.proven_at > now() - ${proofMinutes} * interval '1 minute', false)
        -- Signing in again is all that somebody can do who has a provider and nothing else.
        or (s.created_at > now() - ${proofMinutes} * interval '1 minute'
          and not (${hasMail}::boolean and u.email not like '%.invalid')
          and not exists (select from accounts a where a.user_id = u.id and a.provider_id = 'credential')
          and not ${hasFactor(sql`u.id`)}) as "isRecentlyProven",
      s.created_at > now() - ${confirmMinutes} * interval '1 minute' as "canConfirm",
      s.second_factor_at is not null as "hasProvenFactor",
      ${hasFactor(sql`u.id`)} as "hasFactor",
      ${isFactorRequired(requireSecondFactor)} as "mustHaveFactor",
      (select role from operators where account_id = u.id) as "operatorRole",
      x."suspendedAt", x."suspendedReason"
    from sessions s join users u on u.id = s.user_id
    left join lateral ${suspensionOf('account', sql`u.id`)} x on true
    where s.id = ${sessionId}
  `.execute(database);
  const [row] = rows;
  if (!row) return null;
  const missingFactor = missingFactorOf(row);
  if (missingFactor === 'confirm' && !row.canConfirm) return null;
  const { isRecentlyProven, operatorRole, suspendedAt, suspendedReason } = row;
  const suspension = suspendedAt && { suspendedAt, suspendedReason };
  return { missingFactor, isRecentlyProven, suspension, operatorRole };
}

function missingFactorOf({ hasFactor: has, mustHaveFactor, hasProvenFactor }: Row) {
  if (has) return hasProvenFactor ? null : 'confirm';
  return mustHaveFactor ? 'set_up' : null;
}

/** Whether the rule asks a second factor of the user `u`. It always does of operators. */
function isFactorRequired(rule: ProofRules['requireSecondFactor']) {
  const isOperator = sql`exists (select from operators where account_id = u.id)`;
  if (rule !== 'managers') return sql`(${rule === 'all'}::boolean or ${isOperator})`;
  return sql`(
    ${isOperator} or exists (select from org_managers m where m.email = u.email)
    or exists (select from alliance_managers m where m.email = u.email)
  )`;
}

/** Whether the user has a passkey or an authenticator app. */
export function hasFactor(userId: ReturnType<typeof sql>) {
  return sql`(
    exists (select from passkeys p where p.user_id = ${userId})
    or exists (select from authenticators a where a.user_id = ${userId} and a.confirmed_at is not null)
  )`;
}

/** Whether a session `s` has proved the second factor of its account, if there is one: others open nothing. */
export const isComplete = sql`(s.second_factor_at is not null or not ${hasFactor(sql`s.user_id`)})`;

export async function userHasFactor(executor: Executor, userId: string): Promise<boolean> {
  const { rows } = await sql<{ has: boolean }>`
    select ${hasFactor(sql`${userId}::uuid`)} as has
  `.execute(executor);
  return rows[0]?.has ?? false;
}

/** Returns false if the session has ended meanwhile, as by a reset of the password. */
export async function proveSession(
  executor: Executor,
  session: { id: string } | { token: string },
  { secondFactor }: { secondFactor: boolean },
): Promise<boolean> {
  const { rows } = await sql<{ userId: string }>`
    update sessions set proven_at = now(), second_factor_at = ${secondFactor ? sql`now()` : sql`second_factor_at`}
    where ${'id' in session ? sql`id = ${session.id}` : sql`token = ${session.token}`} returning user_id as "userId"
  `.execute(executor);
  const [proven] = rows;
  // Whoever has proved a factor has one, so no rule asks for another.
  if (proven && secondFactor) await endExcessSessions(executor, proven.userId, 'none');
  return proven !== undefined;
}

/** Ends the oldest sessions of an account that has too many. Call when one has begun or is complete. */
export async function endExcessSessions(
  executor: Executor,
  userId: string,
  requireSecondFactor: ProofRules['requireSecondFactor'],
): Promise<void> {
  await sql`
    with ranked as (
      select s.id, incomplete, row_number() over (partition by incomplete order by s.created_at desc, s.id desc) as place
      from sessions s join users u on u.id = s.user_id, lateral (
        select case when ${hasFactor(sql`u.id`)} then s.second_factor_at is null
          else ${isFactorRequired(requireSecondFactor)} end as incomplete
      ) as proof
      where u.id = ${userId} and s.expires_at > now()
    )
    delete from sessions where id in (
      -- locked in the same order by everybody
      select s.id from sessions s join ranked on ranked.id = s.id
      where place > case when incomplete then ${incompleteMax}::int else ${completeMax}::int end
      order by s.id for update of s
    )
  `.execute(executor);
}

/** Proves a session that has just begun with a passkey; ends it and returns false if the passkey was removed meanwhile. */
export async function confirmPasskeySession(
  database: Database,
  { token, passkeyId }: { token: string; passkeyId: string },
): Promise<boolean> {
  // Waits for a running removal: it ends only the sessions that it saw.
  const { rows } = await sql`select from passkeys where id = ${passkeyId} for share`.execute(
    database,
  );
  if (rows.length > 0) return proveSession(database, { token }, { secondFactor: true });
  await sql`delete from sessions where token = ${token}`.execute(database);
  return false;
}
