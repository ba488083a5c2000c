import { Type, type Static } from 'typebox';
import { keptBytesMax, webhookFormats } from './delivery-rules.ts';
import {
  nullable,
  strictObject,
  suspensionFields,
  time,
  uuid,
  state,
  enumOf,
  count,
  boolean,
  text,
} from './shapes.ts';

/** Redeliveries are unlimited, and each attempt takes up to 12 KiB. */
export const attemptsShownMax = 100;

/** docs/reference/deliveries.md#health: the first that applies. */
export const webhookHealths = [
  'suspended',
  'deactivated',
  'failing',
  'retrying',
  'new',
  'healthy',
] as const;
export type WebhookHealth = (typeof webhookHealths)[number];

const eventNames = Type.Array(Type.String({ examples: ['org.created'] }));

const fields = {
  id: uuid(),
  url: text(
    'The URL that deliveries are sent to. Of a chat channel, only its origin: the rest authorises whoever has it, and is never shown again.',
    'https://example.org/hooks',
  ),
  // Optional, because processes of 1.0.0 leave it out.
  format: Type.Optional(
    state(
      webhookFormats,
      'What a request looks like. `json`: the signed event. `discord`, `slack` and `teams`: a message for a channel of that platform. It never changes.',
    ),
  ),
  description: nullable(text('A description of the webhook.', 'Announces new organisations')),
  events: nullable({
    ...eventNames,
    description:
      'The names of the events to send. Null for all events that the app can receive, including future ones, except those marked opt-in.',
  }),
  // Optional, because processes of 1.0.0 leave it out.
  filters: Type.Optional(
    nullable(
      Type.Record(Type.String(), Type.Unknown(), {
        description:
          'Filters by the name of an event: only events that match are sent. Events that are not named pass. Null for none.',
      }),
    ),
  ),
  active: boolean('Whether the webhook receives events.'),
  // Optional, because processes of 1.0.0 leave it out.
  health: Type.Optional(
    state(
      webhookHealths,
      'The first that applies. `suspended`: by the operator. `deactivated`: see `deactivatedReason`. `failing`: deliveries failed after all attempts, and none has succeeded since. `retrying`: the last attempt failed, and the delivery is tried again. `new`: no attempt has ended yet. `healthy`: the last attempt succeeded. Tests and probes do not count.',
    ),
  ),
  deactivatedAt: nullable(time({ description: 'When the webhook was deactivated.' })),
  deactivatedReason: nullable(
    state(
      ['failing', 'gone', 'owner'],
      '`failing`: too many deliveries in a row failed. `gone`: the receiver responded with 410, or the chat channel or its webhook was deleted. `owner`: the owner deactivated it.',
    ),
  ),
  ...suspensionFields('the webhook or its app'),
  selfHealing: boolean(
    'Whether the service probes the webhook after it was deactivated as `failing`, and activates it when it responds again.',
  ),
  replayAfterHealing: boolean(
    'Whether what the webhook missed is replayed when probes activate it.',
  ),
  lastSuccessAt: nullable(time({ description: 'When an attempt last succeeded.' })),
  lastFailureAt: nullable(time({ description: 'When an attempt last failed.' })),
  exhaustedInARow: count('The number of failed deliveries since the last success.'),
  nextProbeAt: nullable(
    time({
      description:
        'When the next probe of the webhook is due: in the past while the service cannot make it, for example because it cannot read the secret. Null if it does not probe it.',
    }),
  ),
  previousSecretExpiresAt: nullable(
    time({
      description:
        'When the previous secret expires. Until then, deliveries are signed with both secrets.',
    }),
  ),
  // Optional, as `health` is.
  headerNames: Type.Optional(
    Type.Array(Type.String({ examples: ['Authorization'] }), {
      description: 'The names of the headers that you added. Their values are not returned.',
    }),
  ),
  createdAt: time({ description: 'When the webhook was created.' }),
  updatedAt: time({ description: 'When the settings or the state of the webhook last changed.' }),
};

export const Webhook = strictObject(fields, {
  title: 'Webhook',
  description: 'A webhook.',
});
export type Webhook = Static<typeof Webhook>;

export const CreatedWebhook = strictObject(
  {
    ...fields,
    secret: text(
      'The secret that signs deliveries. Only this response has it.',
      'whsec_wc7bgfvQ6CEZfE0Lw1rE3dXYZ0123456789abcdefgh=',
    ),
  },
  { title: 'CreatedWebhook', description: 'The new webhook and its secret.' },
);
export type CreatedWebhook = Static<typeof CreatedWebhook>;

export const Attempt = strictObject(
  {
    number: Type.Integer({
      minimum: 1,
      description: 'The number of the attempt within the delivery, starting at 1.',
    }),
    trigger: enumOf(
      ['event', 'test', 'redelivery'],
      'What caused the attempt. `test`: you tested the webhook, or the service probed it.',
    ),
    startedAt: time({ description: 'When the attempt started.' }),
    durationMs: count('The duration of the attempt in milliseconds.'),
    statusCode: nullable(
      Type.Integer({ description: 'The HTTP status of the response. Null if there was none.' }),
    ),
    error: nullable(
      state(
        ['dns', 'connect', 'tls', 'timeout', 'blocked', 'reset', 'interrupted'],
        'Why there was no response. `blocked`: the address is not allowed. `interrupted`: the service stopped during the attempt.',
      ),
    ),
    errorCause: nullable(
      state(
        [
          'refused',
          'unreachable',
          'not_tls',
          'tls_version',
          'certificate_expired',
          'certificate_not_yet_valid',
          'certificate_wrong_host',
          'certificate_incomplete',
          'certificate_untrusted',
          'client_certificate_required',
        ],
        'What is known of an error `connect` or `tls`. `certificate_incomplete`: the intermediate certificates are missing, or nobody trusts the issuer. Null if nothing is known.',
      ),
    ),
    responseHeaders: nullable(
      Type.Record(Type.String(), Type.String(), { description: 'The headers of the response.' }),
    ),
    responseBody: nullable(
      Type.String({
        description: `The first ${keptBytesMax / 1024} KiB of the response body, as text.`,
      }),
    ),
  },
  { title: 'Attempt', description: 'An attempt to send a delivery.' },
);
export type Attempt = Static<typeof Attempt>;

const deliveryFields = {
  id: uuid({
    description:
      'The id of the delivery, the same for all attempts. Also sent as `X-Service-Delivery`.',
  }),
  webhookId: uuid({ description: 'The id of the webhook.' }),
  event: text('The name of the event.', 'org.created'),
  eventId: uuid({ description: 'The id of the event, the same for all webhooks.' }),
  status: state(
    ['pending', 'succeeded', 'failed', 'cancelled'],
    '`failed`: all attempts failed. `cancelled`: the webhook was deactivated, suspended or deleted, or the app lost access to the event.',
  ),
  attemptCount: count('The number of attempts so far.'),
  nextAttemptAt: nullable(
    time({ description: 'When the next attempt is due. Null if there is none.' }),
  ),
  createdAt: time({ description: 'When the delivery was queued.' }),
  completedAt: nullable(
    time({ description: 'When the delivery ended. Null while it is pending.' }),
  ),
};

export const Delivery = strictObject(deliveryFields, {
  title: 'Delivery',
  description: 'A delivery of an event to a webhook.',
});
export type Delivery = Static<typeof Delivery>;

export const DeliveryDetail = strictObject(
  {
    ...deliveryFields,
    body: nullable(
      Type.String({
        description:
          'The exact request body, as text: of a chat channel, its message. Null if the app may no longer receive the event.',
      }),
    ),
    attempts: Type.Array(Attempt, {
      description: `The last ${attemptsShownMax} attempts, oldest first.`,
      maxItems: attemptsShownMax,
    }),
  },
  { title: 'DeliveryDetail', description: 'A delivery with its body and its attempts.' },
);
export type DeliveryDetail = Static<typeof DeliveryDetail>;
