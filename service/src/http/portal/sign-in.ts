/**
 * Routes for signing in and out, and for the links that set a password. Nobody has to be signed in. A response does not
 * tell whether an address has an account.
 */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance, FastifyReply } from 'fastify';
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
} from '../../contract/account.ts';
import { envelope } from '../../contract/envelope.ts';
import { exampleId, exampleTime } from '../../contract/examples.ts';
import { passwordLengthMax, passwordLengthMin } from '../../contract/password-length.ts';
import { SignInOptions } from '../../contract/portal.ts';
import { ServiceError, type ErrorCode } from '../../errors.ts';
import { oneOf } from '../responses.ts';
import { callerOf, readSession } from './authenticate.ts';
import { returnPattern } from './callback.ts';
import {
  noQuery,
  openConfig as config,
  portalErrors,
  portalResponses,
  type PortalRouteDependencies,
} from './route.ts';
import { createSignInLimits } from './sign-in-limits.ts';
import { signInOptionsOf } from './sign-in-options.ts';

const common = { tags: ['Sign-in'], security: [], querystring: noQuery };
const withBody: ErrorCode[] = [
  ...portalErrors.open,
  'forbidden',
  'payload_too_large',
  'unsupported_media_type',
];

export const doneResponse = oneOf(Done, 'DoneResponse', { done: true });
export const redirectResponse = oneOf(ProviderRedirect, 'ProviderRedirectResponse', {
  url: 'https://github.com/login/oauth/authorize?client_id=Iv1.0123456789abcdef',
});
export const exampleMethod = { id: exampleId, provider: 'github', createdAt: exampleTime };
const options = {
  password: {
    signUp: true,
    links: 'mail',
    lengthMin: passwordLengthMin,
    lengthMax: passwordLengthMax,
  },
  providers: [{ id: 'github', name: 'GitHub' }],
};

export function registerSignIn(
  portal: FastifyInstance,
  { signIn, publicUrl }: PortalRouteDependencies,
): void {
  const routes = portal.withTypeProvider<TypeBoxTypeProvider>();
  const limits = createSignInLimits();
  const { accounts } = signIn;

  routes.get(
    '/sign-in-options',
    {
      config,
      schema: {
        ...common,
        operationId: 'getSignInOptions',
        summary: 'List the ways to sign in',
        description: 'With a password, and with which providers.',
        response: portalResponses(
          200,
          'The ways to sign in.',
          oneOf(SignInOptions, 'SignInOptionsResponse', options),
          portalErrors.open,
        ),
      },
    },
    async (_request, reply) => reply.send(envelope(signInOptionsOf(signIn))),
  );

  routes.post(
    '/sign-in',
    {
      config,
      schema: {
        ...common,
        operationId: 'signIn',
        summary: 'Sign in with a password',
        description:
          'Sets the session cookie. After many attempts, a response takes a few seconds.',
        body: Credentials,
        response: portalResponses(200, 'You are signed in.', doneResponse, [
          ...withBody,
          'unauthorized',
        ]),
      },
    },
    async (request, reply) => {
      const { password } = request.body;
      const email = normaliseEmail(request.body.email, 'body.email');
      const caller = callerOf(request);
      const attempt = { ip: caller.ip, email, device: signIn.knownDevice(caller, email) };
      const cookies = await limits.attempt(attempt, () =>
        signIn.withPassword(email, password, caller),
      );
      if (cookies === null)
        throw new ServiceError('unauthorized', 'The address or the password is wrong.');
      return sendDone(reply, cookies);
    },
  );

  routes.post(
    '/sign-in/provider',
    {
      config,
      schema: {
        ...common,
        operationId: 'signInWithProvider',
        summary: 'Sign in with a provider',
        description: 'Returns the address of the provider, which sends the browser back.',
        body: providerRequest(returnPattern(publicUrl)),
        response: portalResponses(200, 'Where to go.', redirectResponse, [
          ...withBody,
          'not_found',
        ]),
      },
    },
    async (request, reply) => {
      const { provider, ...back } = request.body;
      const { url, cookies } = await signIn.withProvider(provider, back, callerOf(request));
      for (const cookie of cookies) reply.header('set-cookie', cookie);
      return reply.send(envelope({ url }));
    },
  );

  routes.post(
    '/sign-out',
    {
      config,
      schema: {
        ...common,
        operationId: 'signOut',
        summary: 'Sign out',
        description: 'Ends the session, if there is one.',
        response: portalResponses(200, 'You are signed out.', doneResponse, withBody),
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      const signedIn = await readSession(signIn, request, reply);
      const cookies = await signIn.signOut(caller);
      if (signedIn)
        await accounts.recordSignOut({ id: signedIn.userId, email: signedIn.email }, caller);
      return sendDone(reply, cookies);
    },
  );

  routes.post(
    '/password-links',
    {
      config,
      schema: {
        ...common,
        operationId: 'requestPasswordLink',
        summary: 'Request a link that sets a password',
        description:
          'Sends a link to the address: to sign up, or to choose a new password. It works once, for an hour, and replaces an earlier one.',
        body: PasswordLinkRequest,
        response: portalResponses(202, 'The link is on its way.', doneResponse, withBody),
      },
    },
    async (request, reply) => {
      if (signIn.links === null)
        throw new ServiceError(
          'unavailable',
          'This service sends no mail, so nobody can sign up or choose a new password here; ask its operator for a link.',
          // Only another configuration changes this.
          { headers: { 'retry-after': '3600' } },
        );
      const email = normaliseEmail(request.body.email, 'body.email');
      limits.mail(request.ip, email);
      await accounts.requestLink(email);
      return sendDone(reply.code(202), []);
    },
  );

  routes.post(
    '/password-links/check',
    {
      config,
      schema: {
        ...common,
        operationId: 'checkPasswordLink',
        summary: 'Check a link',
        description: 'Changes nothing. `forbidden` if the link was used, replaced or has expired.',
        body: PasswordLinkToken,
        response: portalResponses(
          200,
          'The link can be used.',
          oneOf(PasswordLink, 'PasswordLinkResponse', {
            email: 'ada@example.org',
            hasAccount: true,
          }),
          withBody,
        ),
      },
    },
    async (request, reply) => {
      const link = await accounts.readLink(request.body.token);
      if (link === null) throw unusableLink();
      return reply.send(envelope(link));
    },
  );

  routes.post(
    '/password',
    {
      config,
      schema: {
        ...common,
        operationId: 'setPassword',
        summary: 'Set a password with a link',
        description:
          'Creates the account if there is none, which needs a name. Else it ends all sessions of the account. Sign in with the password next.',
        body: ChosenPassword,
        response: portalResponses(
          200,
          'The password is set.',
          oneOf(PasswordSet, 'PasswordSetResponse', {
            email: 'ada@example.org',
            created: false,
            methods: [exampleMethod],
          }),
          withBody,
        ),
      },
    },
    async (request, reply) => {
      const { token, password, name } = request.body;
      const chosen = { token, password, name: name?.trim() ?? null };
      const caller = callerOf(request);
      const used = await limits.hash(caller.ip, () => accounts.usePasswordLink(chosen, caller));
      if (used === null) throw unusableLink();
      return reply.send(envelope(used));
    },
  );

  routes.post(
    '/first-account',
    {
      config,
      schema: {
        ...common,
        operationId: 'createFirstAccount',
        summary: 'Create the first account',
        description: 'With the link that a start without any account prints. It works once.',
        body: NewFirstAccount,
        response: portalResponses(
          201,
          'The account is created; sign in with it.',
          oneOf(FirstAccount, 'FirstAccountResponse', { userId: exampleId }),
          withBody,
        ),
      },
    },
    async (request, reply) => {
      const { name, ...given } = request.body;
      const account = { ...given, name: name.trim() };
      const caller = callerOf(request);
      const userId = await limits.hash(caller.ip, () => accounts.createFirst(account, caller));
      if (userId === null)
        throw new ServiceError(
          'forbidden',
          'The link was used or has expired, or there is an account already.',
        );
      return reply.code(201).send(envelope({ userId }));
    },
  );
}

function unusableLink(): ServiceError {
  return new ServiceError(
    'forbidden',
    'The link was used, replaced by a newer one, or has expired.',
  );
}

function sendDone(reply: FastifyReply, cookies: string[]): FastifyReply {
  for (const cookie of cookies) reply.header('set-cookie', cookie);
  return reply.send(envelope({ done: true }));
}
