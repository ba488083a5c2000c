/** Operations that read a webhook's deliveries and send them again. */
import { attemptsMaxInWords } from '../../contract/delivery-rules.ts';
import { envelope, pageEnvelope } from '../../contract/envelope.ts';
import { examples } from '../../contract/examples.ts';
import { Delivery, DeliveryDetail } from '../../contract/webhook.ts';
import { invalid } from '../../errors.ts';
import { listDeliveries, readDelivery } from '../../webhooks/management/deliveries.ts';
import { recover } from '../../webhooks/management/recover.ts';
import { redeliver } from '../../webhooks/management/redeliver.ts';
import { requireWebhook } from '../../webhooks/management/webhooks.ts';
import { listOf, oneOf } from '../responses.ts';
import { redeliveriesPerMinute } from './app-limits.ts';
import { DeliveryQuery, Recovered, recoverDaysMax, RecoverRequest } from './bodies.ts';
import { operation } from './operation.ts';

const response = oneOf(DeliveryDetail, 'DeliveryResponse', examples.delivery);
const dayMs = 86_400_000;

export const deliveryOperations = [
  operation({
    operationId: 'listDeliveries',
    method: 'GET',
    path: '/:id/deliveries',
    summary: "List a webhook's deliveries",
    description: 'Newest first, for as long as they are kept.',
    query: DeliveryQuery,
    returns: { 200: 'The deliveries.' },
    response: listOf(Delivery, 'DeliveryList', examples.deliveryRecord),
    async run({ database, appId, params, query }) {
      const { id } = await requireWebhook(database, appId, params.id);
      const { total, deliveries } = await listDeliveries(database, id, query);
      return pageEnvelope(deliveries, query, total);
    },
  }),
  operation({
    operationId: 'getDelivery',
    method: 'GET',
    path: '/:id/deliveries/:deliveryId',
    summary: 'Get one delivery',
    description: 'With its body and every attempt.',
    returns: { 200: 'The delivery.' },
    response,
    async run({ database, appId, params: { id, deliveryId } }) {
      await requireWebhook(database, appId, id);
      return envelope(await readDelivery(database, appId, id, deliveryId));
    },
  }),
  operation({
    operationId: 'redeliver',
    method: 'POST',
    path: '/:id/deliveries/:deliveryId/redeliver',
    summary: 'Send a delivery again',
    description: `The same id and bytes, in a fresh cycle of up to ${attemptsMaxInWords} attempts. At most ${redeliveriesPerMinute} a minute and app.`,
    returns: { 202: 'It is pending again.' },
    response,
    errors: ['conflict'],
    async run({ database, appLimits, appId, params: { id, deliveryId } }) {
      appLimits.redeliveries(appId);
      const data = await database.transaction().execute(async (tx) => {
        await redeliver(tx, appId, id, deliveryId);
        return readDelivery(tx, appId, id, deliveryId);
      });
      return envelope(data);
    },
  }),
  operation({
    operationId: 'recoverDeliveries',
    method: 'POST',
    path: '/:id/recover',
    summary: 'Send again what failed',
    description:
      'Brings back the deliveries that failed, and those that deactivation cancelled, since a time; at most 10,000.',
    body: RecoverRequest,
    returns: { 202: 'They are pending again.' },
    response: oneOf(Recovered, 'RecoveredResponse', { count: 12 }),
    errors: ['conflict'],
    async run({ database, appLimits, appId, actor, params, body }) {
      appLimits.redeliveries(appId);
      const since = requireRecent(body.since);
      const count = await database
        .transaction()
        .execute((tx) => recover(tx, actor, appId, params.id, since));
      return envelope({ count });
    },
  }),
];

function requireRecent(text: string): Date {
  const since = new Date(text);
  if (since.getTime() >= Date.now() - recoverDaysMax * dayMs) return since;
  throw invalid({ path: 'body.since', message: `must be at most ${recoverDaysMax} days ago` });
}
