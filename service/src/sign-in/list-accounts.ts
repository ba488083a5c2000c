/** Reads accounts for operators. */
import { suspensionOf, type Suspension } from '../access/suspensions.ts';
import type { AppRole } from '../contract/app-roles.ts';
import { sql, type Executor, type LeftJoined } from '../database/database.ts';
import { ServiceError } from '../errors.ts';
import { listMethods, type Method } from './methods.ts';
import { hasFactor } from './session-proof.ts';

type Account = {
  id: string;
  email: string;
  name: string;
  image: string | null;
  createdAt: Date;
  sessionCount: number;
  hasSecondFactor: boolean;
} & LeftJoined<Suspension>;
type AccountApp = { id: string; name: string; role: AppRole };

export const accountsListedMax = 1_000;

const selectAccounts = sql`
  select u.id, u.email, u.name, u.image, u.created_at as "createdAt",
    (select count(*) from sessions where user_id = u.id and expires_at > now()) as "sessionCount",
    ${hasFactor(sql`u.id`)} as "hasSecondFactor", s."suspendedAt", s."suspendedReason"
  from users u left join lateral ${suspensionOf('account', sql`u.id`)} s on true
`;

/** Newest first, at most 1,000: those whose address or name contains the text. */
export async function listAccounts(
  executor: Executor,
  search: string,
  suspended: boolean,
): Promise<Account[]> {
  const { rows } = await sql<Account>`
    ${selectAccounts}
    where (strpos(u.email, lower(${search})) > 0 or strpos(lower(u.name), lower(${search})) > 0)
      and (not ${suspended}::boolean or s."suspendedAt" is not null)
    order by u.created_at desc, u.id desc limit ${accountsListedMax}
  `.execute(executor);
  return rows;
}

/** `given`: an id, an address, or the name that a provider gives somebody. Throws `not_found`. */
export async function readAccount(
  executor: Executor,
  given: string,
): Promise<Account & { methods: Method[]; apps: AccountApp[] }> {
  const { rows } = await sql<Account>`
    ${selectAccounts} where u.id::text = ${key(given)} or u.email = ${key(given)}
  `.execute(executor);
  const [account] = rows;
  if (!account) throw missing(given);
  const { rows: apps } = await sql<AccountApp>`
    select a.id, a.name, m.role from app_members m join apps a on a.id = m.app_id
    where m.email = ${account.email} order by a.id
  `.execute(executor);
  return { ...account, methods: await listMethods(executor, account.id), apps };
}

/** The account, which stays until the end of the transaction. Throws `not_found`. */
export async function lockAccount(
  executor: Executor,
  given: string,
): Promise<{ id: string; email: string }> {
  const { rows } = await sql<{ id: string; email: string }>`
    select id, email from users where id::text = ${key(given)} or email = ${key(given)} for update
  `.execute(executor);
  const [account] = rows;
  if (!account) throw missing(given);
  return account;
}

const key = (given: string) => given.trim().toLowerCase();

function missing(given: string): ServiceError {
  return new ServiceError('not_found', `There is no account with the id or address ${given}.`);
}
