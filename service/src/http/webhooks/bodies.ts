/** The bodies, queries and specific responses of the webhook operations. */
import { Type } from 'typebox';
import { deleted, nullable, strictObject, time } from '../../contract/shapes.ts';
import { PageQuery } from '../../directory/list-query.ts';
import { subscribableEvents } from '../../events/catalogue.ts';
import {
  overlapSecondsDefault,
  overlapSecondsMax,
} from '../../webhooks/management/rotate-secret.ts';

const address = Type.String({
  minLength: 1,
  maxLength: 2048,
  description: 'Where to send: https, no credentials, no fragment.',
  examples: ['https://example.org/hooks'],
});
const events = Type.Array(
  Type.String({ minLength: 1, maxLength: 100, examples: ['org.created'] }),
  {
    minItems: 1,
    maxItems: 50,
    uniqueItems: true,
    description:
      'Which events. Without it: every event that the app may have, later ones included.',
  },
);
const note = Type.String({ maxLength: 500, description: 'A note for yourself.' });

export const NewWebhook = strictObject(
  {
    url: address,
    events: Type.Optional(nullable(events)),
    description: Type.Optional(nullable(note)),
  },
  {
    title: 'NewWebhook',
    description: 'A webhook to register.',
    examples: [
      {
        url: 'https://example.org/hooks',
        events: ['org.created'],
        description: 'Announces new organisations',
      },
    ],
  },
);

export const WebhookChanges = strictObject(
  {
    url: Type.Optional(address),
    events: Type.Optional(nullable(events)),
    description: Type.Optional(nullable(note)),
    active: Type.Optional(
      Type.Boolean({
        description:
          'True activates it again and clears the count of failures; false switches it off and ends what is pending.',
      }),
    ),
  },
  {
    title: 'WebhookChanges',
    description: 'What to change; what is left out stays.',
    minProperties: 1,
    examples: [{ active: true }],
  },
);

export const DeletedWebhook = deleted('Of the webhook that was.', {
  title: 'DeletedWebhook',
  description: 'Says that a webhook is gone.',
});

export const TestRequest = strictObject(
  {
    event: Type.Optional(
      nullable(
        Type.String({
          minLength: 1,
          maxLength: 100,
          description: 'An event whose sample the test is to hold.',
          examples: ['org.created'],
        }),
      ),
    ),
  },
  {
    title: 'WebhookTestRequest',
    description: 'What a test is to hold.',
    examples: [{ event: 'org.created' }],
  },
);

export const RotateRequest = strictObject(
  {
    overlapSeconds: Type.Integer({
      minimum: 0,
      maximum: overlapSecondsMax,
      default: overlapSecondsDefault,
      description: 'How long the old secret stays valid.',
    }),
  },
  {
    title: 'RotateSecretRequest',
    description: 'How to change over.',
    examples: [{ overlapSeconds: 3600 }],
  },
);

/** docs/reference/deliveries.md#redeliver-and-recover */
export const recoverDaysMax = 14;

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
