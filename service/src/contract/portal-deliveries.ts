/** The portal's schemas of deliveries: lists over all webhooks of an app, redelivery of several, and charts. */
import { Type, type Static } from 'typebox';
import { list } from './envelope.ts';
import { Explanation } from './explanation.ts';
import {
  nullable,
  slug,
  strictObject,
  time,
  uuid,
  enumOf,
  count,
  boolean,
  text,
} from './shapes.ts';
import { Attempt, Delivery } from './webhook.ts';

const latency = (description: string) => nullable(count(`${description} Null if there were none.`));

/** docs/decisions/0005-history.md */
export const searchedMax = 10_000;

export const LastError = strictObject(
  {
    at: time({ description: 'When the attempt started.' }),
    statusCode: Attempt.properties.statusCode,
    error: Attempt.properties.error,
    errorCause: Attempt.properties.errorCause,
  },
  { title: 'LastError', description: 'The outcome of the last attempt that failed.' },
);

const subject = nullable(
  strictObject(
    {
      kind: enumOf(['organization', 'alliance'], 'The kind of the object.'),
      slug: slug({ description: 'The unique name in URLs.' }),
      name: text('The name of the organisation or alliance.', 'Acme Corporation'),
    },
    {
      title: 'DeliverySubject',
      description:
        'The organisation or alliance that the event is about. Null if there is none, if it was deleted, or if the app may no longer receive the event.',
    },
  ),
);

export const LastAttempt = strictObject(
  {
    startedAt: Attempt.properties.startedAt,
    durationMs: Attempt.properties.durationMs,
    statusCode: Attempt.properties.statusCode,
    error: Attempt.properties.error,
    errorCause: Attempt.properties.errorCause,
  },
  { title: 'LastAttempt', description: 'The last attempt. Null if there was none.' },
);
export type LastAttempt = Static<typeof LastAttempt>;

export const PortalDelivery = strictObject(
  {
    ...Delivery.properties,
    webhook: strictObject(
      {
        url: text(
          'The URL of the webhook. A viewer sees only its origin.',
          'https://example.org/hooks',
        ),
        description: nullable(
          text('The description of the webhook.', 'Announces new organisations'),
        ),
      },
      { title: 'WebhookOfDelivery', description: 'The webhook that the delivery is sent to.' },
    ),
    subject,
    lastAttempt: nullable(LastAttempt),
  },
  { title: 'PortalDelivery', description: 'A delivery with its last attempt and its subject.' },
);
export type PortalDelivery = Static<typeof PortalDelivery>;

const { id, status } = Delivery.properties;
export const AppEvent = strictObject(
  {
    id: uuid({ description: 'The id of the event: the `eventId` of its deliveries.' }),
    event: text('The name of the event.', 'org.created'),
    createdAt: time({ description: 'When the event happened.' }),
    subject,
    webhooks: Type.Array(
      strictObject(
        {
          webhookId: Explanation.properties.webhookId,
          result: Explanation.properties.result,
          message: Explanation.properties.message,
          delivery: nullable(
            strictObject(
              { id, status },
              { title: 'EventDelivery', description: 'The delivery. Null if there is none.' },
            ),
          ),
        },
        { title: 'EventOutcome', description: 'What became of the event at a webhook, and why.' },
      ),
      { description: 'Every webhook of the app.' },
    ),
  },
  { title: 'AppEvent', description: 'An event that the app can receive.' },
);
export type AppEvent = Static<typeof AppEvent>;

export const PortalDeliveryList = strictObject(
  {
    ...list(PortalDelivery, 'PortalDeliveryList').properties,
    searched: nullable(
      strictObject(
        {
          deliveries: count('The number of deliveries that were searched.'),
          complete: boolean(
            `False if there are more than ${searchedMax.toLocaleString('en')}, of which the rest were not searched. Choose a shorter time with \`since\` and \`until\`.`,
          ),
        },
        {
          title: 'SearchedDeliveries',
          description:
            'With `response`, `error`, `subject` or `search`: which deliveries were searched. `total` counts the matches among these. Null without these filters: `total` then counts all matches.',
        },
      ),
    ),
  },
  { title: 'PortalDeliveryList' },
);
export type Searched = Static<typeof PortalDeliveryList>['searched'];

/** Limits the work of one request. */
export const redeliveredMax = 100;

export const RedeliveriesRequest = strictObject(
  {
    deliveryIds: Type.Array(uuid({ description: 'The id of a delivery.' }), {
      minItems: 1,
      maxItems: redeliveredMax,
      uniqueItems: true,
      description: 'The ids of the deliveries.',
    }),
  },
  {
    title: 'RedeliveriesRequest',
    description: 'The deliveries to send again.',
    examples: [{ deliveryIds: ['0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f'] }],
  },
);

export const Redelivery = strictObject(
  {
    deliveryId: uuid({ description: 'The id of the delivery.' }),
    redelivered: boolean('Whether the delivery is pending again.'),
    reason: nullable(
      text(
        'Why the delivery cannot be sent again.',
        'The webhook is deactivated. Activate it first.',
      ),
    ),
  },
  { title: 'Redelivery', description: 'The result for one delivery.' },
);
export type Redelivery = Static<typeof Redelivery>;

const counts = {
  succeeded: count('The number of deliveries that succeeded.'),
  failed: count('The number of deliveries that failed.'),
  cancelled: count('The number of deliveries that were cancelled.'),
  cancelledByFailure: Type.Optional(
    count('Of those that were cancelled: the number cancelled because the webhook failed.'),
  ),
  pending: count('The number of deliveries that have not ended yet.'),
  latencyP50Ms: latency(
    'The median duration of the last attempt of those that succeeded, in milliseconds, within 10 %.',
  ),
  latencyP95Ms: latency('The 95th percentile of that duration.'),
};

export const DeliveryPeriod = strictObject(
  { start: time({ description: 'The start of the period.' }), ...counts },
  {
    title: 'DeliveryPeriod',
    description:
      'The deliveries that were queued in one period, by how they first ended, without tests. Redelivering one, or replaying an event that had none, changes it in the range `hour` only, which counts how each ended last.',
  },
);
export type DeliveryPeriod = Static<typeof DeliveryPeriod>;

export const DeliveryStats = strictObject(
  {
    periodHours: Type.Number({ minimum: 0, description: 'The length of each period.' }),
    periods: Type.Array(DeliveryPeriod, { description: 'The periods, oldest first.' }),
    total: strictObject(counts, {
      title: 'DeliveryTotals',
      description: 'The deliveries of all periods together.',
    }),
  },
  { title: 'DeliveryStats', description: 'Deliveries over time.' },
);
export type DeliveryStats = Static<typeof DeliveryStats>;

export const WebhookStats = strictObject(
  {
    webhookId: uuid({ description: 'The id of the webhook.' }),
    total: DeliveryStats.properties.total,
    hours: Type.Array(
      strictObject(
        {
          succeeded: count('The number of deliveries that succeeded.'),
          failed: count('The number that failed, or were cancelled because the webhook failed.'),
        },
        { title: 'HourOfWebhook', description: 'The deliveries that were queued in an hour.' },
      ),
      { description: 'The last 24 hours, oldest first.' },
    ),
  },
  { title: 'WebhookStats', description: 'The deliveries of a webhook in the last 24 hours.' },
);
export type WebhookStats = Static<typeof WebhookStats>;
