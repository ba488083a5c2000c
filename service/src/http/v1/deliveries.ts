/** Routes that read a webhook's deliveries and send them again. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { keyActor } from '../../access/actor.ts';
import { meta, pagination } from '../../contract/envelope.ts';
import { examples } from '../../contract/examples.ts';
import { strictObject, time } from '../../contract/shapes.ts';
import { Delivery, DeliveryDetail } from '../../contract/webhook.ts';
import { PageQuery } from '../../directory/list-query.ts';
import { invalid } from '../../errors.ts';
import { subscribableEvents } from '../../events/catalogue.ts';
import { listDeliveries, readDelivery } from '../../webhooks/management/deliveries.ts';
import { recover } from '../../webhooks/management/recover.ts';
import { redeliver } from '../../webhooks/management/redeliver.ts';
import { requireWebhook } from '../../webhooks/management/webhooks.ts';
import { callerOf } from '../admit.ts';
import { errorsOf, listOf, oneOf, responses } from '../responses.ts';
import {
  common,
  config,
  deliveryParams,
  noQuery,
  params,
  redeliveriesPerMinute,
  sendRead,
} from './webhook-route.ts';
import type { WebhookDependencies } from './webhooks.ts';

/** docs/reference/errors-and-limits.md#webhooks-and-deliveries */
const recoverDaysMax = 14;
const dayMs = 86_400_000;

export const DeliveryQuery = Type.Object(
  {
    ...PageQuery.properties,
    status: Type.Optional(
      Type.Enum(['pending', 'succeeded', 'failed', 'cancelled'], {
        type: 'string',
        description: 'Only those in this state.',
      }),
    ),
    event: Type.Optional(
      Type.Enum([...subscribableEvents, 'webhook.test'], {
        type: 'string',
        description: 'Only those of this event.',
      }),
    ),
    since: Type.Optional(time({ description: 'Only those queued at this time or later.' })),
    until: Type.Optional(time({ description: 'Only those queued before this time.' })),
  },
  { additionalProperties: false },
);

export const RecoverRequest = strictObject(
  {
    since: time({
      description: `Deliveries that ended at this time or later; at most ${recoverDaysMax} days ago.`,
    }),
  },
  {
    title: 'RecoverRequest',
    description: 'From when on to recover.',
    examples: [{ since: '2026-11-20T12:00:00.000Z' }],
  },
);

export const Recovered = strictObject(
  { count: Type.Integer({ minimum: 0, description: 'Deliveries that are pending again.' }) },
  { title: 'Recovered', description: 'What was brought back.' },
);

export function registerDeliveries(
  app: FastifyInstance,
  { database, appLimits }: WebhookDependencies,
): void {
  const routes = app.withTypeProvider<TypeBoxTypeProvider>();

  routes.get(
    '/webhooks/:id/deliveries',
    {
      config,
      schema: {
        ...common,
        operationId: 'listDeliveries',
        summary: "List a webhook's deliveries",
        description:
          'Newest first, for as long as they are kept. Needs the scope `write:webhooks`.',
        params,
        querystring: DeliveryQuery,
        response: responses(
          200,
          'The deliveries.',
          listOf(Delivery, 'DeliveryList', examples.deliveryRecord),
          errorsOf.keyedResource,
          { conditional: true },
        ),
      },
    },
    async (request, reply) => {
      const { id } = await requireWebhook(database, callerOf(request).appId, request.params.id);
      const { total, deliveries } = await listDeliveries(database, id, request.query);
      return sendRead(request, reply, {
        success: true,
        data: deliveries,
        meta,
        pagination: pagination(request.query, total),
      });
    },
  );

  routes.get(
    '/webhooks/:id/deliveries/:deliveryId',
    {
      config,
      schema: {
        ...common,
        operationId: 'getDelivery',
        summary: 'Get one delivery',
        description: 'With its body and every attempt. Needs the scope `write:webhooks`.',
        params: deliveryParams,
        querystring: noQuery,
        response: responses(
          200,
          'The delivery.',
          oneOf(DeliveryDetail, 'DeliveryResponse', examples.delivery),
          errorsOf.keyedResource,
          { conditional: true },
        ),
      },
    },
    async (request, reply) => {
      const { appId } = callerOf(request);
      const { id } = await requireWebhook(database, appId, request.params.id);
      const data = await readDelivery(database, appId, id, request.params.deliveryId);
      return sendRead(request, reply, { success: true, data, meta });
    },
  );

  routes.post(
    '/webhooks/:id/deliveries/:deliveryId/redeliver',
    {
      config,
      schema: {
        ...common,
        operationId: 'redeliver',
        summary: 'Send a delivery again',
        description: `The same id and bytes, in a fresh cycle of up to six attempts. At most ${redeliveriesPerMinute} a minute and app. Needs the scope \`write:webhooks\`.`,
        params: deliveryParams,
        querystring: noQuery,
        response: responses(
          202,
          'It is pending again.',
          oneOf(DeliveryDetail, 'DeliveryResponse', examples.delivery),
          [...errorsOf.keyedResourceBody, 'conflict'],
        ),
      },
    },
    async (request, reply) => {
      const { appId } = callerOf(request);
      appLimits.redeliveries(appId);
      const { id, deliveryId } = request.params;
      const data = await database.transaction().execute(async (tx) => {
        await redeliver(tx, appId, id, deliveryId);
        return readDelivery(tx, appId, id, deliveryId);
      });
      return reply
        .code(202)
        .header('cache-control', 'no-store')
        .send({ success: true, data, meta });
    },
  );

  routes.post(
    '/webhooks/:id/recover',
    {
      config,
      schema: {
        ...common,
        operationId: 'recoverDeliveries',
        summary: 'Send again what failed',
        description:
          'Brings back the deliveries that failed, and those that deactivation cancelled, since a time; at most 10,000. Needs the scope `write:webhooks`.',
        params,
        body: RecoverRequest,
        querystring: noQuery,
        response: responses(
          202,
          'They are pending again.',
          oneOf(Recovered, 'RecoveredResponse', { count: 12 }),
          [...errorsOf.keyedResourceBody, 'conflict'],
        ),
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      appLimits.redeliveries(caller.appId);
      const since = requireRecent(request.body.since);
      const count = await database
        .transaction()
        .execute((tx) => recover(tx, keyActor(caller), caller.appId, request.params.id, since));
      return reply
        .code(202)
        .header('cache-control', 'no-store')
        .send({ success: true, data: { count }, meta });
    },
  );
}

export function requireRecent(text: string): Date {
  const since = new Date(text);
  if (since.getTime() >= Date.now() - recoverDaysMax * dayMs) return since;
  throw invalid({ path: 'body.since', message: `must be at most ${recoverDaysMax} days ago` });
}
