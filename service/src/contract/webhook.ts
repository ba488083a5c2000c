import { Type, type Static } from 'typebox';
import { nullable, strictObject, time, uuid } from './shapes.ts';

const eventNames = Type.Array(Type.String({ examples: ['org.created'] }));

const fields = {
  id: uuid(),
  url: Type.String({ examples: ['https://example.org/hooks'] }),
  description: nullable(Type.String()),
  events: nullable({
    ...eventNames,
    description: 'Null: every event that the app may have, later ones included.',
  }),
  active: Type.Boolean(),
  deactivatedAt: nullable(time()),
  deactivatedReason: nullable(
    Type.Enum(['failing', 'gone', 'owner'], {
      type: 'string',
      description:
        'failing: deliveries failed in a row. gone: the receiver answers 410. owner: switched off.',
    }),
  ),
  lastSuccessAt: nullable(time()),
  lastFailureAt: nullable(time()),
  exhaustedInARow: Type.Integer({
    minimum: 0,
    description: 'Deliveries that failed for good since the last success.',
  }),
  previousSecretExpiresAt: nullable(time()),
  createdAt: time(),
  updatedAt: time(),
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
    number: Type.Integer({ minimum: 1 }),
    trigger: Type.Enum(['event', 'test', 'redelivery'], { type: 'string' }),
    startedAt: time(),
    durationMs: Type.Integer({ minimum: 0 }),
    statusCode: nullable(Type.Integer()),
    error: nullable(
      Type.Enum(['dns', 'connect', 'tls', 'timeout', 'blocked', 'reset', 'interrupted'], {
        type: 'string',
      }),
    ),
    responseHeaders: nullable(Type.Record(Type.String(), Type.String())),
    responseBody: nullable(Type.String({ description: 'The first 4 KiB, as text.' })),
  },
  { title: 'Attempt', description: 'One try to deliver.' },
);
export type Attempt = Static<typeof Attempt>;

const deliveryFields = {
  id: uuid({ description: 'The same over all attempts; also the header X-Service-Delivery.' }),
  webhookId: uuid(),
  event: Type.String({ examples: ['org.created'] }),
  eventId: uuid(),
  status: Type.Enum(['pending', 'succeeded', 'failed', 'cancelled'], { type: 'string' }),
  attemptCount: Type.Integer({ minimum: 0 }),
  nextAttemptAt: nullable(time()),
  createdAt: time(),
  completedAt: nullable(time()),
};

export const DeliveryDetail = strictObject(
  {
    ...deliveryFields,
    body: Type.String({ description: 'The exact bytes that were sent, as text.' }),
    attempts: Type.Array(Attempt),
  },
  { title: 'DeliveryDetail', description: 'A delivery with its body and its attempts.' },
);
export type DeliveryDetail = Static<typeof DeliveryDetail>;
