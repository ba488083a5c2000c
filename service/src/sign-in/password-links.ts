/**
 * Links that set a password. A link goes to an address, so whoever opens it has the mailbox. It either creates the account
 * or resets its password: once the address has an account, a link that was to create one is worth nothing, because
 * whoever asked for it may be somebody else. Opening a link changes nothing; the password is sent by POST.
 */
import { linkHours, firstAccountLinkHours } from '../contract/periods.ts';
import { sql, type Executor, type Transaction, type Database } from '../database/database.ts';
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

/**
 * The link that creates the first account of an installation, without any mail, for whoever reads its terminal. It works
 * once, for a day, and only while there is no account. Null if there is one already.
 */
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
