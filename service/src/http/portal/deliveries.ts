/** Routes that read the deliveries of one's own webhooks and send them again. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import { requireOwnApp } from '../../access/owned.ts';
import { meta, pagination } from '../../contract/envelope.ts';
import { examples } from '../../contract/examples.ts';
import { Delivery, DeliveryDetail } from '../../contract/webhook.ts';
import { listDeliveries, readDelivery } from '../../webhooks/management/deliveries.ts';
import { recover } from '../../webhooks/management/recover.ts';
import { redeliver } from '../../webhooks/management/redeliver.ts';
import { requireWebhook } from '../../webhooks/management/webhooks.ts';
import { listOf, oneOf } from '../responses.ts';
import { DeliveryQuery, Recovered, RecoverRequest, requireRecent } from '../v1/deliveries.ts';
import { redeliveriesPerMinute } from '../v1/webhook-route.ts';
import { actorOf, ownerOf } from './authenticate.ts';
import {
  config,
  deliveryParams,
  noQuery,
  portalErrors,
  portalResponses,
  security,
  webhookParams,
  type PortalRouteDependencies,
} from './route.ts';

const common = { tags: ['Webhooks'], security };
const answer = oneOf(DeliveryDetail, 'DeliveryResponse', examples.delivery);

export function registerDeliveries(
  portal: FastifyInstance,
  { database, appLimits }: PortalRouteDependencies,
): void {
  const routes = portal.withTypeProvider<TypeBoxTypeProvider>();

  routes.get(
    '/apps/:appId/webhooks/:id/deliveries',
    {
      config,
      schema: {
        ...common,
        operationId: 'listDeliveries',
        summary: "List a webhook's deliveries",
        description: 'Newest first, for as long as they are kept.',
        params: webhookParams,
        querystring: DeliveryQuery,
        response: portalResponses(
          200,
          'The deliveries.',
          listOf(Delivery, 'DeliveryList', examples.deliveryRecord),
          portalErrors.readOne,
        ),
      },
    },
    async (request, reply) => {
      const { appId, id } = request.params;
      await requireOwnApp(database, ownerOf(request), appId);
      await requireWebhook(database, appId, id);
      const { total, deliveries } = await listDeliveries(database, id, request.query);
      const shown = pagination(request.query, total);
      return reply.send({ success: true, data: deliveries, meta, pagination: shown });
    },
  );

  routes.get(
    '/apps/:appId/webhooks/:id/deliveries/:deliveryId',
    {
      config,
      schema: {
        ...common,
        operationId: 'getDelivery',
        summary: 'Get one delivery',
        description: 'With its body and every attempt.',
        params: deliveryParams,
        querystring: noQuery,
        response: portalResponses(200, 'The delivery.', answer, portalErrors.readOne),
      },
    },
    async (request, reply) => {
      const { appId, id, deliveryId } = request.params;
      await requireOwnApp(database, ownerOf(request), appId);
      await requireWebhook(database, appId, id);
      const data = await readDelivery(database, appId, id, deliveryId);
      return reply.send({ success: true, data, meta });
    },
  );

  routes.post(
    '/apps/:appId/webhooks/:id/deliveries/:deliveryId/redeliver',
    {
      config,
      schema: {
        ...common,
        operationId: 'redeliver',
        summary: 'Send a delivery again',
        description: `The same id and bytes, in a fresh cycle of up to six attempts. At most ${redeliveriesPerMinute} a minute and app, the API's included.`,
        params: deliveryParams,
        querystring: noQuery,
        response: portalResponses(202, 'It is pending again.', answer, [
          ...portalErrors.withBodyOne,
          'conflict',
        ]),
      },
    },
    async (request, reply) => {
      const { appId, id, deliveryId } = request.params;
      await requireOwnApp(database, ownerOf(request), appId);
      appLimits.redeliveries(appId);
      const data = await database.transaction().execute(async (tx) => {
        await redeliver(tx, appId, id, deliveryId);
        return readDelivery(tx, appId, id, deliveryId);
      });
      return reply.code(202).send({ success: true, data, meta });
    },
  );

  routes.post(
    '/apps/:appId/webhooks/:id/recover',
    {
      config,
      schema: {
        ...common,
        operationId: 'recoverDeliveries',
        summary: 'Send again what failed',
        description:
          'Brings back the deliveries that failed, and those that deactivation cancelled, since a time; at most 10,000.',
        params: webhookParams,
        body: RecoverRequest,
        querystring: noQuery,
        response: portalResponses(
          202,
          'They are pending again.',
          oneOf(Recovered, 'RecoveredResponse', { count: 12 }),
          [...portalErrors.withBodyOne, 'conflict'],
        ),
      },
    },
    async (request, reply) => {
      const { appId, id } = request.params;
      await requireOwnApp(database, ownerOf(request), appId);
      await requireWebhook(database, appId, id);
      appLimits.redeliveries(appId);
      const since = requireRecent(request.body.since);
      const count = await database
        .transaction()
        .execute((tx) => recover(tx, actorOf(request), appId, id, since));
      return reply.code(202).send({ success: true, data: { count }, meta });
    },
  );
}
