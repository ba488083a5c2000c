/** Deliveries over all webhooks of an app: the list with its filters, redelivery of several, and charts. */
import { Type } from 'typebox';
import { holdRole, requireRole } from '../../access/require-role.ts';
import { envelope, pageEnvelope } from '../../contract/envelope.ts';
import { exampleId, examples, exampleTime } from '../../contract/examples.ts';
import {
  DeliveryStats,
  PortalDelivery,
  PortalDeliveryList,
  RedeliveriesRequest,
  Redelivery,
  searchedMax,
  WebhookStats,
} from '../../contract/portal-deliveries.ts';
import { noNul, slug, strictObject, uuid, enumOf } from '../../contract/shapes.ts';
import { ServiceError } from '../../errors.ts';
import {
  ranges,
  readDeliveryStats,
  readWebhookStats,
} from '../../webhooks/management/delivery-stats.ts';
import { listAppDeliveries } from '../../webhooks/management/list-app-deliveries.ts';
import { redeliverSeveral } from '../../webhooks/replay/redeliver.ts';
import { isText } from '../../webhooks/management/search-deliveries.ts';
import { listWebhookIds, requireWebhook } from '../../webhooks/management/webhooks.ts';
import { holdSession } from '../../sign-in/sessions.ts';
import { confirmedChange } from '../confirmed-change.ts';
import { listOf, oneOf } from '../responses/responses.ts';
import { bodySearchesPerMinute, redeliveriesPerMinute } from '../webhooks/operation.ts';
import { checkRange, DeliveryQuery } from '../webhooks/bodies.ts';
import { withoutSecrets } from '../webhooks/webhook-operations.ts';
import { onOnePage, operation } from './surface.ts';

const ofWebhook = Type.Optional(uuid({ description: 'Only deliveries to this webhook.' }));

const PortalDeliveryQuery = strictObject({
  ...DeliveryQuery.properties,
  webhookId: ofWebhook,
  response: Type.Optional(
    Type.String({
      pattern: '^([1-9][0-9][0-9]|[1-9]xx|none)$',
      description:
        'Only deliveries whose last attempt had this response: a status such as `500`, a class such as `5xx`, or `none`.',
      examples: ['5xx'],
    }),
  ),
  error: Type.Optional(
    enumOf(
      ['dns', 'connect', 'tls', 'timeout', 'blocked', 'reset', 'interrupted'],
      'Only deliveries whose last attempt ended with this error.',
    ),
  ),
  subject: Type.Optional(
    slug({
      description:
        'Only deliveries about the organisation or alliance that has this slug, or had it while nobody else can get it.',
    }),
  ),
  search: Type.Optional(
    Type.String({
      ...noNul,
      minLength: 1,
      maxLength: 200,
      description:
        'The id of a delivery or event, or text that the body contains, regardless of case. Viewers can only search for ids.',
    }),
  ),
});

const counts = {
  succeeded: 41,
  failed: 1,
  cancelled: 0,
  cancelledByFailure: 0,
  pending: 0,
  latencyP50Ms: 48,
  latencyP95Ms: 210,
};
const examplePeriod = { start: exampleTime, ...counts };
const lastAttempt = {
  startedAt: exampleTime,
  durationMs: 87,
  statusCode: 200,
  error: null,
  errorCause: null,
};
const exampleDelivery: PortalDelivery = {
  ...examples.deliveryRecord,
  webhook: { url: 'https://example.org/hooks', description: 'Announces new organisations' },
  subject: { kind: 'organization', slug: 'acme-corporation', name: 'Acme Corporation' },
  lastAttempt,
};

export const deliveryOperations = [
  operation({
    operationId: 'listAppDeliveries',
    method: 'GET',
    path: '/apps/:appId/deliveries',
    summary: 'List the deliveries of an app',
    description: `Returns the deliveries of all webhooks, newest first. \`response\`, \`error\`, \`subject\` and \`search\` search at most ${searchedMax.toLocaleString('en')} deliveries that match the other filters: the newest, or for an id the first ones after it. At most ${bodySearchesPerMinute} searches for text per minute and app. One that takes more than a few seconds is a \`conflict\`: choose a shorter time range.`,
    query: PortalDeliveryQuery,
    returns: { 200: 'The deliveries.' },
    response: {
      schema: PortalDeliveryList,
      example: {
        ...(listOf(PortalDelivery, 'PortalDeliveryList', exampleDelivery).example as object),
        searched: null,
      },
    },
    errors: ['forbidden', 'conflict'],
    async run({ database, email, actor, appLimits, params: { appId }, query: given }) {
      const { webhookId = null, ...query } = given;
      checkRange(query, 'query');
      const role = await requireRole(database, email, appId, 'viewer');
      if (query.search !== undefined && isText(query.search)) {
        if (role === 'viewer')
          throw new ServiceError(
            'forbidden',
            'Only owners and developers can search the bodies of deliveries.',
          );
        appLimits.bodySearches(appId);
      }
      if (webhookId !== null) await requireWebhook(database, appId, webhookId);
      const { total, deliveries, searched } = await listAppDeliveries(
        database,
        actor,
        { appId, webhookId },
        query,
      );
      const shown = role === 'viewer' ? deliveries.map(withoutUrl) : deliveries;
      return { ...pageEnvelope(shown, query, total), searched };
    },
  }),
  operation({
    operationId: 'redeliverDeliveries',
    method: 'POST',
    path: '/apps/:appId/deliveries/redeliver',
    summary: 'Redeliver several deliveries',
    description: `Sends deliveries again, each with the same id and body, and returns a result for each. At most ${redeliveriesPerMinute} requests per minute and app.`,
    body: RedeliveriesRequest,
    returns: { 202: 'A result for each delivery, in the order of the request.' },
    response: oneOf(Type.Array(Redelivery), 'RedeliveriesResponse', [
      { deliveryId: exampleId, redelivered: true, reason: null },
    ]),
    async run({ database, email, account, appLimits, params: { appId }, body }) {
      await requireRole(database, email, appId, 'developer');
      appLimits.redeliveries(appId);
      // Not that of the surface, which counts changes for the audit log.
      const change = confirmedChange(database, async (tx) => {
        await holdRole(tx, email, appId, 'developer');
        await holdSession(tx, account.sessionId);
      });
      return envelope(await redeliverSeveral(database, appId, body.deliveryIds, change));
    },
  }),
  operation({
    operationId: 'getDeliveryStats',
    method: 'GET',
    path: '/apps/:appId/delivery-stats',
    summary: 'Get the delivery statistics of an app',
    description:
      'Returns how many deliveries succeeded and failed over time, and their latency, for all webhooks or for one.',
    query: strictObject({
      range: Type.Enum(Object.keys(ranges) as (keyof typeof ranges)[], {
        type: 'string',
        default: 'day',
        description:
          '`hour`: the last hour by minute, by how each delivery ended last. `day`: the last 24 hours by hour. `week`: the last 7 days by 6 hours.',
      }),
      webhookId: ofWebhook,
    }),
    returns: { 200: 'The statistics.' },
    response: oneOf(DeliveryStats, 'DeliveryStatsResponse', {
      periodHours: 1,
      periods: [examplePeriod],
      total: counts,
    }),
    async run({ database, email, params: { appId }, query: { range, webhookId } }) {
      await requireRole(database, email, appId, 'viewer');
      if (webhookId !== undefined) await requireWebhook(database, appId, webhookId);
      const ids = webhookId === undefined ? await listWebhookIds(database, appId) : [webhookId];
      return envelope(await readDeliveryStats(database, ids, range));
    },
  }),
  operation({
    operationId: 'listWebhookStats',
    method: 'GET',
    path: '/apps/:appId/webhook-stats',
    summary: 'List the delivery statistics of each webhook of an app',
    description:
      'Returns how many deliveries of the last 24 hours succeeded and failed, and their latency.',
    returns: { 200: 'The statistics, by webhook.' },
    response: listOf(WebhookStats, 'WebhookStatsList', {
      webhookId: exampleId,
      total: counts,
      hours: [{ succeeded: 96, failed: 2 }],
    }),
    async run({ database, email, params: { appId } }) {
      await requireRole(database, email, appId, 'viewer');
      const ids = await listWebhookIds(database, appId);
      return onOnePage(await readWebhookStats(database, ids));
    },
  }),
];

function withoutUrl(delivery: PortalDelivery): PortalDelivery {
  return { ...delivery, webhook: withoutSecrets(delivery.webhook) };
}
