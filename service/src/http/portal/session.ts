/** Routes about who is signed in, and how one can be. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { exampleId, exampleTime } from '../../contract/examples.ts';
import { meta } from '../../contract/envelope.ts';
import { name, PortalSession, SignInOptions } from '../../contract/portal.ts';
import { strictObject, uuid } from '../../contract/shapes.ts';
import { ServiceError } from '../../errors.ts';
import { passwordLengthMax, passwordLengthMin } from '../../sign-in/password-length.ts';
import { oneOf } from '../responses.ts';
import { createLimits } from './auth.ts';
import { toPortalSession } from './portal-session.ts';
import { signInOptionsOf } from './sign-in-options.ts';
import {
  config,
  noQuery,
  openConfig,
  portalErrors,
  portalResponses,
  security,
  type PortalRouteDependencies,
} from './route.ts';

const common = { tags: ['Session'] };

const NewFirstAccount = strictObject(
  {
    token: Type.String({
      minLength: 1,
      maxLength: 100,
      description: 'What stands behind the `#` of the link on the terminal.',
      examples: ['aGVsbG8gd29ybGQgaGVsbG8gd29ybGQgaGVsbG8gd28'],
    }),
    email: Type.String({
      minLength: 3,
      maxLength: 254,
      pattern: '^[^\\s@]+@[^\\s@]+$',
      description: 'The address to sign in with.',
      examples: ['ada@example.org'],
    }),
    name: name('What to be called.', 'Ada'),
    password: Type.String({
      minLength: passwordLengthMin,
      maxLength: passwordLengthMax,
      description: 'The password to sign in with.',
      examples: ['correct horse battery staple'],
    }),
  },
  {
    title: 'NewFirstAccount',
    description: 'The first account of this installation.',
    examples: [
      {
        token: 'aGVsbG8gd29ybGQgaGVsbG8gd29ybGQgaGVsbG8gd28',
        email: 'ada@example.org',
        name: 'Ada',
        password: 'correct horse battery staple',
      },
    ],
  },
);
const FirstAccount = strictObject(
  { userId: uuid({ description: 'Of the new user.' }) },
  { title: 'FirstAccount', description: 'The account that was made.' },
);

const session = {
  id: exampleId,
  user: { id: exampleId, name: 'Ada', email: 'ada@example.org', verified: true, image: null },
  expiresAt: exampleTime,
};
const options = {
  password: {
    signUp: true,
    links: 'mail',
    lengthMin: passwordLengthMin,
    lengthMax: passwordLengthMax,
  },
  providers: [{ id: 'github', name: 'GitHub' }],
};

export function registerSession(
  portal: FastifyInstance,
  { signIn }: PortalRouteDependencies,
): void {
  const routes = portal.withTypeProvider<TypeBoxTypeProvider>();
  const limit = createLimits();

  routes.get(
    '/session',
    {
      config,
      schema: {
        ...common,
        security,
        operationId: 'getSession',
        summary: 'See who is signed in',
        description: 'Prolongs the session where it is a day old.',
        querystring: noQuery,
        response: portalResponses(
          200,
          'Who is signed in.',
          oneOf(PortalSession, 'PortalSessionResponse', session),
          portalErrors.read,
        ),
      },
    },
    async ({ signedIn }, reply) => {
      if (!signedIn) throw new ServiceError('unauthorized');
      return reply.send({ success: true, data: toPortalSession(signedIn), meta });
    },
  );

  routes.get(
    '/sign-in-options',
    {
      config: openConfig,
      schema: {
        ...common,
        security: [],
        operationId: 'getSignInOptions',
        summary: 'See how one can sign in',
        description: 'With a password, and with which providers. Nobody has to be signed in.',
        querystring: noQuery,
        response: portalResponses(
          200,
          'The ways to sign in.',
          oneOf(SignInOptions, 'SignInOptionsResponse', options),
          portalErrors.open,
        ),
      },
    },
    async (_request, reply) =>
      reply.send({
        success: true,
        data: signInOptionsOf(signIn),
        meta,
      }),
  );

  routes.post(
    '/first-account',
    {
      config: openConfig,
      schema: {
        ...common,
        security: [],
        operationId: 'createFirstAccount',
        summary: 'Make the first account',
        description: 'With the link that a start without any account prints. It works once.',
        body: NewFirstAccount,
        querystring: noQuery,
        response: portalResponses(
          201,
          'It is made; sign in with it.',
          oneOf(FirstAccount, 'FirstAccountResponse', { userId: exampleId }),
          [...portalErrors.open, 'forbidden', 'payload_too_large', 'unsupported_media_type'],
        ),
      },
    },
    async (request, reply) => {
      limit('guess', request);
      const result = await signIn.createFirstAccount(request.body);
      if (result.kind === 'refused')
        throw new ServiceError(
          'forbidden',
          'The link was used, has run out, or there is an account already.',
        );
      return reply.code(201).send({ success: true, data: { userId: result.userId }, meta });
    },
  );
}
