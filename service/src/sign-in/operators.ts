/** Who may open the console. Roles are given by command only. */
import type { Actor } from '../access/actor.ts';
import { recordAudit } from '../access/audit-log.ts';
import type { OperatorRole } from '../contract/console.ts';
import { sql, type Executor, type Transaction } from '../database/database.ts';
import { ServiceError } from '../errors.ts';
import { lockAccount } from './list-accounts.ts';
import { hasFactor } from './session-proof.ts';

export type Operator = {
  id: string;
  email: string;
  role: OperatorRole;
  /** Without one, the account is closed until its user sets one up. */
  hasSecondFactor: boolean;
  createdAt: Date;
};

/** Returns the operators, oldest first. */
export async function listOperators(executor: Executor): Promise<Operator[]> {
  const { rows } = await sql<Operator>`
    select u.id, u.email, o.role, ${hasFactor(sql`u.id`)} as "hasSecondFactor", o.created_at as "createdAt"
    from operators o join users u on u.id = o.account_id order by o.created_at, u.id
  `.execute(executor);
  return rows;
}

/** Whether there is a console at all. */
export async function hasOperators(executor: Executor): Promise<boolean> {
  const { rows } = await sql`select from operators limit 1`.execute(executor);
  return rows.length > 0;
}

/** Keeps the role until the end of the transaction. Throws `not_found`, as the console does for everybody else, and `forbidden`. */
export async function holdOperator(tx: Transaction, accountId: string): Promise<void> {
  const { rows } = await sql<{ role: OperatorRole }>`
    select role from operators where account_id = ${accountId} for share
  `.execute(tx);
  const [operator] = rows;
  if (!operator) throw new ServiceError('not_found');
  if (operator.role !== 'operator') throw readOnly();
}

export function readOnly(): ServiceError {
  return new ServiceError('forbidden', 'Your role in the console is read-only.');
}

/** Names an operator, or changes the role. Returns false if the account has it already. Throws `not_found`. */
export async function setOperator(
  tx: Transaction,
  actor: Actor,
  { account, role }: { account: string; role: OperatorRole },
): Promise<boolean> {
  const { id, email } = await lockAccount(tx, account);
  const { rows } = await sql`
    insert into operators as o (account_id, role) values (${id}, ${role})
    on conflict (account_id) do update set role = excluded.role where o.role <> excluded.role returning 1
  `.execute(tx);
  if (rows.length === 0) return false;
  await recordAudit(tx, actor, {
    action: 'operator.added',
    subject: { kind: 'account', id },
    appId: null,
    details: { email, role },
  });
  return true;
}

/** Returns false if the account is no operator. Its sessions lose the console at once. Throws `not_found`. */
export async function removeOperator(
  tx: Transaction,
  actor: Actor,
  account: string,
): Promise<boolean> {
  const { id, email } = await lockAccount(tx, account);
  const { rows } = await sql`delete from operators where account_id = ${id} returning 1`.execute(
    tx,
  );
  if (rows.length === 0) return false;
  await recordAudit(tx, actor, {
    action: 'operator.removed',
    subject: { kind: 'account', id },
    appId: null,
    details: { email },
  });
  return true;
}
