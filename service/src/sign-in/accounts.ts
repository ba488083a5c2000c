/**
 * What somebody does with their own account: get a link that sets a password, change the password, the ways to sign in
 * and the sessions. Each change is written to the audit log in its own transaction, and mailed to the owner if it
 * changes how to sign in.
 */
import type { Actor } from '../access/actor.ts';
import { normaliseEmail } from '../access/email.ts';
import { sql, type Database, type Transaction } from '../database/database.ts';
import { invalid, ServiceError } from '../errors.ts';
import type { AccountMail } from './account-mail.ts';
import { listActivity, recordActivity, type Account, type AccountActivity } from './activity.ts';
import type { Caller } from './caller.ts';
import { isFirstAccountLink, takeFirstAccountLink } from './first-account.ts';
import { listMethods, removeMethod, type Method } from './methods.ts';
import {
  createPasswordLink,
  readPasswordLink,
  takePasswordLink,
  type PasswordLink,
} from './password-links.ts';
import { isProviderIdentity } from './provider-identity.ts';
import { endSession, endSessions, listSessions, type Session } from './sessions.ts';
import {
  lockPassword,
  readPassword,
  requireName,
  setPassword,
  writePassword,
  type PasswordSet,
} from './set-password.ts';

export type Accounts = {
  /** Sends a link that sets the password of this address. Resolves before the mail is sent. */
  requestLink(email: string): Promise<void>;
  /** Null if the link was used, replaced or has expired. */
  readLink(token: string): Promise<PasswordLink | null>;
  /** Null as `readLink`. Throws `validation_failed` if a new account has no name; the link can be used again then. */
  usePasswordLink(chosen: ChosenPassword, caller: Caller): Promise<UsedLink | null>;
  /** Null if the link was used or has expired, or there is an account already. */
  createFirst(account: FirstAccount, caller: Caller): Promise<string | null>;
  rename(account: Account, name: string, caller: Caller): Promise<void>;
  /** Ends all other sessions. Throws `validation_failed` if the current password is wrong, `conflict` if there is none. */
  changePassword(account: SignedInAccount, change: PasswordChange, caller: Caller): Promise<void>;
  listMethods(userId: string): Promise<Method[]>;
  /** Throws `not_found`, and `conflict` for the last one that can be used. */
  removeMethod(account: SignedInAccount, methodId: string, caller: Caller): Promise<void>;
  listSessions(account: SignedInAccount): Promise<Session[]>;
  /** Throws `not_found`. */
  endSession(account: Account, sessionId: string, caller: Caller): Promise<void>;
  /** Returns how many there were. */
  endOtherSessions(account: SignedInAccount, caller: Caller): Promise<number>;
  recordSignOut(account: Account, caller: Caller): Promise<void>;
  listActivity(
    userId: string,
    page: { page: number; limit: number },
  ): Promise<{ total: number; entries: AccountActivity[] }>;
  /** `provider`: its id. */
  notifyMethodAdded(email: string, provider: string): void;
};

type SignedInAccount = Account & { sessionId: string };
type ChosenPassword = { token: string; name: string | null; password: string };
type FirstAccount = { token: string; email: string; name: string; password: string };
type PasswordChange = { current: string; chosen: string };
/** `methods`: the other ways to sign in to the account. */
type UsedLink = { email: string; created: boolean; methods: Method[] };

type AccountsDependencies = {
  database: Database;
  publicUrl: string;
  providers: { id: string; name: string }[];
  mail: AccountMail;
  hash: (password: string) => Promise<string>;
  verify: (given: { hash: string; password: string }) => Promise<boolean>;
};

export function createAccounts(dependencies: AccountsDependencies): Accounts {
  const { database, publicUrl, providers, mail, hash, verify } = dependencies;
  const usable = new Set(['credential', ...providers.map(({ id }) => id)]);

  function notify(email: string, change: string): void {
    if (!isProviderIdentity(email)) mail.notice(email, change);
  }

  function methodName(id: string): string {
    return id === 'credential'
      ? 'a password'
      : (providers.find((each) => each.id === id)?.name ?? id);
  }

  function inTransaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return database.transaction().execute(work);
  }

  return {
    async requestLink(given) {
      const email = readMailbox(given);
      // A link that is not mailed must not replace one that was.
      if (!mail.canSendLink())
        throw new ServiceError(
          'unavailable',
          'Too many mails wait to be sent; try again in a minute.',
          {
            headers: { 'retry-after': '60' },
          },
        );
      const { token, hasAccount } = await createPasswordLink(database, email);
      mail.link(email, passwordLinkUrl(publicUrl, token), hasAccount);
    },
    readLink: (token) => readPasswordLink(database, token),

    async usePasswordLink({ token, name, password }, caller) {
      // Before the hash is computed, so that guessing tokens costs the service nothing.
      const link = await readPasswordLink(database, token);
      if (link === null) return null;
      if (!link.hasAccount) requireName(name);
      const stored = await hash(password);
      const used = await inTransaction(async (tx) => {
        const email = await takePasswordLink(tx, token);
        if (email === null) return null;
        const result = await setPassword(tx, { email, name, hash: stored });
        await recordPassword(tx, email, result, caller);
        const methods = await listMethods(tx, result.userId);
        const others = methods.filter(({ provider }) => provider !== 'credential');
        return { email, created: result.created, methods: others };
      });
      if (used && !used.created)
        notify(used.email, 'Your password was changed, and all your sessions were ended.');
      return used;
    },

    async createFirst({ token, email: given, name, password }, caller) {
      if (!(await isFirstAccountLink(database, token))) return null;
      const email = readMailbox(given);
      const stored = await hash(password);
      return inTransaction(async (tx) => {
        if (!(await takeFirstAccountLink(tx, token))) return null;
        const result = await setPassword(tx, { email, name, hash: stored });
        await recordPassword(tx, email, result, caller);
        return result.userId;
      });
    },

    async rename(account, name, caller) {
      await inTransaction(async (tx) => {
        await sql`update users set name = ${name}, updated_at = now() where id = ${account.id}`.execute(
          tx,
        );
        await recordActivity(tx, 'account.name_changed', account, caller, { name });
      });
    },

    async changePassword(account, { current, chosen }, caller) {
      const before = await readPassword(database, account.email);
      if (before === null)
        throw new ServiceError(
          'conflict',
          'This account has no password; ask for a link to choose one.',
        );
      const [isRight, stored] = await Promise.all([
        verify({ hash: before, password: current }),
        hash(chosen),
      ]);
      if (!isRight) throw wrongPassword();
      await inTransaction(async (tx) => {
        // Another change or a reset since then has the last word.
        if ((await lockPassword(tx, account.id)) !== before) throw wrongPassword();
        await writePassword(tx, account.id, stored);
        const endedSessions = await endSessions(tx, account.id, account.sessionId);
        await recordActivity(tx, 'account.password_changed', account, caller, { endedSessions });
      });
      notify(account.email, 'Your password was changed, and all your other sessions were ended.');
    },

    listMethods: (userId) => listMethods(database, userId),
    async removeMethod(account, methodId, caller) {
      const provider = await inTransaction(async (tx) => {
        const removed = await removeMethod(tx, account.id, methodId, usable);
        // Whoever signed in with it is signed out with it.
        const endedSessions = await endSessions(tx, account.id, account.sessionId);
        await recordActivity(tx, 'account.method_removed', account, caller, {
          provider: removed,
          endedSessions,
        });
        return removed;
      });
      notify(
        account.email,
        `You can no longer sign in with ${methodName(provider)}: it was removed from your account, and all your other sessions were ended.`,
      );
    },

    listSessions: ({ id, sessionId }) => listSessions(database, id, sessionId),
    async endSession(account, sessionId, caller) {
      await inTransaction(async (tx) => {
        if (!(await endSession(tx, account.id, sessionId))) throw new ServiceError('not_found');
        await recordActivity(tx, 'account.sessions_ended', account, caller, { count: 1 });
      });
    },
    endOtherSessions: (account, caller) =>
      inTransaction(async (tx) => {
        const count = await endSessions(tx, account.id, account.sessionId);
        if (count > 0)
          await recordActivity(tx, 'account.sessions_ended', account, caller, { count });
        return count;
      }),
    recordSignOut: (account, caller) =>
      inTransaction((tx) => recordActivity(tx, 'account.signed_out', account, caller)),

    listActivity: (userId, page) => listActivity(database, userId, page),
    notifyMethodAdded: (email, provider) =>
      notify(
        email,
        `You can now sign in with ${methodName(provider)}: it was added to your account.`,
      ),
  };
}

/** A link for an operator to hand over (`orgdir account link`). `email`: as somebody typed it. */
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
  await recordActivity(tx, 'account.link_created', { id: rows[0]?.id ?? email, email }, null, {
    actor,
    email,
  });
  return { email, url: passwordLinkUrl(publicUrl, token), hasAccount };
}

async function recordPassword(
  tx: Transaction,
  email: string,
  { userId, created, endedSessions }: PasswordSet,
  caller: Caller,
): Promise<void> {
  const account = { id: userId, email };
  if (created)
    await recordActivity(tx, 'account.created', account, caller, { provider: 'credential' });
  else
    await recordActivity(tx, 'account.password_changed', account, caller, {
      endedSessions,
      byLink: true,
    });
}

function wrongPassword(): ServiceError {
  return invalid({ path: 'body.currentPassword', message: 'is wrong' });
}

/** The token stands behind `#`, which no server and no log on the way sees. */
function passwordLinkUrl(publicUrl: string, token: string): string {
  return `${publicUrl}/profile/developer/set-password#${token}`;
}

/** Zod's pattern, by which better-auth checks addresses at sign-in: an account with any other could not sign in. */
const mailbox = /^(?!\.)(?!.*\.\.)([a-z0-9_'+\-.]*)[a-z0-9_+-]@([a-z0-9][a-z0-9-]*\.)+[a-z]{2,}$/;

/** Throws `validation_failed`, also for the name that a provider gives somebody, which has no mailbox. */
function readMailbox(given: string): string {
  const email = normaliseEmail(given, 'body.email');
  if (mailbox.test(email) && !isProviderIdentity(email)) return email;
  throw invalid({
    path: 'body.email',
    message: 'must be an address that receives mail, such as ada@example.org',
  });
}
