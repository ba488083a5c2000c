/** Operations that explain why a webhook did or did not get an event. */
import { envelope } from '../../contract/envelope.ts';
import { examples } from '../../contract/examples.ts';
import { Explanation } from '../../contract/explanation.ts';
import { explainEvent, explainTime } from '../../webhooks/management/explain.ts';
import { oneOf } from '../responses/responses.ts';
import { ExplainQuery } from './bodies.ts';
import { operation } from './operation.ts';
import { requirePast } from './time-range.ts';

const returns = { 200: 'The explanation.' };
const response = oneOf(Explanation, 'ExplanationResponse', examples.explanation);

export const explainOperations = [
  operation({
    operationId: 'explainEvent',
    method: 'GET',
    path: '/:id/explain/:eventId',
    summary: 'Explain an event',
    description:
      'Says why the webhook did or did not get an event. An event that the app may not have gives the same response as one that does not exist.',
    returns,
    response,
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
    returns,
    response,
    async run({ database, appId, params, query: { event, subject: slug, at } }) {
      const of = { appId, webhookId: params.id };
      return envelope(
        await explainTime(database, of, { event, slug, at: requirePast(at, 'query.at') }),
      );
    },
  }),
];
