/** Routes for one's own account: its name and password, the ways to sign in, the sessions and what happened to it. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import {
  AccountActivityEntry,
  AccountChanges,
  AccountMethod,
  AccountSession,
  EndedSessions,
  PasswordChange,
  providerRequest,
} from '../../contract/account.ts';
import { envelope, pageEnvelope } from '../../contract/envelope.ts';
import { exampleId, exampleTime } from '../../contract/examples.ts';
import { uuid } from '../../contract/shapes.ts';
import { PageQuery } from '../../directory/list-query.ts';
import { ServiceError } from '../../errors.ts';
import type { AccountActivity } from '../../sign-in/activity.ts';
import { listOf, oneOf } from '../responses.ts';
import { callerOf, signedInOf } from './authenticate.ts';
import { returnPattern } from './callback.ts';
import {
  config as portalConfig,
  noQuery,
  onOnePage,
  portalErrors,
  portalResponses,
  security,
  type PortalRouteDependencies,
} from './route.ts';
import { createPasswordChangeLimit } from './sign-in-limits.ts';
import { doneResponse, exampleMethod, redirectResponse } from './sign-in.ts';

/** Available during maintenance too: a stolen session can be ended at any time. */
const config = { ...portalConfig, duringMaintenance: true } as const;
const common = { tags: ['Account'], security, querystring: noQuery };
const exampleSession = {
  id: exampleId,
  current: true,
  ipAddress: '203.0.113.7',
  userAgent: 'Mozilla/5.0',
  createdAt: exampleTime,
  expiresAt: exampleTime,
};
const exampleActivity: AccountActivityEntry = {
  id: 17,
  at: exampleTime,
  action: 'account.signed_in',
  ipAddress: '203.0.113.7',
  userAgent: 'Mozilla/5.0',
  details: { method: 'password' },
};
/** Adding or removing a way to sign in needs a sign-in within this time. */
const freshMs = 24 * 3_600_000;

export function registerAccount(
  portal: FastifyInstance,
  { signIn, publicUrl }: PortalRouteDependencies,
): void {
  const routes = portal.withTypeProvider<TypeBoxTypeProvider>();
  const { accounts } = signIn;
  const limitChanges = createPasswordChangeLimit();

  routes.patch(
    '/account',
    {
      config,
      schema: {
        ...common,
        operationId: 'updateAccount',
        summary: 'Change your account',
        description: 'Changes the name.',
        body: AccountChanges,
        response: portalResponses(200, 'It is changed.', doneResponse, portalErrors.withBody),
      },
    },
    async (request, reply) => {
      await accounts.rename(accountOf(request), request.body.name.trim(), callerOf(request));
      return reply.send(envelope({ done: true }));
    },
  );

  routes.put(
    '/account/password',
    {
      config,
      schema: {
        ...common,
        operationId: 'changePassword',
        summary: 'Change your password',
        description: 'Ends all your other sessions.',
        body: PasswordChange,
        response: portalResponses(200, 'It is changed.', doneResponse, [
          ...portalErrors.withBody,
          'conflict',
        ]),
      },
    },
    async (request, reply) => {
      const { currentPassword: current, newPassword: chosen } = request.body;
      const account = accountOf(request);
      const caller = callerOf(request);
      limitChanges(account.id);
      await accounts.changePassword(account, { current, chosen }, caller);
      return reply.send(envelope({ done: true }));
    },
  );

  routes.get(
    '/account/methods',
    {
      config,
      schema: {
        ...common,
        operationId: 'listAccountMethods',
        summary: 'List the ways to sign in',
        description: 'Oldest first.',
        response: portalResponses(
          200,
          'The ways to sign in.',
          listOf(AccountMethod, 'AccountMethodList', exampleMethod),
          portalErrors.read,
        ),
      },
    },
    async (request, reply) => {
      const methods = await accounts.listMethods(signedInOf(request).userId);
      return reply.send(onOnePage(methods));
    },
  );

  routes.post(
    '/account/methods',
    {
      config,
      schema: {
        ...common,
        operationId: 'addAccountMethod',
        summary: 'Add a provider to sign in with',
        description: 'Returns the address of the provider, which sends the browser back.',
        body: providerRequest(returnPattern(publicUrl)),
        response: portalResponses(200, 'Where to go.', redirectResponse, portalErrors.withBodyOne),
      },
    },
    async (request, reply) => {
      requireFreshSession(request);
      const { provider, ...back } = request.body;
      const { url, cookies } = await signIn.linkProvider(provider, back, callerOf(request));
      for (const cookie of cookies) reply.header('set-cookie', cookie);
      return reply.send(envelope({ url }));
    },
  );

  routes.delete(
    '/account/methods/:methodId',
    {
      config,
      schema: {
        ...common,
        operationId: 'removeAccountMethod',
        summary: 'Remove a way to sign in',
        description: '`conflict` for the last one.',
        params: Type.Object({ methodId: uuid({ description: 'The id of the method.' }) }),
        response: portalResponses(200, 'It is removed.', doneResponse, [
          ...portalErrors.withBodyOne,
          'conflict',
        ]),
      },
    },
    async (request, reply) => {
      requireFreshSession(request);
      const { methodId } = request.params;
      await accounts.removeMethod(accountOf(request), methodId, callerOf(request));
      return reply.send(envelope({ done: true }));
    },
  );

  routes.get(
    '/account/sessions',
    {
      config,
      schema: {
        ...common,
        operationId: 'listAccountSessions',
        summary: 'List your sessions',
        description: 'Newest first, the newest hundred.',
        response: portalResponses(
          200,
          'The sessions.',
          listOf(AccountSession, 'AccountSessionList', exampleSession),
          portalErrors.read,
        ),
      },
    },
    async (request, reply) => {
      const data = await accounts.listSessions(accountOf(request));
      return reply.send(onOnePage(data));
    },
  );

  routes.delete(
    '/account/sessions',
    {
      config,
      schema: {
        ...common,
        operationId: 'endOtherAccountSessions',
        summary: 'End your other sessions',
        description: 'Every session but that of this request ends at once.',
        response: portalResponses(
          200,
          'They are ended.',
          oneOf(EndedSessions, 'EndedSessionsResponse', { ended: 2 }),
          portalErrors.withBody,
        ),
      },
    },
    async (request, reply) => {
      const ended = await accounts.endOtherSessions(accountOf(request), callerOf(request));
      return reply.send(envelope({ ended }));
    },
  );

  routes.delete(
    '/account/sessions/:sessionId',
    {
      config,
      schema: {
        ...common,
        operationId: 'endAccountSession',
        summary: 'End a session',
        description: 'The browser that has it is signed out at once.',
        params: Type.Object({ sessionId: uuid({ description: 'The id of the session.' }) }),
        response: portalResponses(200, 'It is ended.', doneResponse, portalErrors.withBodyOne),
      },
    },
    async (request, reply) => {
      const { sessionId } = request.params;
      await accounts.endSession(accountOf(request), sessionId, callerOf(request));
      return reply.send(envelope({ done: true }));
    },
  );

  routes.get(
    '/account/activity',
    {
      config,
      schema: {
        ...common,
        operationId: 'listAccountActivity',
        summary: 'See what happened to your account',
        description:
          'Sign-ins, failed sign-ins (counted by the minute) and changes, newest first, from the audit log.',
        querystring: PageQuery,
        response: portalResponses(
          200,
          'What happened.',
          listOf(AccountActivityEntry, 'AccountActivityList', exampleActivity),
          portalErrors.read,
        ),
      },
    },
    async (request, reply) => {
      const { page, limit } = request.query;
      const found = await accounts.listActivity(signedInOf(request).userId, { page, limit });
      const data = found.entries.map(toEntry);
      return reply.send(pageEnvelope(data, { page, limit }, found.total));
    },
  );
}

function accountOf(request: FastifyRequest) {
  const { userId: id, email, sessionId } = signedInOf(request);
  return { id, email, sessionId };
}

/** Throws `forbidden`, with the reason for the pages. */
function requireFreshSession(request: FastifyRequest): void {
  if (Date.now() - signedInOf(request).signedInAt.getTime() < freshMs) return;
  throw new ServiceError('forbidden', 'You signed in more than a day ago; sign in again first.', {
    details: { reason: 'sign_in_again' },
  });
}

function toEntry({ id, at, action, details }: AccountActivity): AccountActivityEntry {
  const { ip = null, userAgent = null, ...rest } = details;
  return {
    id,
    at: at.toISOString(),
    action,
    ipAddress: ip as string | null,
    userAgent: userAgent as string | null,
    details: rest,
  };
}
