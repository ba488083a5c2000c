/** Operations that read a webhook's deliveries, send them again, and explain why it did or did not get an event. */
import { attemptsMaxInWords } from '../../contract/delivery-rules.ts';
import { envelope, pageEnvelope } from '../../contract/envelope.ts';
import { examples } from '../../contract/examples.ts';
import { requireTime } from '../../contract/parse-time.ts';
import { Explanation } from '../../contract/explanation.ts';
import { Delivery, DeliveryDetail } from '../../contract/webhook.ts';
import {
  listDeliveries,
  readDelivery,
  readPublicDelivery,
} from '../../webhooks/management/deliveries.ts';
import { explainEvent, explainTime } from '../../webhooks/management/explain.ts';
import { requireWebhook } from '../../webhooks/management/webhooks.ts';
import { redeliver } from '../../webhooks/replay/redeliver.ts';
import {
  countReplay,
  recover,
  replay,
  replaysPerSecond,
  runReplay,
} from '../../webhooks/replay/replay.ts';
import { listOf, oneOf } from '../responses/responses.ts';
import { redeliveriesPerMinute, operation } from './operation.ts';
import {
  checkRange,
  DeliveryQuery,
  ExplainQuery,
  Recovered,
  RecoverRequest,
  Replayed,
  ReplayRequest,
  requirePast,
  requireRecent,
} from './bodies.ts';

const response = oneOf(DeliveryDetail, 'DeliveryResponse', examples.delivery);

const explains = {
  returns: { 200: 'The explanation.' },
  response: oneOf(Explanation, 'ExplanationResponse', examples.explanation),
};

export const deliveryOperations = [
  operation({
    operationId: 'listDeliveries',
    method: 'GET',
    path: '/:id/deliveries',
    summary: "List a webhook's deliveries",
    description: 'Returns the stored deliveries, newest first.',
    query: DeliveryQuery,
    returns: { 200: 'The deliveries.' },
    response: listOf(Delivery, 'DeliveryList', examples.deliveryRecord),
    async run({ database, appId, params, query }) {
      checkRange(query, 'query');
      const { id } = await requireWebhook(database, appId, params.id);
      const { total, deliveries } = await listDeliveries(database, id, query);
      return pageEnvelope(deliveries, query, total);
    },
  }),
  operation({
    operationId: 'getDelivery',
    method: 'GET',
    path: '/:id/deliveries/:deliveryId',
    summary: 'Get a delivery',
    description: 'Returns a delivery with its body and attempts.',
    returns: { 200: 'The delivery.' },
    response,
    async run({ database, appId, readsSecrets, params: { id, deliveryId } }) {
      await requireWebhook(database, appId, id);
      const read = readsSecrets ? readDelivery : readPublicDelivery;
      return envelope(await read(database, appId, id, deliveryId));
    },
  }),
  operation({
    operationId: 'redeliver',
    method: 'POST',
    path: '/:id/deliveries/:deliveryId/redeliver',
    summary: 'Redeliver a delivery',
    description: `Sends the same id and body again, with up to ${attemptsMaxInWords} new attempts. At most ${redeliveriesPerMinute} per minute and app.`,
    returns: { 202: 'The delivery is pending again.' },
    response,
    errors: ['conflict'],
    async run({ change, appLimits, appId, params: { id, deliveryId } }) {
      appLimits.redeliveries(appId);
      const data = await change(async (tx) => {
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
    summary: 'Recover failed deliveries',
    description:
      'Redelivers up to 10,000 deliveries that have failed, or were cancelled by a deactivation, since a time.',
    body: RecoverRequest,
    returns: { 202: 'The deliveries are pending again.' },
    response: oneOf(Recovered, 'RecoveredResponse', { count: 12 }),
    errors: ['conflict'],
    async run({ database, change, appLimits, appId, actor, params, body }) {
      const since = requireRecent(body.since);
      appLimits.redeliveries(appId);
      const webhook = { appId, webhookId: params.id };
      const count = await runReplay(
        database,
        appId,
        (tx, aside) => recover(tx, actor, webhook, since, aside),
        change,
      );
      return envelope({ count });
    },
  }),
  operation({
    operationId: 'replayDeliveries',
    method: 'POST',
    path: '/:id/replay',
    summary: 'Replay what a webhook missed',
    description: `Queues up to 10,000 deliveries that failed or were cancelled by a deactivation, and those of events that had none because the webhook was deactivated. They start in the order of the events, ${replaysPerSecond} per second.`,
    body: ReplayRequest,
    returns: { 202: 'The deliveries are pending, or with `dryRun` only counted.' },
    response: oneOf(Replayed, 'ReplayedResponse', {
      failed: 2,
      cancelled: 1,
      missed: 9,
      more: false,
    }),
    errors: ['conflict'],
    async run({ database, change, appLimits, appId, actor, params, body }) {
      const { since, until, dryRun } = body;
      checkRange(body, 'body');
      const webhook = { appId, webhookId: params.id };
      const range = {
        since: requireRecent(since),
        until: until === undefined ? undefined : requireTime(until),
      };
      appLimits.redeliveries(appId);
      return envelope(
        await runReplay(
          database,
          appId,
          (tx, aside) =>
            dryRun === true
              ? countReplay(tx, webhook, range)
              : replay(tx, actor, webhook, range, aside),
          change,
        ),
      );
    },
  }),
  operation({
    operationId: 'explainEvent',
    method: 'GET',
    path: '/:id/explain/:eventId',
    summary: 'Explain an event',
    description:
      'Says why the webhook did or did not get an event. An event that the app may not have gives the same response as one that does not exist.',
    ...explains,
    async run({ database, appId, params: { id: webhookId, eventId } }) {
      return envelope(await explainEvent(database, { appId, webhookId }, eventId));
    },
  }),
  operation({
    operationId: 'explainTime',
    method: 'GET',
    path: '/:id/explain',
    summary: 'Explain an event by its time',
    description:
      'Says whether the webhook gets such an event of an organisation or alliance at that time, for an event whose id you do not know.',
    query: ExplainQuery,
    ...explains,
    async run({ database, appId, params, query: { event, subject: slug, at } }) {
      const of = { appId, webhookId: params.id };
      return envelope(
        await explainTime(database, of, { event, slug, at: requirePast(at, 'query.at') }),
      );
    },
  }),
];
