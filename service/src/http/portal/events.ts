/** GET /apps/{appId}/events: the catalogue, and what of it an app may have. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import { requireOwnApp } from '../../access/owned.ts';
import { examples } from '../../contract/examples.ts';
import { meta, pagination } from '../../contract/envelope.ts';
import { PortalEvent } from '../../contract/portal.ts';
import { catalogue, subscribableEvents } from '../../events/catalogue.ts';
import { checkEvents } from '../../webhooks/webhooks.ts';
import { listOf } from '../responses.ts';
import { ownerOf } from './authenticate.ts';
import {
  appParams,
  config,
  noQuery,
  portalErrors,
  portalResponses,
  security,
  type PortalRouteDependencies,
} from './route.ts';

const example = {
  event: 'org.created',
  audience: 'global',
  description: catalogue['org.created'].description,
  allowed: true,
  reason: null,
  schema: { type: 'object' },
  sample: examples.organisation,
};

export function registerEvents(
  portal: FastifyInstance,
  { database }: PortalRouteDependencies,
): void {
  const routes = portal.withTypeProvider<TypeBoxTypeProvider>();

  routes.get(
    '/apps/:appId/events',
    {
      config,
      schema: {
        tags: ['Events'],
        security,
        operationId: 'listAppEvents',
        summary: 'See what a webhook of an app can ask for',
        description:
          'The whole catalogue, with schema and sample; and why the app may not have some.',
        params: appParams,
        querystring: noQuery,
        response: portalResponses(
          200,
          'The catalogue.',
          listOf(PortalEvent, 'PortalEventList', example),
          portalErrors.readOne,
        ),
      },
    },
    async (request, reply) => {
      const { id } = await requireOwnApp(database, ownerOf(request), request.params.appId);
      // Asked for all at once, those that it may not have are refused one by one, each with why.
      const issues = await checkEvents(database, id, [...subscribableEvents]);
      const reasons = new Map(issues.map(({ path, message }) => [path, message]));
      const data = subscribableEvents.map((event, index) => {
        const { audience, description, data: schema, sample } = catalogue[event];
        const reason = reasons.get(`body.events.${index}`) ?? null;
        return { event, audience, description, allowed: reason === null, reason, schema, sample };
      });
      const onOnePage = pagination({ page: 1, limit: 100 }, data.length);
      return reply.send({ success: true, data, meta, pagination: onOnePage });
    },
  );
}
