/**
 * POST /events publishes what happened on the platform. A repeated request with the same idempotency key publishes
 * once.
 */
import { Type, type Static } from 'typebox';
import { exampleId, exampleTime } from '../../contract/examples.ts';
import { envelope } from '../../contract/envelope.ts';
import { nullable, slug, strictObject, uuid } from '../../contract/shapes.ts';
import type { Transaction } from '../../database/database.ts';
import { publishEvent, type Publication } from '../../directory/publish-event.ts';
import { publishOnce, type PublishedOnce } from '../../directory/publish-once.ts';
import { invalid, ServiceError, type Issue } from '../../errors.ts';
import { publishableEvents } from '../../events/catalogue.ts';
import { keptDays } from '../../events/idempotency-keys.ts';
import { oneOf } from '../responses.ts';
import { operation } from './route.ts';

/** The usual limit elsewhere, and enough for any id; visible ASCII, so that a header can hold it. */
const idempotencyKey = (description: string) =>
  Type.String({
    minLength: 1,
    maxLength: 255,
    pattern: '^[!-~]+$',
    description,
    examples: ['application-1042'],
  });

const PublishHeaders = Type.Object({
  'idempotency-key': Type.Optional(idempotencyKey('The same as `id`, in a header.')),
});

const Publish = strictObject(
  {
    id: Type.Optional(
      idempotencyKey(
        `Your own name for this publication, at most 255 characters. For ${keptDays} days the same name and content are the same event.`,
      ),
    ),
    event: Type.Enum(publishableEvents, { type: 'string', description: 'Which event.' }),
    org: Type.Optional(
      nullable(slug({ description: 'The organisation that it is about, where it is about one.' })),
    ),
    alliance: Type.Optional(
      nullable(
        slug({
          description: 'The alliance that it is about, where it is about one.',
          examples: ['northern-league'],
        }),
      ),
    ),
    data: Type.Optional(
      Type.Unsafe<object | null>({
        type: ['object', 'null'],
        additionalProperties: true,
        description:
          "Of an organisation's or alliance's own event, what happened: its inner object, without the ids and names that the service adds. Nothing for `org.created` and `alliance.created`, which the service renders.",
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
    id: uuid({ description: 'Of the event; the `eventId` of its deliveries.' }),
    event: Type.Enum(publishableEvents, { type: 'string', description: 'Its name.' }),
  },
  { title: 'PublishedEvent', description: 'An event that is recorded, and is being delivered.' },
);

export const publishOperation = operation({
  operationId: 'publishEvent',
  method: 'POST',
  path: '/events',
  summary: 'Publish an event',
  description:
    'Records an event, which is then delivered to every webhook that may have it. With `id` or the header `Idempotency-Key` (one of them, or both the same) it may be sent again whenever its answer was lost: the answer is the same, with the header `Idempotent-Replayed: true`, and nothing is recorded twice. The same key with another content is a `conflict`.',
  headers: PublishHeaders,
  body: Publish,
  returns: { 201: 'It is recorded.' },
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
      .catch(inBody);
    if (outcome.kind === 'taken') throw taken();
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

/** The faults, by their path in the body. */
function inBody(error: unknown): never {
  const issues = error instanceof ServiceError ? error.details['issues'] : undefined;
  if (!issues) throw error;
  throw invalid(
    ...(issues as Issue[]).map(({ path, message }) => ({ path: `body.${path}`, message })),
  );
}

function taken(): ServiceError {
  return new ServiceError(
    'conflict',
    'The id was used before, for something else; give every publication its own.',
  );
}
