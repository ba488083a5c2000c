/**
 * Signing in and out, and the links that set a password. Nobody has to be signed in. A response does not tell whether an
 * address has an account.
 */
import type { FastifyReply } from 'fastify';
import { normaliseEmail } from '../../access/email.ts';
import {
  ChosenPassword,
  Credentials,
  Done,
  FirstAccount,
  NewFirstAccount,
  PasswordLink,
  PasswordLinkRequest,
  PasswordLinkToken,
  PasswordSet,
  ProviderRedirect,
  providerRequest,
  passwordLengthMax,
  passwordLengthMin,
} from '../../contract/account.ts';
import { envelope } from '../../contract/envelope.ts';
import { exampleId, exampleTime } from '../../contract/examples.ts';
import { SignInOptions } from '../../contract/portal.ts';
import { ServiceError } from '../../errors.ts';
import { isFirstAccountLink, readPasswordLink } from '../../sign-in/password-links.ts';
import type { SignIn } from '../../sign-in/sign-in.ts';
import { oneOf } from '../responses/responses.ts';
import { readSession } from './authenticate.ts';
import { returnPattern } from './callback.ts';
import { signInOptionsOf } from './portal-session.ts';
import { openOperation } from './surface.ts';

export const done = envelope({ done: true });
export const doneResponse = oneOf(Done, 'DoneResponse', { done: true });
export const redirectResponse = oneOf(ProviderRedirect, 'ProviderRedirectResponse', {
  url: 'https://github.com/login/oauth/authorize?client_id=Iv1.0123456789abcdef',
});
export const exampleMethod = { id: exampleId, provider: 'github', createdAt: exampleTime };
const exampleOptions = {
  password: {
    signUp: true,
    links: 'mail',
    lengthMin: passwordLengthMin,
    lengthMax: passwordLengthMax,
  },
  providers: [{ id: 'github', name: 'GitHub' }],
};

export const signInOperations = (publicUrl: string) => [
  ...sessionOperations,
  signInWithProvider(publicUrl),
  ...passwordOperations,
];

const sessionOperations = [
  openOperation({
    operationId: 'getSignInOptions',
    method: 'GET',
    path: '/sign-in-options',
    summary: 'List the ways to sign in',
    description: 'Returns whether a password can be used, and the providers.',
    returns: { 200: 'The ways to sign in.' },
    response: oneOf(SignInOptions, 'SignInOptionsResponse', exampleOptions),
    run: ({ signIn }) => envelope(signInOptionsOf(signIn)),
  }),
  openOperation({
    operationId: 'signIn',
    method: 'POST',
    path: '/sign-in',
    summary: 'Sign in with a password',
    description:
      'Sets the session cookie. After many attempts, responses are delayed. If the account has a second factor, the session opens nothing until `completeSignIn`.',
    body: Credentials,
    returns: { 200: 'You are signed in.' },
    response: doneResponse,
    errors: ['unauthorized'],
    async run({ signIn, limits, caller, body, reply }) {
      const email = normaliseEmail(body.email, 'body.email');
      const attempt = { ip: caller.ip, email, device: signIn.knownDevice(caller, email) };
      const cookies = await limits.attempt(attempt, () =>
        signIn.withPassword(email, body.password, caller),
      );
      if (cookies === null)
        throw new ServiceError('unauthorized', 'The email address or the password is wrong.');
      setCookies(reply, cookies);
      return done;
    },
  }),
  openOperation({
    operationId: 'signOut',
    method: 'POST',
    path: '/sign-out',
    summary: 'Sign out',
    description: 'Ends the session, if any.',
    returns: { 200: 'You are signed out.' },
    response: doneResponse,
    async run({ signIn, caller, request, reply }) {
      const signedIn = await readSession(signIn, request, reply);
      setCookies(reply, await signIn.signOut(caller));
      if (signedIn?.missingFactor === null) {
        const account = { id: signedIn.userId, email: signedIn.email, caller };
        await signIn.accounts.recordSignOut(account);
      }
      return done;
    },
  }),
];

const signInWithProvider = (publicUrl: string) =>
  openOperation({
    operationId: 'signInWithProvider',
    method: 'POST',
    path: '/sign-in/provider',
    summary: 'Sign in with a provider',
    description: 'Returns the URL of the provider, which redirects the browser back.',
    body: providerRequest(returnPattern(publicUrl)),
    returns: { 200: 'The URL to open.' },
    response: redirectResponse,
    errors: ['not_found'],
    async run({ signIn, caller, body: { provider, ...back }, reply }) {
      const { url, cookies } = await signIn.withProvider(provider, back, caller);
      setCookies(reply, cookies);
      return envelope({ url });
    },
  });

const passwordOperations = [
  openOperation({
    operationId: 'requestPasswordLink',
    method: 'POST',
    path: '/password-links',
    summary: 'Request a link that sets a password',
    description:
      'Mails a link to sign up or to choose a new password. The link works once, within an hour, and replaces earlier links.',
    body: PasswordLinkRequest,
    returns: { 202: 'The link is being sent.' },
    response: doneResponse,
    async run({ signIn, limits, caller, body }) {
      requireLinks(signIn.links);
      const email = normaliseEmail(body.email, 'body.email');
      limits.mail({ ip: caller.ip, email, device: signIn.knownDevice(caller, email) });
      await signIn.accounts.requestLink(email);
      return done;
    },
  }),
  openOperation({
    operationId: 'checkPasswordLink',
    method: 'POST',
    path: '/password-links/check',
    summary: 'Check a link',
    description:
      'Returns the account of the link. Returns `forbidden` if the link was used, replaced or has expired.',
    body: PasswordLinkToken,
    returns: { 200: 'The link can be used.' },
    response: oneOf(PasswordLink, 'PasswordLinkResponse', {
      email: 'ada@example.org',
      hasAccount: true,
    }),
    async run({ database, body }) {
      const link = await readPasswordLink(database, body.token);
      if (link === null) throw unusableLink();
      return envelope(link);
    },
  }),
  openOperation({
    operationId: 'setPassword',
    method: 'POST',
    path: '/password',
    summary: 'Set a password with a link',
    description:
      'Creates the account if there is none, which requires `name`. Otherwise changes the password and ends all sessions of the account. Does not sign in.',
    body: ChosenPassword,
    returns: { 200: 'The password was set.' },
    response: oneOf(PasswordSet, 'PasswordSetResponse', {
      email: 'ada@example.org',
      created: false,
      methods: [exampleMethod],
      hasPasskeys: false,
    }),
    async run({ signIn, limits, caller, body: { token, password, name } }) {
      const chosen = { token, password, name: name?.trim() ?? null };
      const used = await limits.hash(caller.ip, () =>
        signIn.accounts.usePasswordLink(chosen, caller),
      );
      if (used === null) throw unusableLink();
      return envelope(used);
    },
  }),
  openOperation({
    operationId: 'checkFirstAccountLink',
    method: 'POST',
    path: '/first-account/check',
    summary: 'Check the link of the first account',
    description:
      'Returns `forbidden` if the link was used or has expired, or there is an account already.',
    body: PasswordLinkToken,
    returns: { 200: 'The link can be used.' },
    response: doneResponse,
    async run({ database, body }) {
      if (!(await isFirstAccountLink(database, body.token))) throw unusableFirstLink();
      return done;
    },
  }),
  openOperation({
    operationId: 'createFirstAccount',
    method: 'POST',
    path: '/first-account',
    summary: 'Create the first account',
    description:
      'Uses the link that the service prints when it starts without an account. The link works once.',
    body: NewFirstAccount,
    returns: { 201: 'The account was created.' },
    response: oneOf(FirstAccount, 'FirstAccountResponse', { userId: exampleId }),
    async run({ signIn, limits, caller, body }) {
      const account = { ...body, name: body.name.trim() };
      const userId = await limits.hash(caller.ip, () =>
        signIn.accounts.createFirst(account, caller),
      );
      if (userId === null) throw unusableFirstLink();
      return envelope({ userId });
    },
  }),
];

/** Throws `unavailable`. */
export function requireLinks(links: SignIn['links']): void {
  if (links !== null) return;
  throw new ServiceError(
    'unavailable',
    'This service sends no mail, and so no links to sign up, set a password or change an address. Ask its operator.',
    // Only another configuration changes this.
    { headers: { 'retry-after': '3600' } },
  );
}

function unusableFirstLink(): ServiceError {
  return new ServiceError(
    'forbidden',
    'The link was used or has expired, or an account already exists.',
  );
}

export function unusableLink(): ServiceError {
  return new ServiceError(
    'forbidden',
    'The link was used, has expired, or was replaced by a newer one.',
  );
}

export function setCookies(reply: FastifyReply, cookies: string[]): void {
  for (const cookie of cookies) reply.header('set-cookie', cookie);
}
