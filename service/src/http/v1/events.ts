/** GET /events lets a client pull the events that webhooks push. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { cursorList, envelope, meta } from '../../contract/envelope.ts';
import { examples, exampleId, exampleTime } from '../../contract/examples.ts';
import { noNul, strictObject, time, uuid } from '../../contract/shapes.ts';
import type { Usage } from '../../access/usage.ts';
import type { Database } from '../../database/database.ts';
import { listedEvents, listedNames } from '../../events/catalogue.ts';
import { createCursors, type Cursors } from '../../events/cursors.ts';
import { pullEvents, type EventPage } from '../../events/pull-events.ts';
import { callerOf } from '../admission/admit.ts';
import { mountOperations, operationFor } from '../operations.ts';
import { entryOf } from '../responses/response-cache.ts';
import { keyedSurface } from './surface.ts';

const EventQuery = Type.Object(
  {
    after: Type.Optional(
      Type.String({
        ...noNul,
        description:
          'The `nextCursor` of an earlier response to this app. Defaults to the oldest stored event.',
      }),
    ),
    limit: Type.Integer({
      minimum: 1,
      maximum: 100,
      default: 20,
      description: 'The maximum number of entries on a page.',
    }),
    event: Type.Optional(
      Type.Enum(listedEvents, { type: 'string', description: 'Return only this event.' }),
    ),
  },
  { additionalProperties: false },
);

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

export type EventDependencies = {
  database: Database;
  usage: Usage;
  /** As in SECRET_KEY, newest first. */
  secretKeys: readonly Buffer[];
};

export function registerEvents(
  app: FastifyInstance,
  { database, secretKeys, usage }: EventDependencies,
): void {
  const cursors = createCursors(secretKeys);
  const surface = {
    ...keyedSurface('read:events'),
    contextOf: (request: FastifyRequest) => ({
      database,
      cursors,
      usage,
      caller: callerOf(request),
    }),
  };
  mountOperations(app, surface, 'Events', [listEvents]);
}

type EventContext = {
  database: Database;
  cursors: Cursors;
  usage: Usage;
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
    const { after = null, limit, event = null } = query;
    const page = await pullEvents(database, cursors, caller.appId, { after, limit, event });
    usage.addEvents(caller, page.events.length);
    return entryOf(0, Buffer.from(render(page, limit)));
  },
});

/** Builds the JSON from text, because `data` is JSON text already and parsing it would change its bytes. */
function render({ events, nextCursor, hasMore }: EventPage, limit: number): string {
  const data = events.map(
    ({ id, event, createdAt, data: recorded }) =>
      `{"id":"${id}","event":"${event}","createdAt":"${createdAt}","data":${recorded}}`,
  );
  const pagination = { limit, nextCursor, hasMore };
  return `{"success":true,"data":[${data.join(',')}],"meta":${JSON.stringify(meta)},"pagination":${JSON.stringify(pagination)}}`;
}
