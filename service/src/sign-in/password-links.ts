/**
 * Links that set a password. A link goes to an address, so whoever opens it has the mailbox. It either creates the account
 * or resets its password: once the address has an account, a link that was to create one is worth nothing, because
 * whoever asked for it may be somebody else. Opening a link changes nothing; the password is sent by POST.
 */
import { linkHours } from '../contract/periods.ts';
import { sql, type Executor, type Transaction } from '../database/database.ts';
import { isSignUpBlocked } from './sign-up-blocks.ts';
import { createToken, digest } from './token.ts';

/** `hasAccount`: the link resets the password of an account; otherwise it creates one. */
export type PasswordLink = { email: string; hasAccount: boolean };

const expiry = sql`now() + ${linkHours} * interval '1 hour'`;

/** A trigger records the purpose when a link is made; an account that was created or deleted since then ends it. */
const isUsable = sql`(
  expires_at > now()
  and creates_account = not exists (select from users where users.email = password_links.email)
)`;

/** `token`: null if an earlier link was kept, or the link is for nobody. */
export type RequestedLink = { token: string | null; hasAccount: boolean; isRefused: boolean };

/**
 * Makes a link for whoever has the mailbox, and replaces an older one. Strangers ask for it, and must not learn from the time
 * which addresses have accounts: every case is one statement that reads the same and writes a row. `isRefused`: the address
 * has no account and may not get one; then a link that an operator handed over stays.
 */
export function requestPasswordLink(executor: Executor, email: string): Promise<RequestedLink> {
  return writeLink(executor, email, sql`(select "isRefused" and link.creates_account from known)`);
}

/**
 * The same for a link that may only create an account. Never replaces a link that resets a password, because anybody with
 * an invitation can ask for this one.
 */
export function requestSignUpLink(executor: Executor, email: string): Promise<RequestedLink> {
  return writeLink(
    executor,
    email,
    sql`(
      (select "isRefused" and link.creates_account or "hasAccount" and not link.creates_account from known)
      -- The account, and then a link that resets it, may have been made since this statement began. One that this
      -- statement sees without an account is worth nothing.
      or not link.creates_account and not exists (select from password_links as seen where seen.hash = link.hash)
    )`,
  );
}

/** For an operator to hand over, also for an address that may not sign up. Replaces an older link. */
export async function createPasswordLink(
  executor: Executor,
  email: string,
): Promise<{ token: string; hasAccount: boolean }> {
  const { token, hasAccount } = await writeLink(executor, email, sql`false`);
  if (token === null) throw new Error('the link was not written');
  return { token, hasAccount };
}

/** `email`: as `normaliseEmail` gives it. `isKept`: whether the older link stays. */
async function writeLink(
  executor: Executor,
  email: string,
  isKept: ReturnType<typeof sql>,
): Promise<RequestedLink> {
  const token = createToken();
  const { rows } = await sql<Omit<RequestedLink, 'token'> & { isNew: boolean }>`
    with known as materialized (
      select "hasAccount", ${isSignUpBlocked(email)} and not "hasAccount" as "isRefused"
      from (select exists (select from users where email = ${email}) as "hasAccount") as account
    )
    insert into password_links as link (email, hash, expires_at) values (${email}, ${digest(token)}, ${expiry})
    on conflict (email) do update set
      hash = case when ${isKept} then link.hash else excluded.hash end,
      expires_at = case when ${isKept} then link.expires_at else excluded.expires_at end
    returning hash = ${digest(token)} as "isNew", not creates_account as "hasAccount",
      (select "isRefused" from known) as "isRefused"
  `.execute(executor);
  const { isNew = false, hasAccount = false, isRefused = false } = rows[0] ?? {};
  return { token: isNew ? token : null, hasAccount, isRefused };
}

/** Null if the link was used, replaced or has expired, or its purpose has ended. */
export async function readPasswordLink(
  executor: Executor,
  token: string,
): Promise<PasswordLink | null> {
  const { rows } = await sql<PasswordLink>`
    select email, not creates_account as "hasAccount" from password_links
    where hash = ${digest(token)} and ${isUsable}
  `.execute(executor);
  return rows[0] ?? null;
}

/** Uses the link up. Null as `readPasswordLink`; of two requests with the same link, one gets null. */
export async function takePasswordLink(
  tx: Transaction,
  token: string,
): Promise<PasswordLink | null> {
  const { rows } = await sql<PasswordLink>`
    delete from password_links where hash = ${digest(token)} and ${isUsable}
    returning email, not creates_account as "hasAccount"
  `.execute(tx);
  return rows[0] ?? null;
}
