/**
 * Configures better-auth: sessions, password sign-in and providers, over our tables
 * (`migrations/0003_baseline_sign_in.sql`). It runs nothing else: sign-up, password changes, second factors and sessions are in
 * the files next to this one, and `http/portal/` has the routes. Why it is configured like this: docs/decisions/0016-sign-in.md. `sign-in.ts` loads this file on first use.
 */
import { availableParallelism } from 'node:os';
import { betterAuth } from 'better-auth';
import { APIError, createAuthEndpoint, getOAuthState } from 'better-auth/api';
import { setSessionCookie } from 'better-auth/cookies';
import { hashPassword, verifyPassword } from 'better-auth/crypto';
import { genericOAuth } from 'better-auth/plugins';
import { discord, github } from 'better-auth/social-providers';
import pLimit from 'p-limit';
import { v7 as uuidv7 } from 'uuid';
import type { Config } from '../settings/config.ts';
import { sql, type Database, type Transaction } from '../database/database.ts';
import type { Logger } from '../runtime/log.ts';
import { recordActivity } from './activity.ts';
import { addressHeader, callerIn, callers, linkingSessionIn, type LinkingState } from './caller.ts';
import { passwordLengthMax } from '../contract/account.ts';
import { sessionDays } from '../contract/periods.ts';
import { providerIdentity } from './provider-identity.ts';
import { endExcessSessions, hasFactor } from './session-proof.ts';
import { isSignUpBlocked, signUpRefused } from './sign-up-blocks.ts';
import { signUpWithProvider, type ProvidedAccount } from './sign-up-with-provider.ts';

export type AuthDependencies = Pick<Config, 'publicUrl' | 'signIn'> & {
  database: Database;
  secret: string;
  /** Tests replace it by one that takes no time. */
  hashing?: PasswordHashing;
  /** Tells the owner of an account about a new way to sign in. */
  notifyMethodAdded: (tx: Transaction, email: string, provider: string) => Promise<void>;
  log: Logger;
};
export type PasswordHashing = {
  hash: (password: string) => Promise<string>;
  verify: (given: { hash: string; password: string }) => Promise<boolean>;
};
export type Auth = ReturnType<typeof createAuth>;

const daySeconds = 86_400;
const passwordPath = '/sign-in/email';

export function createAuth(dependencies: AuthDependencies) {
  const { database, publicUrl, secret, log, hashing = createPasswordHashing() } = dependencies;
  const secure = publicUrl.startsWith('https:');
  return betterAuth({
    baseURL: `${publicUrl}/portal/api/auth`,
    secret,
    // No transaction: one would hold a connection for as long as a password waits to be hashed.
    database: { db: database, type: 'postgres', transaction: false },
    ...tables,
    emailAndPassword: {
      enabled: true,
      // A password is set by a mailed link only (`password-links.ts`).
      disableSignUp: true,
      // In UTF-16 units; the routes bound the characters.
      maxPasswordLength: 2 * passwordLengthMax,
      password: hashing,
    },
    ...providers(dependencies),
    databaseHooks: hooks(dependencies),
    advanced: {
      database: { generateId: () => uuidv7() },
      ipAddress: { ipAddressHeaders: [addressHeader], ipv6Subnet: 128 },
      // `__Host-` binds a cookie to this host alone; browsers accept it over TLS only.
      useSecureCookies: false,
      cookiePrefix: secure ? '__Host-orgdir' : 'orgdir',
      defaultCookieAttributes: { secure, httpOnly: true, sameSite: 'lax', path: '/' },
    },
    // `http/portal/sign-in-limits.ts` counts.
    rateLimit: { enabled: false },
    // Failures are thrown: better-auth would print them with all their details, and every refusal too.
    onAPIError: { throw: true, errorURL: `${publicUrl}/profile/developer/sign-in` },
    telemetry: { enabled: false },
    logger: {
      level: 'error',
      // Its messages can hold the caller's URL and its further arguments database rows, so only the first words go out.
      log: (_level, message) => log.warn({ reason: firstWords(message) }, 'sign_in.failed'),
    },
  });
}

/** `Provider "oidc": id_token failed verification` of a longer message; a URL ends it. */
function firstWords(message: string): string {
  return message.split(/https?:|[\n?]/, 1)[0]?.slice(0, 100) ?? '';
}

/** Hashes as many at a time as there are cores: each takes some 60 ms of one and 32 MB. */
export function createPasswordHashing(): PasswordHashing {
  const limit = pLimit(availableParallelism());
  return {
    hash: (password) => limit(() => hashPassword(password)),
    verify: (given) => limit(() => verifyPassword(given)),
  };
}

function hooks(dependencies: AuthDependencies) {
  const { database, signIn } = dependencies;
  return {
    user: {
      create: {
        // Whoever may have an account has it by now (`sign-up-with-provider.ts`), unless it was deleted at this moment.
        before: async ({ email }: { email: string }) => {
          const { rows } = await sql<{ isBlocked: boolean }>`
            select ${isSignUpBlocked(email)} as "isBlocked"
          `.execute(database);
          throw rows[0]?.isBlocked
            ? new APIError('FORBIDDEN', { code: 'sign_up_refused', message: signUpRefused })
            : new APIError('CONFLICT', { code: 'account_deleted' });
        },
      },
    },
    account: {
      create: {
        // Nothing is asked of a provider later, so its tokens are not kept. False: the account is not created.
        before: async (account: object, context: HookContext | null) =>
          (await mayLink(context)) && { data: { ...account, ...noTokens } },
        after: async (
          { id, userId, providerId }: { id: string; userId: string; providerId: string },
          context: HookContext | null,
        ) => {
          await refuseEndedLink(database, id);
          await announceMethod(dependencies, userId, providerId, context?.headers);
        },
      },
      // A provider that is linked already is linked again, with new tokens.
      update: {
        before: async (account: object) => ({ data: { ...account, ...noTokens } }),
      },
    },
    session: {
      create: {
        after: async (session: NewSession, context: HookContext | null) => {
          const provider = context?.params?.id;
          if (provider) await refuseRemovedMethod(database, session, provider);
          const byPassword = context?.path === passwordPath;
          await recordSession(database, session, provider ?? (byPassword ? 'password' : 'passkey'));
          // A session by a passkey is complete, and counted, in a moment.
          if (provider || byPassword)
            await endExcessSessions(database, session.userId, signIn.requireSecondFactor);
        },
      },
    },
  };
}

async function announceMethod(
  { database, notifyMethodAdded }: AuthDependencies,
  userId: string,
  provider: string,
  headers: Headers | undefined,
): Promise<void> {
  const account = await readAccount(database, userId);
  const caller = headers ? callerIn(headers) : null;
  await database.transaction().execute(async (tx) => {
    await recordActivity(tx, 'account.method_added', { ...account, caller }, { provider });
    await notifyMethodAdded(tx, account.email, provider);
  });
}

async function recordSession(
  database: Database,
  { userId, ...session }: NewSession,
  method: string,
): Promise<void> {
  const account = await readAccount(database, userId);
  const caller = { ip: session.ipAddress ?? '', userAgent: session.userAgent ?? null };
  const isComplete = method === 'passkey' || !account.hasFactor;
  const action = isComplete ? 'account.signed_in' : 'account.second_factor_asked';
  await database
    .transaction()
    .execute((tx) => recordActivity(tx, action, { ...account, caller }, { method }));
}

/** The session that began to add a provider to its account; null if none is being added. */
async function readLinkingSession(): Promise<string | null> {
  const state = (await getOAuthState()) as (Partial<LinkingState> & { link?: unknown }) | null;
  return state?.link ? (state.linkingSession ?? '') : null;
}

/** Whether no provider is being added to an account, or the session that began it is back, still complete and proven. */
async function mayLink(context: HookContext | null): Promise<boolean> {
  const linkingSession = await readLinkingSession();
  return linkingSession === null || linkingSessionIn(context?.headers) === linkingSession;
}

/** A provider that is added to an account is removed again if the session that began it has ended meanwhile, as by a reset. */
async function refuseEndedLink(database: Database, id: string): Promise<void> {
  const linkingSession = await readLinkingSession();
  if (linkingSession === null) return;
  const { rows } = await sql`
    delete from accounts where id = ${id}
      and not exists (select from sessions where id = ${linkingSession} and expires_at > now())
    returning 1
  `.execute(database);
  if (rows.length > 0) throw new Error('the session ended while a provider was added');
}

/** A session by a provider ends if the provider was removed from the account meanwhile. */
async function refuseRemovedMethod(
  database: Database,
  { token, userId }: NewSession,
  provider: string,
): Promise<void> {
  // Waits for a running removal, which ends only the sessions that it saw.
  const { rows } = await sql`
    select from accounts where user_id = ${userId} and provider_id = ${provider} for share
  `.execute(database);
  if (rows.length > 0) return;
  await sql`delete from sessions where token = ${token}`.execute(database);
  throw new Error('the provider was removed while somebody signed in with it');
}

type NewSession = {
  userId: string;
  token: string;
  ipAddress?: string | null | undefined;
  userAgent?: string | null | undefined;
};
/** `params.id`: the provider, in its callback. */
type HookContext = {
  path?: string | undefined;
  params?: { id?: string } | undefined;
  headers?: Headers | undefined;
};
type Account = { id: string; email: string; hasFactor: boolean };

async function readAccount(database: Database, userId: string): Promise<Account> {
  const { rows } = await sql<Account>`
    select id, email, ${hasFactor(sql`users.id`)} as "hasFactor" from users where id = ${userId}
  `.execute(database);
  const [account] = rows;
  if (!account) throw new Error('the account was deleted while somebody signed in to it');
  return account;
}

/** Tables and columns have the names that the rest of our schema would give them. */
const times = { createdAt: 'created_at', updatedAt: 'updated_at' };
const tables = {
  user: { modelName: 'users', fields: { emailVerified: 'email_verified', ...times } },
  session: {
    modelName: 'sessions',
    fields: {
      userId: 'user_id',
      expiresAt: 'expires_at',
      ipAddress: 'ip_address',
      userAgent: 'user_agent',
      ...times,
    },
    expiresIn: sessionDays * daySeconds,
    // A use moves the end of a session at most this often, so a session may end this much earlier than `sessionDays`
    // after its last use. It is always shorter than a session: no use would move the end otherwise.
    updateAge: (sessionDays * daySeconds) / 7,
  },
  account: {
    modelName: 'accounts',
    fields: {
      accountId: 'account_id',
      providerId: 'provider_id',
      userId: 'user_id',
      accessToken: 'access_token',
      refreshToken: 'refresh_token',
      idToken: 'id_token',
      accessTokenExpiresAt: 'access_token_expires_at',
      refreshTokenExpiresAt: 'refresh_token_expires_at',
      ...times,
    },
    updateAccountOnSignIn: false,
    accountLinking: {
      enabled: true,
      // Only somebody who is signed in links an account; an equal address is not enough.
      disableImplicitLinking: true,
      allowDifferentEmails: true,
      updateUserInfoOnLink: false,
    },
  },
  verification: {
    modelName: 'verifications',
    fields: { expiresAt: 'expires_at', ...times },
  },
};

function createSignUp({ database, log }: Pick<AuthDependencies, 'database' | 'log'>): SignUp {
  return async (person) => {
    try {
      // A provider that is being added to an account makes none.
      if ((await readLinkingSession()) === null) await signUpWithProvider(database, person);
    } catch (failure) {
      // better-auth would say that the provider failed.
      const caller = callers.getStore();
      if (caller) caller.failure = failure;
      const { name, code } = failure as { name?: string; code?: string };
      log.warn({ reason: [name, code].filter(Boolean).join(' ') }, 'sign_up.failed');
      throw failure;
    }
  };
}

function providers({ database, signIn, log }: AuthDependencies) {
  const { github: hub, discord: chat, oidc } = signIn;
  const signUp = createSignUp({ database, log });
  /** `T`: what better-auth's own function finds, with the identity in place of the address. */
  const identify = async <T extends { user: ProvidedUser }>(
    provider: string,
    found: T,
    profile: { subject: string; verified: boolean },
  ) => {
    const { subject } = profile;
    const identity = providerIdentity(provider, { ...profile, email: found.user.email });
    const { name = '', image = null } = found.user;
    const person = { provider, subject, email: identity.email, name, image };
    try {
      await signUp(person);
    } catch {
      // Then better-auth returns to the portal with an error, for which the callback has better words.
      return null;
    }
    return { ...found, user: { ...found.user, ...identity } };
  };
  return {
    socialProviders: {
      ...(hub && {
        github: {
          ...hub,
          // Whether the address is verified is not in the profile but in a second response.
          getUserInfo: async (token: Parameters<ReturnType<typeof github>['getUserInfo']>[0]) => {
            const found = await github(hub).getUserInfo(token);
            if (!found) return null;
            // A number, whatever its type says.
            const subject = String((found.data as { id: unknown }).id);
            return identify('github', found, { subject, verified: found.user.emailVerified });
          },
        },
      }),
      ...(chat && {
        discord: {
          ...chat,
          getUserInfo: async (token: Parameters<ReturnType<typeof discord>['getUserInfo']>[0]) => {
            const found = await discord(chat).getUserInfo(token);
            if (!found) return null;
            const { id: subject, verified } = found.data;
            return identify('discord', found, { subject, verified });
          },
        },
      }),
    },
    plugins: [beginSession, ...openIdConnect(oidc, signUp)],
  };
}

type SignUp = (person: ProvidedAccount) => Promise<void>;
type ProvidedUser = {
  name?: string | undefined;
  email?: string | null | undefined;
  image?: string | null | undefined;
};

/** Begins a session for somebody whose passkey was verified (`passkeys.ts`). No URL leads here. */
const beginSession = {
  id: 'begin-session',
  endpoints: {
    beginSession: createAuthEndpoint.serverOnly(
      { method: 'POST', body: unchecked<{ userId: string }>() },
      async (context) => {
        const { internalAdapter } = context.context;
        const user = await internalAdapter.findUserById(context.body.userId);
        if (!user) return null;
        const session = await internalAdapter.createSession(user.id);
        await setSessionCookie(context, { session, user });
        return { token: session.token, email: user.email };
      },
    ),
  },
};

/** The schema of a body that only our own code sends. */
function unchecked<T>(): { '~standard': StandardSchema<T> } {
  const validate = (value: unknown) => ({ value: value as T });
  return { '~standard': { version: 1, vendor: 'orgdir', validate } };
}

type StandardSchema<T> = {
  version: 1;
  vendor: string;
  validate: (value: unknown) => { value: T };
  types?: { input: T; output: T };
};

function openIdConnect(oidc: Config['signIn']['oidc'], signUp: SignUp) {
  return oidc
    ? [
        genericOAuth({
          config: [
            {
              providerId: 'oidc',
              name: oidc.name,
              discoveryUrl: `${oidc.issuer}/.well-known/openid-configuration`,
              clientId: oidc.clientId,
              clientSecret: oidc.clientSecret,
              scopes: ['openid', 'email', 'profile'],
              pkce: true,
              requireIdTokenVerification: true,
              mapProfileToUser: userOf,
              // A response without an ID token has nothing that could be verified, so it names nobody.
              accountSubject: async ({ tokens, profile }) => {
                const subject = tokens.idToken ? subjectOf(profile) : '';
                if (subject === '') return '';
                const { name, email } = userOf(profile);
                const image = profile.image ?? null;
                await signUp({ provider: 'oidc', subject, email, name, image });
                return subject;
              },
            },
          ],
        }),
      ]
    : [];
}

const noTokens = { accessToken: null, refreshToken: null, idToken: null };

function userOf(profile: Record<string, unknown>) {
  const { name, preferred_username: nick, email } = profile;
  const named = [name, nick].find((each) => typeof each === 'string' && each.trim() !== '');
  const verified = profile['email_verified'] === true;
  return {
    name: (named as string | undefined) ?? '',
    ...providerIdentity('oidc', { subject: subjectOf(profile), email, verified }),
  };
}

function subjectOf({ sub }: Record<string, unknown>): string {
  return typeof sub === 'string' || typeof sub === 'number' ? String(sub) : '';
}
