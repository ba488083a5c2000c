/** GET /events lets a client pull the events that webhooks push, GET /events/stream sends them as they come. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { cursorList, envelope, meta } from '../../contract/envelope.ts';
import { examples, exampleId, exampleTime } from '../../contract/examples.ts';
import { noNul, strictObject, time, uuid, enumOf } from '../../contract/shapes.ts';
import type { Usage } from '../../access/usage.ts';
import { sql, type Database } from '../../database/database.ts';
import { invalid } from '../../errors.ts';
import { listedEvents, listedNames } from '../../events/catalogue.ts';
import { createCursors, type Cursors } from '../../events/cursors.ts';
import { decodeCursor, pullEvents, type EventPage } from '../../events/pull-events.ts';
import { callerOf } from '../admission/admit.ts';
import { addressBucket } from '../admission/rate-limit.ts';
import { mountOperations, operationFor } from '../operations.ts';
import { entryOf } from '../responses/response-cache.ts';
import {
  EventStreams,
  heartbeatSeconds,
  streamsPerAddressMax,
  streamsPerAppMax,
  toJson,
  type StreamDependencies,
} from './event-streams.ts';
import { keyedSurface } from './surface.ts';

const onlyThis = Type.Optional(enumOf(listedEvents, 'Return only this event.'));
const ofWebhook = Type.Optional(
  uuid({
    description:
      'The id of a webhook of the app. Return only what it is sent now: by its events and filters, with the opt-in events that it names, also while it is deactivated.',
  }),
);
const EventQuery = strictObject({
  after: Type.Optional(
    Type.String({
      ...noNul,
      description:
        'The `nextCursor` of an earlier response to this app. Defaults to the oldest stored event.',
    }),
  ),
  newest: Type.Boolean({
    default: false,
    description:
      'Return the newest events instead of the oldest, in the same order. Not together with `after`.',
  }),
  limit: Type.Integer({
    minimum: 1,
    maximum: 100,
    default: 20,
    description: 'The maximum number of entries on a page.',
  }),
  event: onlyThis,
  webhook: ofWebhook,
});
const StreamQuery = strictObject({
  after: Type.Optional(
    Type.String({
      ...noNul,
      description:
        'An `id` of the stream, or a `nextCursor` of `GET /events`. Defaults to the newest event: only later ones are sent.',
    }),
  ),
  event: onlyThis,
  webhook: ofWebhook,
});
const StreamHeaders = Type.Object({
  'last-event-id': Type.Optional(
    Type.String({
      ...noNul,
      description:
        'The last `id` that was read. Clients that reconnect send it; it replaces `after`.',
    }),
  ),
});

const EventRecord = strictObject(
  {
    id: uuid({ description: 'The id of the event: the `eventId` of its deliveries.' }),
    event: Type.String({
      description: `The name of the event. ${listedNames}`,
      examples: [...listedEvents],
    }),
    createdAt: time({ description: 'When the event happened.' }),
    data: Type.Object(
      {},
      {
        additionalProperties: true,
        description: 'The same `data` as in deliveries of this event.',
      },
    ),
  },
  { title: 'EventRecord', description: 'An event.' },
);

const example = {
  ...envelope([
    { id: exampleId, event: 'org.created', createdAt: exampleTime, data: examples.organisation },
  ]),
  pagination: { limit: 20, nextCursor: 'q0F1m8k2yC7b5RrXwJ4TzD9sLhVnE6Gp', hasMore: false },
};

export type EventDependencies = StreamDependencies & {
  /** As in SECRET_KEY, newest first. */
  secretKeys: readonly Buffer[];
};

export function registerEvents(
  app: FastifyInstance,
  { secretKeys, ...dependencies }: EventDependencies,
): void {
  const { database, usage } = dependencies;
  const cursors = createCursors(secretKeys);
  const streams = new EventStreams({ ...dependencies, cursors });
  const surface = {
    ...keyedSurface('read:events'),
    contextOf: (request: FastifyRequest) => ({
      database,
      cursors,
      usage,
      streams,
      caller: callerOf(request),
    }),
  };
  mountOperations(app, surface, 'Events', [listEvents]);
  const streaming = { ...surface.config, isStream: true };
  mountOperations(app, { ...surface, config: streaming, conditional: false }, 'Events', [
    streamEvents,
  ]);
  // Before the server waits for requests in flight.
  app.addHook('preClose', async () => streams.close());
}

type EventContext = {
  database: Database;
  cursors: Cursors;
  usage: Usage;
  streams: EventStreams;
  caller: ReturnType<typeof callerOf>;
};

const listEvents = operationFor<EventContext>()({
  operationId: 'listEvents',
  method: 'GET',
  path: '/events',
  summary: 'List events',
  description:
    'Returns the events that this app can receive, except for opt-in events, in the order in which they were sent. Continue from `nextCursor` to miss none. Events of its organisation or alliance are included from the time when the app was bound to it.',
  query: EventQuery,
  returns: { 200: 'The events.' },
  response: { schema: cursorList(EventRecord, 'EventList'), example },
  async run({ database, cursors, usage, caller, query }) {
    const { after = null, newest, limit, event = null, webhook: webhookId = null } = query;
    if (newest && after !== null)
      throw invalid({ path: 'query.newest', message: 'must not be given together with after' });
    if (webhookId !== null) await requireOwn(database, caller.appId, webhookId);
    const options = { after, newest, limit, event, webhookId };
    const page = await pullEvents(database, cursors, caller.appId, options);
    usage.addEvents(caller, page.events.length);
    return entryOf(0, Buffer.from(render(page, limit)));
  },
});

/** Throws `validation_failed`, also for another app's webhook. */
async function requireOwn(database: Database, appId: string, webhookId: string): Promise<void> {
  const { rows } = await sql`
    select from webhooks where id = ${webhookId} and app_id = ${appId}
  `.execute(database);
  if (rows.length === 0)
    throw invalid({ path: 'query.webhook', message: 'must be the id of a webhook of the app' });
}

const streamExample = `id: q0F1m8k2yC7b5RrXwJ4TzD9sLhVnE6Gp
event: org.created
data: ${JSON.stringify({ id: exampleId, event: 'org.created', createdAt: exampleTime, data: { slug: 'acme-corporation' } })}

`;

const streamEvents = operationFor<EventContext>()({
  operationId: 'streamEvents',
  method: 'GET',
  path: '/events/stream',
  summary: 'Stream events',
  description: `Sends the same events as \`GET /events\` as they come, as server-sent events: first those after the cursor, if there is one. Each has its cursor as \`id\`, its name as \`event\`, and as \`data\` what an entry of \`GET /events\` has. A comment every ${heartbeatSeconds} seconds shows that the stream is alive. The last event is \`stream.ended\`, with a \`code\` and a \`message\`, if the service ends the stream. An app can have ${streamsPerAppMax} streams and an address ${streamsPerAddressMax}.`,
  query: StreamQuery,
  headers: StreamHeaders,
  returns: { 200: 'The events, without end.' },
  response: {
    schema: Type.String({ description: 'Server-sent events.' }),
    example: streamExample,
    mediaType: 'text/event-stream',
  },
  async run({ database, cursors, streams, caller, query, request, reply }) {
    const { after: fromQuery, event = null, webhook: webhookId = null } = query;
    if (webhookId !== null) await requireOwn(database, caller.appId, webhookId);
    const resumed = request.headers['last-event-id'];
    const decode = (cursor: string, path: string) =>
      decodeCursor(cursors, caller.appId, cursor, path);
    const after =
      typeof resumed === 'string' && resumed !== ''
        ? decode(resumed, 'headers.last-event-id')
        : fromQuery === undefined
          ? null
          : decode(fromQuery, 'query.after');
    const headers = {
      ...reply.getHeaders(),
      'content-type': 'text/event-stream; charset=utf-8',
      // A proxy that compresses or buffers would keep events back.
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
    };
    if (request.method === 'HEAD') {
      // Fastify would say that a stream has no bytes.
      reply.hijack();
      reply.raw.writeHead(200, headers as Record<string, string>).end();
      return reply;
    }
    const address = addressBucket(request.ip);
    const begin = await streams.open(reply.raw, {
      socket: request.raw.socket,
      caller,
      address,
      event,
      webhookId,
      after,
    });
    reply.hijack();
    begin(headers);
    return reply;
  },
});

/** Builds the JSON from text, because `data` is JSON text already and parsing it would change its bytes. */
function render({ events, nextCursor, hasMore }: EventPage, limit: number): string {
  const pagination = { limit, nextCursor, hasMore };
  return `{"success":true,"data":[${events.map(toJson).join(',')}],"meta":${JSON.stringify(meta)},"pagination":${JSON.stringify(pagination)}}`;
}
