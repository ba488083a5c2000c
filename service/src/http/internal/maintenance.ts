/** Routes for maintenance, like `orgdir maintenance`. Every process sees a change within a second. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import { Type, type Static } from 'typebox';
import { exampleLaterTime, exampleTime } from '../../contract/examples.ts';
import { nullable, strictObject, time } from '../../contract/shapes.ts';
import { invalid } from '../../errors.ts';
import {
  disableMaintenance,
  enableMaintenance,
  maintenanceMessageLengthMax,
  readMaintenance,
  type MaintenanceState,
} from '../../system/maintenance.ts';
import { oneOf } from '../responses.ts';
import { sendEntry } from '../send-entry.ts';
import { actorOf } from './authenticate.ts';
import { entryOf } from './entry-of.ts';
import { preconditionOf } from './precondition.ts';
import {
  config,
  internalErrors,
  internalResponses,
  noQuery,
  security,
  type RouteDependencies,
} from './route.ts';
import { sendWritten } from './send-written.ts';

const message = Type.String({
  minLength: 1,
  maxLength: maintenanceMessageLengthMax,
  description: 'The message to callers.',
  examples: ['Moving to a larger machine.'],
});
const expectedEnd = time({
  description: 'When the maintenance is expected to end.',
  examples: [exampleLaterTime],
});

const MaintenanceChange = strictObject(
  {
    enabled: Type.Boolean({ description: 'Whether maintenance is on.' }),
    message: Type.Optional(nullable(message)),
    expectedEnd: Type.Optional(nullable(expectedEnd)),
  },
  {
    title: 'MaintenanceChange',
    description: 'The new state of maintenance. Omitted fields become null.',
    examples: [
      { enabled: true, message: 'Moving to a larger machine.', expectedEnd: exampleLaterTime },
    ],
  },
);

const MaintenanceSwitch = strictObject(
  {
    enabled: Type.Boolean({ description: 'Whether maintenance is on.' }),
    message: nullable(message),
    since: nullable(time({ description: 'When the maintenance began. Null if it is off.' })),
    expectedEnd: nullable(expectedEnd),
  },
  { title: 'MaintenanceState', description: 'The state of maintenance.' },
);

const response = oneOf(MaintenanceSwitch, 'MaintenanceResponse', {
  enabled: true,
  message: 'Moving to a larger machine.',
  since: exampleTime,
  expectedEnd: exampleLaterTime,
});
const tags = ['System'];

export function registerMaintenance(v1: FastifyInstance, dependencies: RouteDependencies): void {
  registerRead(v1, dependencies);
  registerSwitch(v1, dependencies);
}

function registerRead(v1: FastifyInstance, { database }: RouteDependencies): void {
  v1.get(
    '/maintenance',
    {
      config,
      schema: {
        operationId: 'getMaintenance',
        tags,
        security,
        summary: 'Get the state of maintenance',
        description: 'Returns whether maintenance is on, since when, and until when.',
        querystring: noQuery,
        response: internalResponses(
          200,
          'The state of maintenance.',
          response,
          internalErrors.keyed,
          {
            conditional: true,
          },
        ),
      },
    },
    async (request, reply) => {
      const state = await readMaintenance(database);
      return sendEntry(request, reply, entryOf(toSwitch(state)));
    },
  );
}

function registerSwitch(v1: FastifyInstance, { writes }: RouteDependencies): void {
  v1.withTypeProvider<TypeBoxTypeProvider>().put(
    '/maintenance',
    {
      config,
      schema: {
        operationId: 'putMaintenance',
        tags,
        security,
        summary: 'Turn maintenance on or off',
        description:
          'During maintenance, the public API returns 503 and deliveries continue. Events are sent when it begins and when it ends. You can change the message and the expected end meanwhile. Repeating a request changes nothing.',
        body: MaintenanceChange,
        querystring: noQuery,
        response: internalResponses(
          200,
          'The new state of maintenance.',
          response,
          [...internalErrors.keyedBody, 'precondition_failed'],
          { tagged: true },
        ),
      },
    },
    async (request, reply) => {
      const actor = actorOf(request);
      const change = requireConsistent(request.body);
      const precondition = preconditionOf(request);
      const check = (current: MaintenanceState | null) => precondition(toSwitch(current));
      if (!change.enabled) await disableMaintenance(writes, actor, check);
      const state = change.enabled ? await enableMaintenance(writes, actor, change, check) : null;
      return sendWritten(reply, toSwitch(state));
    },
  );
}

function requireConsistent({
  enabled,
  message: text = null,
  expectedEnd: end = null,
}: Static<typeof MaintenanceChange>) {
  if (!enabled && (text !== null || end !== null))
    throw invalid({
      path: text === null ? 'body.expectedEnd' : 'body.message',
      message: 'cannot be used with enabled: false',
    });
  return { enabled, message: text, expectedEnd: end === null ? null : new Date(end) };
}

function toSwitch(state: MaintenanceState | null): Static<typeof MaintenanceSwitch> {
  if (!state) return { enabled: false, message: null, since: null, expectedEnd: null };
  const { message: text, since, expectedEnd: end } = state;
  return { enabled: true, message: text, since, expectedEnd: end };
}
