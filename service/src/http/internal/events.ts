/** POST /events publishes events of the platform. Requests with the same idempotency key publish one event. */
import { Type, type Static } from 'typebox';
import { exampleId, exampleTime } from '../../contract/examples.ts';
import { envelope } from '../../contract/envelope.ts';
import { nullable, slug, strictObject, uuid } from '../../contract/shapes.ts';
import type { Transaction } from '../../database/database.ts';
import { publishEvent, type Publication } from '../../directory/publish-event.ts';
import { publishOnce, type PublishedOnce } from '../../directory/publish-once.ts';
import { invalid, ServiceError, type Issue } from '../../errors.ts';
import { publishableEvents } from '../../events/catalogue.ts';
import { retentionDays } from '../../events/idempotency-keys.ts';
import { oneOf } from '../responses.ts';
import { operation } from './surface.ts';

/** Visible ASCII, so that a header can hold it. */
const idempotencyKey = (description: string) =>
  Type.String({
    minLength: 1,
    maxLength: 255,
    pattern: '^[!-~]+$',
    description,
    examples: ['application-1042'],
  });

const PublishHeaders = Type.Object({
  'idempotency-key': Type.Optional(idempotencyKey('Use this header or `id`.')),
});

const Publish = strictObject(
  {
    id: Type.Optional(
      idempotencyKey(
        `An idempotency key of at most 255 characters. Requests with the same key and content within ${retentionDays} days publish one event.`,
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
    examples: [
      {
        id: 'application-1042',
        event: 'application.created',
        org: 'acme-corporation',
        data: { id: 'a-1042', applicantHandle: 'wanderer', submittedAt: exampleTime },
      },
    ],
  },
);

const Published = strictObject(
  {
    id: uuid({ description: 'The id of the event: the `eventId` of its deliveries.' }),
    event: Type.Enum(publishableEvents, { type: 'string', description: 'The name of the event.' }),
  },
  { title: 'PublishedEvent', description: 'A published event.' },
);

export const publishOperation = operation({
  operationId: 'publishEvent',
  method: 'POST',
  path: '/events',
  summary: 'Publish an event',
  description:
    'Records an event and delivers it to every webhook that can receive it. Send `id` or the header `Idempotency-Key` (one of them, or both with the same value) to retry safely: a repeated request records nothing and returns the same response, with the header `Idempotent-Replayed: true`. The same key with different content is a `conflict`.',
  headers: PublishHeaders,
  body: Publish,
  returns: { 201: 'The event was recorded.' },
  response: oneOf(Published, 'PublishedEventResponse', {
    id: exampleId,
    event: 'application.created',
  }),
  errors: ['not_found', 'conflict'],
  async run({ writes, publicUrl, body, request, reply }) {
    const header = request.headers['idempotency-key'] as string | undefined;
    const key = requireOneKey(body.id, header);
    const publication = toPublication(body, publicUrl);
    const outcome = await writes
      .transaction()
      .execute((tx) => publish(tx, key, publication))
      .catch(throwWithBodyPaths);
    if (outcome.kind === 'taken') throw keyConflict();
    if (outcome.kind === 'repeated') reply.header('idempotent-replayed', 'true');
    return envelope({ id: outcome.id, event: body.event });
  },
});

function requireOneKey(id: string | undefined, header: string | undefined): string | null {
  if (id !== undefined && header !== undefined && id !== header)
    throw invalid({
      path: 'body.id',
      message: 'differs from the header Idempotency-Key; send one of them, or both the same',
    });
  return id ?? header ?? null;
}

function toPublication(body: Static<typeof Publish>, publicUrl: string): Publication {
  const { event, org = null, alliance = null, data = null } = body;
  return { name: event, org, alliance, data, publicUrl };
}

async function publish(
  tx: Transaction,
  key: string | null,
  publication: Publication,
): Promise<PublishedOnce> {
  if (key !== null) return publishOnce(tx, key, publication);
  return { kind: 'published', id: await publishEvent(tx, publication) };
}

/** Adds `body.` to the paths of the issues. */
function throwWithBodyPaths(error: unknown): never {
  const issues = error instanceof ServiceError ? error.details['issues'] : undefined;
  if (!issues) throw error;
  throw invalid(
    ...(issues as Issue[]).map(({ path, message }) => ({ path: `body.${path}`, message })),
  );
}

function keyConflict(): ServiceError {
  return new ServiceError(
    'conflict',
    'The id was used before with different content; use a new one for each publication.',
  );
}
