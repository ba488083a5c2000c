/** GET /session returns the signed-in user. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import { envelope } from '../../contract/envelope.ts';
import { exampleId, exampleTime } from '../../contract/examples.ts';
import { PortalSession } from '../../contract/portal.ts';
import { oneOf } from '../responses.ts';
import { signedInOf } from './authenticate.ts';
import { toPortalSession } from './portal-session.ts';
import { config, noQuery, portalErrors, portalResponses, security } from './route.ts';

const example = {
  id: exampleId,
  user: { id: exampleId, name: 'Ada', email: 'ada@example.org', image: null },
  expiresAt: exampleTime,
};

export function registerSession(portal: FastifyInstance): void {
  portal.withTypeProvider<TypeBoxTypeProvider>().get(
    '/session',
    {
      config,
      schema: {
        tags: ['Session'],
        security,
        operationId: 'getSession',
        summary: 'Get the session',
        description: 'Prolongs the session if it is a day old.',
        querystring: noQuery,
        response: portalResponses(
          200,
          'Who is signed in.',
          oneOf(PortalSession, 'PortalSessionResponse', example),
          portalErrors.read,
        ),
      },
    },
    async (request, reply) => reply.send(envelope(toPortalSession(signedInOf(request)))),
  );
}
