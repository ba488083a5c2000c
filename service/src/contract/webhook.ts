import { Type, type Static } from 'typebox';
import { nullable, strictObject, time, uuid } from './shapes.ts';

/** A delivery may be sent again without end, and each answer takes up to 12 KiB. */
export const attemptsShownMax = 100;

const eventNames = Type.Array(Type.String({ examples: ['org.created'] }));

const fields = {
  id: uuid(),
  url: Type.String({
    description: 'Where deliveries are sent.',
    examples: ['https://example.org/hooks'],
  }),
  description: nullable(
    Type.String({
      description: 'What its owner noted.',
      examples: ['Announces new organisations'],
    }),
  ),
  events: nullable({
    ...eventNames,
    description: 'Null: every event that the app may have, later ones included.',
  }),
  active: Type.Boolean({ description: 'Whether it gets new deliveries.' }),
  deactivatedAt: nullable(time({ description: 'When it ceased to be active.' })),
  deactivatedReason: nullable(
    Type.Enum(['failing', 'gone', 'owner'], {
      type: 'string',
      description:
        'failing: deliveries failed in a row. gone: the receiver answers 410. owner: switched off.',
    }),
  ),
  lastSuccessAt: nullable(time({ description: 'When an attempt was last answered with 2xx.' })),
  lastFailureAt: nullable(time({ description: 'When an attempt last failed.' })),
  exhaustedInARow: Type.Integer({
    minimum: 0,
    description: 'Deliveries that failed for good since the last success.',
  }),
  previousSecretExpiresAt: nullable(
    time({ description: 'Until when deliveries carry the signature of the secret before, too.' }),
  ),
  createdAt: time({ description: 'When it was registered.' }),
  updatedAt: time({ description: 'When its settings or its state last changed.' }),
};

export const Webhook = strictObject(fields, {
  title: 'Webhook',
  description: 'A registered receiver of events.',
});
export type Webhook = Static<typeof Webhook>;

export const CreatedWebhook = strictObject(
  {
    ...fields,
    secret: Type.String({
      description: 'Shown this once. Deliveries are signed with it.',
      examples: ['whsec_wc7bgfvQ6CEZfE0Lw1rE3dXYZ0123456789abcdefgh='],
    }),
  },
  { title: 'CreatedWebhook', description: 'The new webhook and its secret.' },
);
export type CreatedWebhook = Static<typeof CreatedWebhook>;

export const Attempt = strictObject(
  {
    number: Type.Integer({ minimum: 1, description: 'Counted from 1 within the delivery.' }),
    trigger: Type.Enum(['event', 'test', 'redelivery'], {
      type: 'string',
      description: 'Why it was made.',
    }),
    startedAt: time({ description: 'When it began.' }),
    durationMs: Type.Integer({ minimum: 0, description: 'How long it took, in milliseconds.' }),
    statusCode: nullable(
      Type.Integer({ description: 'What the receiver answered; null: it did not.' }),
    ),
    error: nullable(
      Type.Enum(['dns', 'connect', 'tls', 'timeout', 'blocked', 'reset', 'interrupted'], {
        type: 'string',
        description:
          'Why there was no answer. blocked: the address is one that must not be called. interrupted: the service stopped meanwhile.',
      }),
    ),
    responseHeaders: nullable(
      Type.Record(Type.String(), Type.String(), { description: 'What the receiver sent along.' }),
    ),
    responseBody: nullable(Type.String({ description: 'The first 4 KiB, as text.' })),
  },
  { title: 'Attempt', description: 'One try to deliver.' },
);
export type Attempt = Static<typeof Attempt>;

const deliveryFields = {
  id: uuid({ description: 'The same over all attempts; also the header X-Service-Delivery.' }),
  webhookId: uuid({ description: 'To which webhook it goes.' }),
  event: Type.String({ description: 'The name of the event.', examples: ['org.created'] }),
  eventId: uuid({ description: 'Which event it tells of; the same for every webhook.' }),
  status: Type.Enum(['pending', 'succeeded', 'failed', 'cancelled'], {
    type: 'string',
    description:
      'failed: no attempt is left. cancelled: the webhook or its permission ended before it could succeed.',
  }),
  attemptCount: Type.Integer({ minimum: 0, description: 'Attempts made so far.' }),
  nextAttemptAt: nullable(time({ description: 'When the next attempt is due; null: none is.' })),
  createdAt: time({ description: 'When it was queued.' }),
  completedAt: nullable(time({ description: 'When it ended; null: it is pending.' })),
};

export const Delivery = strictObject(deliveryFields, {
  title: 'Delivery',
  description: 'What was, or is to be, sent to a webhook.',
});
export type Delivery = Static<typeof Delivery>;

export const DeliveryDetail = strictObject(
  {
    ...deliveryFields,
    body: nullable(
      Type.String({
        description:
          'The exact bytes that are sent, as text. Null once the app may no longer have the event.',
      }),
    ),
    attempts: Type.Array(Attempt, {
      description: `What was tried, oldest first: the last ${attemptsShownMax} where it was sent again more often.`,
      maxItems: attemptsShownMax,
    }),
  },
  { title: 'DeliveryDetail', description: 'A delivery with its body and its attempts.' },
);
export type DeliveryDetail = Static<typeof DeliveryDetail>;
