/**
 * better-auth as this service has it: its tables are ours (migration 0013), its cookies are the portal's, and what its
 * defaults leave open is closed. `sign-in.ts` loads it; docs/decisions/0016-sign-in.md says why it is set so.
 */
import { betterAuth } from 'better-auth';
import { hashPassword, verifyPassword } from 'better-auth/crypto';
import { genericOAuth } from 'better-auth/plugins';
import { createAuthMiddleware, APIError } from 'better-auth/api';
import { github } from 'better-auth/social-providers';
import { v7 as uuidv7 } from 'uuid';
import type { Config } from '../config.ts';
import { sql, type Database } from '../database/database.ts';
import type { Logger } from '../log.ts';
import { createHashQueue } from './hash-queue.ts';
import { passwordLengthMax, passwordLengthMin } from './password-length.ts';
import { isProviderIdentity, providerIdentity } from './provider-identity.ts';
import { sweep } from './sweep.ts';
import type { LinkSender } from './send-link.ts';

export type AuthDependencies = Pick<Config, 'publicUrl' | 'signIn'> & {
  database: Database;
  secret: string;
  canMail: boolean;
  sendLink: LinkSender;
  log: Logger;
};
export type Auth = ReturnType<typeof createAuth>;

/** In which `http/portal/auth.ts` tells the caller's address; what a caller sends under this name never arrives. */
const addressHeader = 'x-orgdir-address';
const daySeconds = 86_400;
const linkSeconds = 3_600;

export function createAuth(dependencies: AuthDependencies) {
  const { database, publicUrl, secret, canMail, log } = dependencies;
  const secure = publicUrl.startsWith('https:');
  return betterAuth({
    baseURL: `${publicUrl}/portal/api/auth`,
    secret,
    // No transaction: one would hold a connection for as long as a password waits to be hashed.
    database: { db: database, type: 'postgres', transaction: false },
    ...tables,
    emailAndPassword: emailAndPassword(dependencies),
    emailVerification: {
      sendOnSignUp: true,
      sendOnSignIn: false,
      expiresIn: linkSeconds,
      autoSignInAfterVerification: false,
      sendVerificationEmail: async ({ user, url }) =>
        dependencies.sendLink('verify', user.email, url),
    },
    ...providers(dependencies),
    databaseHooks: {
      // Nothing is asked of a provider later, so its tokens are not kept.
      account: {
        create: { before: async (account) => ({ data: { ...account, ...noTokens } }) },
      },
      session: { create: { after: async () => sweep(database, log) } },
    },
    hooks: {
      before: createAuthMiddleware(async ({ path, body }) => {
        refuseWithoutMail(path, canMail);
        refuseAddress(path, body);
        refuseLong(body);
      }),
    },
    advanced: {
      database: { generateId: () => uuidv7() },
      ipAddress: { ipAddressHeaders: [addressHeader] },
      // `__Host-` binds a cookie to this host alone; browsers take it by TLS only.
      useSecureCookies: false,
      cookiePrefix: secure ? '__Host-orgdir' : 'orgdir',
      defaultCookieAttributes: { secure, httpOnly: true, sameSite: 'lax', path: '/' },
    },
    // `http/portal/auth.ts` counts, by account too.
    rateLimit: { enabled: false },
    // What fails is thrown, for it would else be written to the terminal with all its words, and every refusal too.
    onAPIError: { throw: true, errorURL: `${publicUrl}/profile/developer/sign-in` },
    telemetry: { enabled: false },
    logger: {
      level: 'error',
      // What comes after its words is left out: errors of a database, which hold what was to be kept.
      log: (level, message) => log.warn({ level, reason: message.slice(0, 200) }, 'sign-in.failed'),
    },
  });
}

/** Names as those of our other tables. */
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
    expiresIn: 7 * daySeconds,
    updateAge: daySeconds,
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
      // Only by who is signed in, whatever addresses are equal.
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

function emailAndPassword({ sendLink, database, publicUrl }: AuthDependencies) {
  const queue = createHashQueue(
    () =>
      new APIError('TOO_MANY_REQUESTS', {
        code: 'TOO_MANY_SIGN_INS',
        message: 'Too many people sign in at once; try again in a moment.',
      }),
  );
  return {
    enabled: true,
    requireEmailVerification: true,
    autoSignIn: false,
    minPasswordLength: passwordLengthMin,
    maxPasswordLength: passwordLengthMax,
    resetPasswordTokenExpiresIn: linkSeconds,
    revokeSessionsOnPasswordReset: true,
    password: {
      hash: (password: string) => queue(() => hashPassword(password)),
      verify: (given: { hash: string; password: string }) => queue(() => verifyPassword(given)),
    },
    sendResetPassword: async ({ user, url }: { user: { email: string }; url: string }) =>
      sendLink('reset', user.email, url),
    onExistingUserSignUp: async ({ user }: { user: { email: string } }) =>
      sendLink('known', user.email, `${publicUrl}/profile/developer/sign-in`),
    /** The link went to the address, so whoever used it has the address; whoever had signed up with it has not. */
    onPasswordReset: async ({ user }: { user: { id: string } }) => {
      await sql`update users set email_verified = true where id = ${user.id}`.execute(database);
    },
  };
}

function providers({ signIn }: AuthDependencies) {
  const oidc = signIn.oidc;
  const hub = signIn.github;
  return {
    socialProviders: {
      ...(hub && {
        github: {
          ...hub,
          // What it says of the address is not in the profile, but in a second answer.
          getUserInfo: async (token: Parameters<ReturnType<typeof github>['getUserInfo']>[0]) => {
            const found = await github(hub).getUserInfo(token);
            if (!found) return null;
            const { email, emailVerified } = found.user;
            // A number, whatever its type says.
            const subject = String((found.data as { id: unknown }).id);
            const identity = providerIdentity('github', {
              subject,
              email,
              verified: emailVerified,
            });
            return { ...found, user: { ...found.user, ...identity } };
          },
        },
      }),
      ...(signIn.discord && {
        discord: {
          ...signIn.discord,
          mapProfileToUser: ({ id, email, verified }: DiscordProfile) =>
            providerIdentity('discord', { subject: id, email, verified }),
        },
      }),
    },
    plugins: oidc
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
                mapProfileToUser: (profile: Record<string, unknown>) => ({
                  name: nameOf(profile),
                  ...providerIdentity('oidc', {
                    subject: String(profile['sub']),
                    email: profile['email'],
                    verified: profile['email_verified'] === true,
                  }),
                }),
              },
            ],
          }),
        ]
      : [],
  };
}

type DiscordProfile = { id: string; email?: string | null; verified: boolean };
const noTokens = { accessToken: null, refreshToken: null, idToken: null };

function nameOf({ name, preferred_username: nick }: Record<string, unknown>): string {
  const given = [name, nick].find((each) => typeof each === 'string' && each.trim() !== '');
  return (given as string | undefined) ?? '';
}

/** What cannot work without mail says so, to everybody alike. */
const mailing = new Set(['/sign-up/email', '/request-password-reset', '/send-verification-email']);

function refuseWithoutMail(path: string, canMail: boolean): void {
  if (canMail || !mailing.has(path)) return;
  throw new APIError('SERVICE_UNAVAILABLE', {
    code: 'NO_MAIL',
    message:
      'This service sends no mail, so nobody can sign up or get a new password here; its operator sets SMTP_URL.',
  });
}

/** As long as a name of anything here, and as an address of the web may be. */
const lengthsMax = { name: 100, image: 2048 };

function refuseLong(body: unknown): void {
  const given = (body ?? {}) as Record<string, unknown>;
  for (const [field, most] of Object.entries(lengthsMax)) {
    const value = given[field];
    if (typeof value !== 'string' || value.length <= most) continue;
    throw new APIError('BAD_REQUEST', {
      code: 'TOO_LONG',
      message: `${field} must have at most ${most} characters`,
    });
  }
}

function refuseAddress(path: string, body: unknown): void {
  const { email } = (body ?? {}) as { email?: unknown };
  if (path !== '/sign-up/email' || typeof email !== 'string' || !isProviderIdentity(email)) return;
  throw new APIError('BAD_REQUEST', { code: 'INVALID_EMAIL', message: 'Invalid email' });
}
