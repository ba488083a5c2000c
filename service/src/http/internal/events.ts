/**
 * POST /events publishes events of the platform: one, or several in an array or as lines. Publications with the same
 * idempotency key record one event. Next: `directory/publish-in-groups.ts`.
 */
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Type, type Static } from 'typebox';
import { envelope, errorBody, ErrorObject } from '../../contract/envelope.ts';
import { exampleId, exampleTime } from '../../contract/examples.ts';
import { createValidator } from '../../contract/validate.ts';
import { readNdjson } from '../../directory/import-source.ts';
import type { KeyedPublication } from '../../directory/publish-in-groups.ts';
import type { Published } from '../../directory/publications.ts';
import { invalid, ServiceError, type Issue } from '../../errors.ts';
import { readTraceparent } from '../../runtime/tracing.ts';
import { refuseEncoding } from '../json-bodies.ts';
import { mountOperations, type Surface } from '../operations.ts';
import { oneOf } from '../responses/responses.ts';
import { reportError } from '../responses/send-error.ts';
import { operation, type InternalContext, type RouteDependencies } from './surface.ts';
import {
  idempotencyKey,
  nullable,
  slug,
  strictObject,
  uuid,
  enumOf,
  count,
  boolean,
  text,
} from '../../contract/shapes.ts';
import { publishableEvents } from '../../events/catalogue.ts';
import { idempotencyKeyDays } from '../../events/idempotency-keys.ts';

const exampleKey = 'application-1042';

const PublishHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    idempotencyKey(
      'Use this header or `id`. It is refused with several events, which have an `id` each.',
      exampleKey,
    ),
  ),
});

const example = {
  id: exampleKey,
  event: 'application.created',
  org: 'acme-corporation',
  data: { id: 'a-1042', applicantHandle: 'wanderer', submittedAt: exampleTime },
};

const Publish = strictObject(
  {
    id: Type.Optional(
      idempotencyKey(
        `An idempotency key of at most 255 characters. Requests with the same key and content within ${idempotencyKeyDays} days publish one event.`,
        exampleKey,
      ),
    ),
    event: enumOf(publishableEvents, 'The name of the event.'),
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
  event: enumOf(publishableEvents, 'The name of the event.'),
};
const PublishedEvent = strictObject(published, {
  title: 'PublishedEvent',
  description: 'A published event.',
});

const PublicationResult = strictObject(
  {
    ...published,
    replayed: boolean('Whether an earlier publication with the same `id` recorded the event.'),
  },
  { title: 'PublicationResult', description: 'A publication that was accepted.' },
);
const PublicationFailure = strictObject(
  { error: ErrorObject },
  { title: 'PublicationFailure', description: 'A publication that was refused.' },
);

const PublicationResults = strictObject(
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

/** Stored in a fraction of a second; more events need several requests. */
export const eventsMax = 1_000;
/** Allows 8 KiB per event, many times the average. */
export const bytesMax = 8 * 1024 * 1024;
const ndjson = 'application/x-ndjson';

/** A separate scope, because of its routes only this one also takes lines. */
export async function registerEvents(
  v1: FastifyInstance,
  surface: Surface<InternalContext>,
): Promise<void> {
  await v1.register(async (events) => {
    events.addContentTypeParser(ndjson, { parseAs: 'buffer' }, (request, body, done) =>
      done(refuseEncoding(request), body),
    );
    mountOperations(events, surface, 'Events', [publishEvent]);
  });
}

const resultsResponse = oneOf(PublicationResults, 'PublicationResultsResponse', {
  published: 1,
  repeated: 0,
  failed: 0,
  results: [{ id: exampleId, event: 'application.created', replayed: false }],
});
const publishedResponse = oneOf(PublishedEvent, 'PublishedEventResponse', {
  id: exampleId,
  event: 'application.created',
});

const publishEvent = operation({
  operationId: 'publishEvent',
  method: 'POST',
  path: '/events',
  summary: 'Publish events',
  description: `Records an event and delivers it to every webhook that can receive it. Send \`id\` or the header \`Idempotency-Key\` (one of them, or both with the same value) to retry safely: a repeated request records nothing and returns the same response, with the header \`Idempotent-Replayed: true\`. The same key with different content is a \`conflict\`.

To publish up to ${eventsMax} events in order, send an array or NDJSON. The response is 200 with a result for each; an event that is refused does not affect the others. Give each event an \`id\` to retry safely.`,
  headers: PublishHeaders,
  body: {
    content: {
      'application/json': {
        schema: Type.Unsafe({
          anyOf: [
            Publish,
            Type.Array(Publish, {
              minItems: 1,
              maxItems: eventsMax,
              description: 'The events to publish, in order.',
            }),
          ],
          examples: [example],
        }),
      },
      [ndjson]: {
        schema: text(
          `NDJSON: up to ${eventsMax} lines, each an event to publish.`,
          `${JSON.stringify(example)}\n`,
        ),
      },
    },
  },
  // Each publication is validated separately, so that a bad one fails alone.
  ownBody: { bytesMax },
  returns: { 200: 'Each event has a result.', 201: 'The event was recorded.' },
  response: (status) => (status === 200 ? resultsResponse : publishedResponse),
  errors: ['not_found', 'conflict'],
  async run(context) {
    const received = await readSeveral(context.body);
    return received === null
      ? publishOne(context, context.request, context.reply)
      : publishSeveral(context, context.request, received);
  },
});

type Received = { value: unknown } | { fault: string };

/** Returns the publications of an array or of lines, or null if the body is no list. */
async function readSeveral(body: unknown): Promise<Received[] | null> {
  if (Array.isArray(body)) return requireCount(body.map((value: unknown) => ({ value })));
  if (!Buffer.isBuffer(body)) return null;
  const lines: Received[] = [];
  for await (const line of readNdjson(Readable.from([body]))) lines.push(line);
  return requireCount(lines);
}

function requireCount(received: Received[]): Received[] {
  if (received.length === 0)
    throw invalid({ path: 'body', message: 'must have at least one event' });
  if (received.length <= eventsMax) return received;
  throw new ServiceError(
    'payload_too_large',
    `A request can have at most ${eventsMax} events. Send the others in further requests.`,
    { details: { eventsMax } },
  );
}

async function publishOne(
  { publisher, publicUrl }: RouteDependencies,
  { body, headers }: FastifyRequest,
  reply: FastifyReply,
): Promise<object> {
  const read = validate(body, 'body');
  if (!read.ok) throw invalid(...read.issues);
  const { id, event } = read.value;
  const key = requireOneKey(id, headers['idempotency-key'] as string | undefined);
  const [result] = await publisher.publish([
    toPublication(read.value, key, { publicUrl, traceparent: readTraceparent(headers) }),
  ]);
  if (!result || result.kind === 'failed') throw withPaths(result?.error, 'body');
  if (result.kind === 'repeated') reply.header('idempotent-replayed', 'true');
  reply.code(201);
  return envelope({ id: result.id, event });
}

function requireOneKey(id: string | undefined, header: string | undefined): string | null {
  if (id !== undefined && header !== undefined && id !== header)
    throw invalid({
      path: 'body.id',
      message: 'differs from the header Idempotency-Key; send one of them, or both the same',
    });
  return id ?? header ?? null;
}

type Result = Static<typeof PublicationResults>['results'][number];

async function publishSeveral(
  { publisher, publicUrl }: RouteDependencies,
  request: FastifyRequest,
  received: Received[],
): Promise<object> {
  refuseHeader(request);
  const read = received.map(readPublication);
  const traceparent = readTraceparent(request.headers);
  const bodies = read.flatMap((each) => ('body' in each ? [each.body] : []));
  const stored = await publisher.publish(
    bodies.map((body) => toPublication(body, body.id ?? null, { publicUrl, traceparent })),
  );
  const describe = errorDescriber(request);
  const next = stored.values();
  const results = read.map((each, place): Result => {
    if ('error' in each) return describe(each.error);
    const result = next.next().value as Published;
    if (result.kind === 'failed') return describe(withPaths(result.error, `body.${place}`));
    return { id: result.id, event: each.body.event, replayed: result.kind === 'repeated' };
  });
  return envelope(toResults(results));
}

/** Each publication has its own key, its `id`. */
function refuseHeader({ headers }: FastifyRequest): void {
  if (headers['idempotency-key'] !== undefined)
    throw invalid({
      path: 'headers.idempotency-key',
      message: 'is only allowed with one event; give each event an id instead',
    });
}

function toResults(results: Result[]): Static<typeof PublicationResults> {
  const accepted = results.filter((result) => 'id' in result);
  const repeated = accepted.filter(({ replayed }) => replayed).length;
  return {
    published: accepted.length - repeated,
    repeated,
    failed: results.length - accepted.length,
    results,
  };
}

type Body = Static<typeof Publish>;

const validate = createValidator(Publish);

function readPublication(received: Received, place: number): { body: Body } | { error: unknown } {
  const path = `body.${place}`;
  if ('fault' in received) return { error: invalid({ path, message: received.fault }) };
  const result = validate(received.value, path);
  return result.ok ? { body: result.value } : { error: invalid(...result.issues) };
}

function toPublication(
  body: Body,
  key: string | null,
  context: Pick<KeyedPublication, 'publicUrl' | 'traceparent'>,
): KeyedPublication {
  const { event, org = null, alliance = null, data = null } = body;
  return { name: event, org, alliance, data, key, ...context };
}

/** Puts `path` before the paths of the issues, which start at the publication. */
function withPaths(error: unknown, path: string): unknown {
  const issues = error instanceof ServiceError ? error.details['issues'] : undefined;
  if (!issues) return error;
  return invalid(
    ...(issues as Issue[]).map(({ path: field, message }) => ({
      path: `${path}.${field}`,
      message,
    })),
  );
}

/** Logs a failure once if several publications have it. */
function errorDescriber(request: FastifyRequest) {
  const known = new Map<unknown, ServiceError>();
  return (error: unknown): Pick<ReturnType<typeof errorBody>, 'error'> => {
    const reported = known.get(error) ?? reportError(error, request);
    known.set(error, reported);
    const { code, message, details } = reported;
    return { error: errorBody(code, message, details).error };
  };
}
