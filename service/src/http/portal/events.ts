/** GET /events returns the catalogue, GET /apps/{appId}/events the events that an app may subscribe to. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import { requireOwnApp } from '../../access/owned.ts';
import { examples } from '../../contract/examples.ts';
import { CatalogueEvent, PortalEvent } from '../../contract/portal.ts';
import { catalogue, subscribableEvents, type EventName } from '../../events/catalogue.ts';
import { checkEvents } from '../../webhooks/management/webhooks.ts';
import { listOf } from '../responses.ts';
import { ownerOf } from './authenticate.ts';
import {
  appParams,
  config,
  noQuery,
  onOnePage,
  portalErrors,
  portalResponses,
  security,
  type PortalRouteDependencies,
} from './route.ts';

const example = {
  event: 'org.created',
  audience: 'global',
  description: catalogue['org.created'].description,
  schema: { type: 'object' },
  sample: examples.organisation,
};
const names = Object.keys(catalogue) as EventName[];

export function registerEvents(
  portal: FastifyInstance,
  { database }: PortalRouteDependencies,
): void {
  const routes = portal.withTypeProvider<TypeBoxTypeProvider>();

  routes.get(
    '/events',
    {
      config,
      schema: {
        tags: ['Events'],
        security,
        operationId: 'listEvents',
        summary: 'See which events there are',
        description: 'The whole catalogue, with schema and sample, the test of a webhook included.',
        querystring: noQuery,
        response: portalResponses(
          200,
          'The catalogue.',
          listOf(CatalogueEvent, 'CatalogueEventList', example),
          portalErrors.read,
        ),
      },
    },
    async (_request, reply) => {
      const data = names.map(entryOf);
      return reply.send(onOnePage(data));
    },
  );

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
          listOf(PortalEvent, 'PortalEventList', { ...example, allowed: true, reason: null }),
          portalErrors.readOne,
        ),
      },
    },
    async (request, reply) => {
      const { id } = await requireOwnApp(database, ownerOf(request), request.params.appId);
      // Checking all events together returns a reason for each one that the app may not have.
      const issues = await checkEvents(database, id, [...subscribableEvents]);
      const reasons = new Map(issues.map(({ path, message }) => [path, message]));
      const data = subscribableEvents.map((event, index) => {
        const reason = reasons.get(`body.events.${index}`) ?? null;
        return Object.assign(entryOf(event), { allowed: reason === null, reason });
      });
      return reply.send(onOnePage(data));
    },
  );
}

function entryOf(event: EventName) {
  const { audience, description, data: schema, sample } = catalogue[event];
  return { event, audience, description, schema, sample };
}
