/** Reads accounts, with their ways to sign in. */
import { suspensionOf, type Suspension } from '../access/suspensions.ts';
import type { AppRole } from '../contract/app-roles.ts';
import type { OperatorRole } from '../contract/console.ts';
import { sql, type Executor, type LeftJoined, asUuid, pageOf } from '../database/database.ts';
import { ServiceError } from '../errors.ts';
import { hasFactor, isComplete } from './session-proof.ts';

export type Account = {
  id: string;
  email: string;
  name: string;
  image: string | null;
  createdAt: Date;
  sessionCount: number;
  hasSecondFactor: boolean;
  operatorRole: OperatorRole | null;
} & LeftJoined<Suspension>;
type AccountApp = { id: string; name: string; role: AppRole };

/** A way to sign in; the provider of the password is `credential`. */
export type Method = { id: string; provider: string; createdAt: Date };

const selectAccounts = sql`
  select u.id, u.email, u.name, u.image, u.created_at as "createdAt",
    -- As the user's own list has them.
    (select count(*) from sessions s where s.user_id = u.id and s.expires_at > now() and ${isComplete}) as "sessionCount",
    ${hasFactor(sql`u.id`)} as "hasSecondFactor", (select role from operators where account_id = u.id) as "operatorRole", s."suspendedAt", s."suspendedReason"
  from users u left join lateral ${suspensionOf('account', sql`u.id`)} s on true
`;

/** One page of those whose address or name contains the text, or whose id it is, newest first. */
export async function listAccounts(
  executor: Executor,
  {
    search,
    suspended,
    page,
    limit,
  }: { search: string; suspended: boolean; page: number; limit: number },
): Promise<{ accounts: Account[]; total: number }> {
  const { rows } = await sql<{ total: number } & LeftJoined<Account>>`
    with found as materialized (
      select u.id, u.created_at from users u
      where (strpos(u.email, lower(${search})) > 0 or strpos(lower(u.name), lower(${search})) > 0 or u.id::text = lower(${search}))
        and (not ${suspended}::boolean or exists (select from suspensions where account_id = u.id))
    )
    select totals.total, page.* from (select count(*) as total from found) totals
    left join (
      ${selectAccounts} where u.id in (select id from found order by created_at desc, id desc limit ${limit} offset ${(page - 1) * limit})
    ) page on true
    order by page."createdAt" desc, page.id desc
  `.execute(executor);
  const { entries: accounts, total } = pageOf<Account>(rows);
  return { accounts, total };
}

/** `given`: an id, an address, or the name that a provider gives somebody. Throws `not_found`. */
export async function readAccount(
  executor: Executor,
  given: string,
): Promise<Account & { methods: Method[]; apps: AccountApp[] }> {
  const { rows } = await sql<Account>`
    ${selectAccounts} where u.id = ${asUuid(key(given))} or u.email = ${key(given)}
  `.execute(executor);
  const [account] = rows;
  if (!account) throw missing(given);
  const { rows: apps } = await sql<AccountApp>`
    select a.id, a.name, m.role from app_members m join apps a on a.id = m.app_id
    where m.email = ${account.email} order by a.id
  `.execute(executor);
  return { ...account, methods: await listMethods(executor, account.id), apps };
}

/** Oldest first. */
export async function listMethods(executor: Executor, userId: string): Promise<Method[]> {
  const { rows } = await sql<Method>`
    select id, provider_id as provider, created_at as "createdAt" from accounts
    where user_id = ${userId} order by created_at, id
  `.execute(executor);
  return rows;
}

/** The account, which stays until the end of the transaction. Throws `not_found`. */
export async function lockAccount(
  executor: Executor,
  given: string,
): Promise<{ id: string; email: string }> {
  const { rows } = await sql<{ id: string; email: string }>`
    select id, email from users where id = ${asUuid(key(given))} or email = ${key(given)} for update
  `.execute(executor);
  const [account] = rows;
  if (!account) throw missing(given);
  return account;
}

const key = (given: string) => given.trim().toLowerCase();

function missing(given: string): ServiceError {
  return new ServiceError('not_found', `There is no account with the id or address ${given}.`);
}
