/** The requests and responses of POST /events: one event, or several with a result for each. */
import { Type } from 'typebox';
import { ErrorObject } from '../../contract/envelope.ts';
import { exampleTime } from '../../contract/examples.ts';
import { idempotencyKey, nullable, slug, strictObject, uuid } from '../../contract/shapes.ts';
import { publishableEvents } from '../../events/catalogue.ts';
import { idempotencyKeyDays } from '../../events/idempotency-keys.ts';

const exampleKey = 'application-1042';

export const PublishHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    idempotencyKey(
      'Use this header or `id`. It is refused with several events, which have an `id` each.',
      exampleKey,
    ),
  ),
});

export const example = {
  id: exampleKey,
  event: 'application.created',
  org: 'acme-corporation',
  data: { id: 'a-1042', applicantHandle: 'wanderer', submittedAt: exampleTime },
};

export const Publish = strictObject(
  {
    id: Type.Optional(
      idempotencyKey(
        `An idempotency key of at most 255 characters. Requests with the same key and content within ${idempotencyKeyDays} days publish one event.`,
        exampleKey,
      ),
    ),
    event: Type.Enum(publishableEvents, { type: 'string', description: 'The name of the event.' }),
    org: Type.Optional(
      nullable(
        slug({ description: 'The slug of the organisation that the event is about, if any.' }),
      ),
    ),
    alliance: Type.Optional(
      nullable(
        slug({
          description: 'The slug of the alliance that the event is about, if any.',
          examples: ['northern-league'],
        }),
      ),
    ),
    data: Type.Optional(
      Type.Unsafe<object | null>({
        type: ['object', 'null'],
        additionalProperties: true,
        description:
          "The inner object of an organisation's or alliance's event, without the ids and names that the service adds. Omit it for `org.created` and `alliance.created`, whose data the service creates.",
        examples: [{ id: 'a-1042', applicantHandle: 'wanderer', submittedAt: exampleTime }],
      }),
    ),
  },
  {
    title: 'Publication',
    description: 'An event to publish.',
    examples: [example],
  },
);

const published = {
  id: uuid({ description: 'The id of the event: the `eventId` of its deliveries.' }),
  event: Type.Enum(publishableEvents, { type: 'string', description: 'The name of the event.' }),
};
export const PublishedEvent = strictObject(published, {
  title: 'PublishedEvent',
  description: 'A published event.',
});

const PublicationResult = strictObject(
  {
    ...published,
    replayed: Type.Boolean({
      description: 'Whether an earlier publication with the same `id` recorded the event.',
    }),
  },
  { title: 'PublicationResult', description: 'A publication that was accepted.' },
);
const PublicationFailure = strictObject(
  { error: ErrorObject },
  { title: 'PublicationFailure', description: 'A publication that was refused.' },
);

const count = (description: string) => Type.Integer({ minimum: 0, description });
export const PublicationResults = strictObject(
  {
    published: count('The number of events that were recorded.'),
    repeated: count('The number of events that were recorded before.'),
    failed: count('The number of publications that were refused.'),
    results: Type.Array(Type.Union([PublicationResult, PublicationFailure]), {
      description: 'A result for each publication, in their order.',
    }),
  },
  { title: 'PublicationResults', description: 'The results of several publications.' },
);
