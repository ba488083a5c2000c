/**
 * What somebody does with their own account: get a link that sets a password, change the password, the ways to sign in
 * and the sessions. Each change is written to the audit log in its own transaction, with the mail to the owner if it
 * changes how to sign in.
 */
import type { Static } from 'typebox';
import type { Actor } from '../access/actor.ts';
import { normaliseEmail } from '../access/email.ts';
import { leaveApps } from '../access/leave-apps.ts';
import { moveMemberships } from '../access/move-memberships.ts';
import type { NewFirstAccount, PasswordChange } from '../contract/account.ts';
import { sql, type Database, type Transaction } from '../database/database.ts';
import { invalid, ServiceError } from '../errors.ts';
import type { AccountMail } from './account-mail.ts';
import { recordActivity, type Account, type SignedInAccount } from './activity.ts';
import { createAddressChange, takeAddressChange } from './address-changes.ts';
import type { Caller } from './caller.ts';
import {
  isFirstAccountLink,
  takeFirstAccountLink,
  createPasswordLink,
  readPasswordLink,
  requestPasswordLink,
  requestSignUpLink,
  takePasswordLink,
} from './password-links.ts';
import { listMethods, type Method } from './list-accounts.ts';
import { listPasskeys } from './passkeys.ts';
import { isProviderIdentity } from './provider-identity.ts';
import { endSession, endSessions, holdSession, lockSignedIn } from './sessions.ts';
import {
  lockPassword,
  readPassword,
  requireName,
  setPassword,
  writePassword,
  type PasswordSet,
} from './set-password.ts';

type ChosenPassword = { token: string; name: string | null; password: string };
/** `methods`: the other ways to sign in to the account, apart from passkeys. */
type UsedLink = { email: string; created: boolean; methods: Method[]; hasPasskeys: boolean };

type AccountsDependencies = {
  database: Database;
  publicUrl: string;
  providers: { id: string; name: string }[];
  mail: AccountMail;
  hash: (password: string) => Promise<string>;
  verify: (given: { hash: string; password: string }) => Promise<boolean>;
};

export class Accounts {
  readonly #dependencies: AccountsDependencies;

  constructor(dependencies: AccountsDependencies) {
    this.#dependencies = dependencies;
  }

  /** Sends a link that sets the password of this address. Resolves before the mail is sent. */
  async requestLink(given: string): Promise<void> {
    const { database, mail, publicUrl } = this.#dependencies;
    const email = readMailbox(given);
    mail.requireRoom('link');
    const { token, hasAccount, isRefused } = await requestPasswordLink(database, email);
    if (isRefused || token === null) return mail.signUpRefused(email);
    mail.link(email, passwordLinkUrl(publicUrl, token), hasAccount ? 'reset' : 'signUp');
  }

  /**
   * Sends a link that creates an account to an invited address, or a mail that it has one. `next`: the page to continue
   * to, below the portal's. Resolves before the mail is sent.
   */
  async requestSignUp(email: string, next: string): Promise<void> {
    const { database, mail, publicUrl } = this.#dependencies;
    mail.requireRoom('link');
    const { token, hasAccount, isRefused } = await requestSignUpLink(database, email);
    const query = `?next=${encodeURIComponent(next)}`;
    if (isRefused) mail.signUpRefused(email);
    // Nobody gets the token of a link that resets a password.
    else if (token === null || hasAccount)
      mail.accountExists(email, `${publicUrl}/profile/developer/sign-in${query}`);
    else mail.link(email, passwordLinkUrl(publicUrl, token, query), 'signUp');
  }

  /** Null as `readPasswordLink`. Throws `validation_failed` if a new account has no name; the link can be used again then. */
  async usePasswordLink(
    { token, name, password }: ChosenPassword,
    caller: Caller,
  ): Promise<UsedLink | null> {
    const { database, mail, hash: hashOf } = this.#dependencies;
    // Before the hash is computed, so that guessing tokens costs the service nothing.
    const link = await readPasswordLink(database, token);
    if (link === null) return null;
    if (!link.hasAccount) requireName(name);
    const hash = await hashOf(password);
    return this.#inTransaction(async (tx) => {
      const taken = await takePasswordLink(tx, token);
      if (taken === null) return null;
      const { email } = taken;
      const result = await setPassword(tx, { ...taken, name, hash });
      if (result === null) return null;
      await recordPassword(tx, email, result, caller);
      if (!result.created)
        await mail.notice(
          tx,
          email,
          'Your password was changed, and all your sessions were ended.',
        );
      const methods = await listMethods(tx, result.userId);
      const others = methods.filter(({ provider }) => provider !== 'credential');
      const hasPasskeys = (await listPasskeys(tx, result.userId)).length > 0;
      return { email, created: result.created, methods: others, hasPasskeys };
    });
  }

  /** Returns the id of the account, or null if the link was used or has expired, or there is an account already. */
  async createFirst(
    account: Static<typeof NewFirstAccount>,
    caller: Caller,
  ): Promise<string | null> {
    const { database, hash: hashOf } = this.#dependencies;
    const { token, name } = account;
    if (!(await isFirstAccountLink(database, token))) return null;
    const email = readMailbox(account.email);
    const hash = await hashOf(account.password);
    return this.#inTransaction(async (tx) => {
      if (!(await takeFirstAccountLink(tx, token))) return null;
      const result = await setPassword(tx, { email, hasAccount: false, name, hash });
      if (result === null) return null;
      await recordPassword(tx, email, result, caller);
      return result.userId;
    });
  }

  async rename(account: SignedInAccount, name: string): Promise<void> {
    await this.#inTransaction(async (tx) => {
      await lockSignedIn(tx, account);
      const { rows } = await sql`
        update users set name = ${name}, updated_at = now() where id = ${account.id} and name <> ${name} returning 1
      `.execute(tx);
      if (rows.length === 0) return;
      await recordActivity(tx, 'account.name_changed', account, { name });
    });
  }

  /** Ends all other sessions. Throws `validation_failed` if the current password is wrong, `conflict` if there is none. */
  async changePassword(
    account: SignedInAccount,
    { currentPassword, newPassword }: Static<typeof PasswordChange>,
  ): Promise<void> {
    const { database, mail, hash, verify } = this.#dependencies;
    const before = await readPassword(database, account.email);
    if (before === null)
      throw new ServiceError(
        'conflict',
        'This account has no password. Ask for a link to set one.',
      );
    const [isRight, stored] = await Promise.all([
      verify({ hash: before, password: currentPassword }),
      hash(newPassword),
    ]);
    if (!isRight) throw wrongPassword();
    await this.#inTransaction(async (tx) => {
      await lockSignedIn(tx, account);
      // Another change or a reset since then has the last word.
      if ((await lockPassword(tx, account.id)) !== before) throw wrongPassword();
      await writePassword(tx, account.id, stored);
      const endedSessions = await endSessions(tx, account.id, account.sessionId);
      await recordActivity(tx, 'account.password_changed', account, { endedSessions });
      const change = 'Your password was changed, and all your other sessions were ended.';
      await mail.notice(tx, account.email, change);
    });
  }

  /**
   * Sends a link to the new address and announces it to the old one. Resolves before the mails are sent, and in the same
   * way if the new address has an account already; its owner is told so. Throws `validation_failed`.
   */
  async requestAddressChange(account: SignedInAccount, given: string): Promise<void> {
    const { mail, publicUrl } = this.#dependencies;
    const email = readMailbox(given);
    if (email === account.email)
      throw invalid({ path: 'body.email', message: 'is already the address of your account' });
    mail.requireRoom('link');
    const { token, isTaken } = await this.#inTransaction(async (tx) => {
      // A reset withdraws what it finds: it must not run at the same time.
      await lockSignedIn(tx, account);
      await recordActivity(tx, 'account.address_requested', account, { email });
      const change = `Somebody, probably you, asked to change the address of your account to ${email}. It changes when the link that was sent there is opened in a browser that is signed in to your account.`;
      await mail.notice(tx, account.email, change);
      return createAddressChange(tx, account.id, email);
    });
    if (isTaken) mail.addressTaken(email);
    // Behind `#`, which no server and no log on the way sees.
    else mail.link(email, `${publicUrl}/profile/developer/change-address#${token}`, 'newAddress');
  }

  /**
   * Changes the address, moves the apps to it, and ends all other sessions. Returns the new address, or null as
   * `readAddressChange`. Throws `conflict` if the new address got an account meanwhile.
   */
  async changeAddress(account: SignedInAccount, token: string): Promise<string | null> {
    return this.#inTransaction(async (tx) => {
      const taken = await takeAddressChange(tx, account, token);
      if (taken === null) return null;
      // The account is locked by now: a reset that it has waited for ended this session.
      await holdSession(tx, account.sessionId);
      const actor = { kind: 'user', id: account.id, name: account.email } as const;
      await moveMemberships(tx, actor, { from: account.email, to: taken });
      const endedSessions = await endSessions(tx, account.id, account.sessionId);
      await recordActivity(tx, 'account.address_changed', account, {
        before: account.email,
        email: taken,
        endedSessions,
      });
      await this.#dependencies.mail.addressChanged(tx, account.email, taken);
      return taken;
    });
  }

  /** `apps`: the ids of the apps that the user agrees to delete. Throws `conflict` if they have changed. */
  async delete(account: SignedInAccount, apps: string[]): Promise<void> {
    await this.#inTransaction(async (tx) => {
      await deleteAccount(tx, account, apps);
      await this.#dependencies.mail.accountDeleted(tx, account.email);
    });
  }

  /** Throws `not_found`, and `conflict` for the last one that can be used. */
  async removeMethod(account: SignedInAccount, methodId: string): Promise<void> {
    const usable = new Set(['credential', ...this.#dependencies.providers.map(({ id }) => id)]);
    await this.#inTransaction(async (tx) => {
      const provider = await removeMethod(tx, account.id, methodId, usable);
      await holdSession(tx, account.sessionId);
      // Whoever signed in with it is signed out with it.
      const endedSessions = await endSessions(tx, account.id, account.sessionId);
      await recordActivity(tx, 'account.method_removed', account, { provider, endedSessions });
      const change = `You can no longer sign in with ${this.#nameOf(provider)}: it was removed from your account, and all your other sessions were ended.`;
      await this.#dependencies.mail.notice(tx, account.email, change);
    });
  }

  /** `provider`: its id. */
  notifyMethodAdded(tx: Transaction, email: string, provider: string): Promise<void> {
    const change = `You can now sign in with ${this.#nameOf(provider)}: it was added to your account.`;
    return this.#dependencies.mail.notice(tx, email, change);
  }

  /** Throws `not_found`. */
  async endSession(account: SignedInAccount, sessionId: string): Promise<void> {
    await this.#inTransaction(async (tx) => {
      if (!(await endSession(tx, account.id, sessionId))) throw new ServiceError('not_found');
      await recordActivity(tx, 'account.sessions_ended', account, { count: 1 });
    });
  }

  /** Returns how many there were. */
  endOtherSessions(account: SignedInAccount): Promise<number> {
    return this.#inTransaction(async (tx) => {
      const count = await endSessions(tx, account.id, account.sessionId);
      if (count > 0) await recordActivity(tx, 'account.sessions_ended', account, { count });
      return count;
    });
  }

  async recordSignOut(account: Account & { caller: Caller }): Promise<void> {
    await this.#inTransaction((tx) => recordActivity(tx, 'account.signed_out', account));
  }

  #inTransaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#dependencies.database.transaction().execute(work);
  }

  #nameOf(method: string): string {
    if (method === 'credential') return 'a password';
    return this.#dependencies.providers.find(({ id }) => id === method)?.name ?? method;
  }
}

/** A link for an operator to hand over (`orgdir accounts link`), also for an address that may not sign up. `email`: as somebody typed it. */
export async function createAccountLink(
  tx: Transaction,
  actor: Actor,
  { email: given, publicUrl }: { email: string; publicUrl: string },
): Promise<{ email: string; url: string; hasAccount: boolean }> {
  const email = readMailbox(given);
  const { token, hasAccount } = await createPasswordLink(tx, email);
  const { rows } = await sql<{ id: string }>`select id from users where email = ${email}`.execute(
    tx,
  );
  const account = { id: rows[0]?.id ?? email, email };
  await recordActivity(tx, 'account.link_created', account, { actor, email });
  return { email, url: passwordLinkUrl(publicUrl, token), hasAccount };
}

/**
 * Deletes an account with its sessions, ways to sign in and links. `apps`: the ids of the apps that the user agrees to
 * delete. `actor`: the operator, if it is one. Throws as `leaveApps`, `unauthorized` if the session that
 * asks has ended, and `conflict` if the account is deleted or its address changed at this moment.
 */
export async function deleteAccount(
  tx: Transaction,
  account: Account & Partial<SignedInAccount>,
  apps: string[],
  actor: Actor = { kind: 'user', id: account.id, name: account.email },
): Promise<void> {
  // Locks in the order of a password reset: first its link, then the user.
  await sql`delete from password_links where email = ${account.email}`.execute(tx);
  const { rows } = await sql`
    select from users where id = ${account.id} and email = ${account.email} for update
  `.execute(tx);
  if (rows.length === 0)
    throw new ServiceError('conflict', 'The account has changed. Sign in again.');
  if (account.sessionId !== undefined) await holdSession(tx, account.sessionId);
  await leaveApps(tx, actor, account.email, apps);
  await recordActivity(tx, 'account.deleted', account, { actor });
  await sql`delete from users where id = ${account.id}`.execute(tx);
}

/**
 * Removes one and returns its provider. `usable`: the providers that this service has now.
 * Throws `not_found`, and `conflict` if no other method would be left to sign in with.
 */
async function removeMethod(
  tx: Transaction,
  userId: string,
  methodId: string,
  usable: ReadonlySet<string>,
): Promise<string> {
  // Two removals at once must not each leave the other's method as the last one.
  await sql`select from users where id = ${userId} for update`.execute(tx);
  const methods = await listMethods(tx, userId);
  const method = methods.find(({ id }) => id === methodId);
  if (!method) throw new ServiceError('not_found');
  const others = methods.filter(({ id, provider }) => id !== methodId && usable.has(provider));
  if (others.length === 0)
    throw new ServiceError('conflict', 'This is your only way to sign in. Add another one first.');
  await sql`delete from accounts where id = ${methodId}`.execute(tx);
  return method.provider;
}

async function recordPassword(
  tx: Transaction,
  email: string,
  { userId, created, endedSessions }: PasswordSet,
  caller: Caller,
): Promise<void> {
  const account = { id: userId, email, caller };
  if (created) await recordActivity(tx, 'account.created', account, { provider: 'credential' });
  else
    await recordActivity(tx, 'account.password_changed', account, {
      endedSessions,
      byLink: true,
    });
}

function wrongPassword(): ServiceError {
  return invalid({ path: 'body.currentPassword', message: 'is wrong' });
}

/** The token stands behind `#`, which no server and no log on the way sees. */
function passwordLinkUrl(publicUrl: string, token: string, query = ''): string {
  return `${publicUrl}/profile/developer/set-password${query}#${token}`;
}

/** Zod's pattern, by which better-auth checks addresses at sign-in: an account with any other could not sign in. */
const mailbox = /^(?!\.)(?!.*\.\.)([a-z0-9_'+\-.]*)[a-z0-9_+-]@([a-z0-9][a-z0-9-]*\.)+[a-z]{2,}$/;

/** Throws `validation_failed`, also for the name that a provider gives somebody, which has no mailbox. */
export function readMailbox(given: string): string {
  const email = normaliseEmail(given, 'body.email');
  if (mailbox.test(email) && !isProviderIdentity(email)) return email;
  throw invalid({
    path: 'body.email',
    message: 'must be an address that receives mail, such as ada@example.org',
  });
}
