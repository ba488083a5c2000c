/** GET /overview summarises how the user's apps are doing. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import { exampleId, exampleLaterTime, exampleTime } from '../../contract/examples.ts';
import { envelope } from '../../contract/envelope.ts';
import { Overview } from '../../contract/portal.ts';
import { readOverview } from '../../webhooks/management/overview.ts';
import { oneOf } from '../responses.ts';
import { ownerOf } from './authenticate.ts';
import {
  config,
  noQuery,
  portalErrors,
  portalResponses,
  security,
  type PortalRouteDependencies,
} from './route.ts';

const app = { appId: exampleId, appName: 'Announcer' };
const example: Overview = {
  maintenance: null,
  webhooks: [
    {
      ...app,
      webhookId: exampleId,
      host: 'example.org',
      state: 'deactivated',
      reason: 'failing',
      since: exampleTime,
      exhaustedInARow: 5,
    },
  ],
  keys: [
    { ...app, keyId: exampleId, name: 'On the server', last4: '0000', expiresAt: exampleLaterTime },
  ],
  deliveries: {
    complete: true,
    hours: [
      {
        start: exampleTime,
        succeeded: 41,
        failed: 1,
        pending: 0,
        latencyP50Ms: 48,
        latencyP95Ms: 210,
      },
    ],
  },
};

export function registerOverview(
  portal: FastifyInstance,
  { database, health }: PortalRouteDependencies,
): void {
  const routes = portal.withTypeProvider<TypeBoxTypeProvider>();

  routes.get(
    '/overview',
    {
      config,
      schema: {
        tags: ['Overview'],
        security,
        operationId: 'getOverview',
        summary: 'See how your apps are doing',
        description: 'What needs you, and what became of the deliveries of the last 24 hours.',
        querystring: noQuery,
        response: portalResponses(
          200,
          'How they are doing.',
          oneOf(Overview, 'OverviewResponse', example),
          portalErrors.read,
        ),
      },
    },
    async (request, reply) => {
      const { maintenance } = health.snapshot();
      const overview = await readOverview(database, ownerOf(request));
      return reply.send(envelope({ maintenance, ...overview }));
    },
  );
}
