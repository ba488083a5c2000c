/** GET …/recoverable lets the portal show what a recovery would send before it does. */
import { Type } from 'typebox';
import { envelope } from '../../contract/envelope.ts';
import { strictObject, time } from '../../contract/shapes.ts';
import { requireWebhook } from '../../webhooks/management/webhooks.ts';
import { countRecoverable } from '../../webhooks/replay/replay.ts';
import { oneOf } from '../responses/responses.ts';
import { recoverDaysMax } from '../../contract/periods.ts';
import { requireRecent } from '../webhooks/time-range.ts';
import { operation } from '../webhooks/operation.ts';

const Recoverable = strictObject(
  {
    count: Type.Integer({
      minimum: 0,
      description: 'The number of deliveries that a recovery would queue, at most 10,000.',
    }),
  },
  { title: 'Recoverable', description: 'The deliveries that a recovery would send.' },
);

export const countRecoverableDeliveries = operation({
  operationId: 'countRecoverableDeliveries',
  method: 'GET',
  path: '/:id/recoverable',
  summary: 'Count recoverable deliveries',
  description:
    'Counts the deliveries that have failed, or were cancelled by a deactivation, since a time.',
  query: strictObject({
    since: Type.Optional(
      time({
        description: `Count deliveries that ended at this time or later, at most ${recoverDaysMax} days ago, which is the default.`,
      }),
    ),
  }),
  returns: { 200: 'The count.' },
  errors: ['conflict'],
  response: oneOf(Recoverable, 'RecoverableResponse', { count: 12 }),
  async run({ database, appId, actor, params, query }) {
    const since =
      query.since === undefined ? longestAgo() : requireRecent(query.since, 'query.since');
    const { id: webhookId } = await requireWebhook(database, appId, params.id);
    return envelope({
      count: await countRecoverable(database, actor, { appId, webhookId }, since),
    });
  },
});

function longestAgo(): Date {
  return new Date(Date.now() - recoverDaysMax * 86_400_000);
}
