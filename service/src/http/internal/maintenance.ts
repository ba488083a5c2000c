/** Operations on maintenance, like `orgdir maintenance`. Every process sees a change within a second. */
import { Type, type Static } from 'typebox';
import { envelope } from '../../contract/envelope.ts';
import { exampleLaterTime, exampleTime } from '../../contract/examples.ts';
import { requireTime } from '../../contract/parse-time.ts';
import { noNul, nullable, strictObject, time, boolean } from '../../contract/shapes.ts';
import { invalid } from '../../errors.ts';
import {
  disableMaintenance,
  enableMaintenance,
  maintenanceMessageLengthMax,
  readMaintenance,
  type MaintenanceState,
} from '../../system/maintenance.ts';
import { oneOf } from '../responses/responses.ts';
import { preconditionOf } from './precondition.ts';
import { operation } from './surface.ts';

const message = Type.String({
  ...noNul,
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
    enabled: boolean('Whether maintenance is on.'),
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
    enabled: boolean('Whether maintenance is on.'),
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

export const maintenanceOperations = [
  operation({
    operationId: 'getMaintenance',
    tagged: true,
    method: 'GET',
    path: '/maintenance',
    summary: 'Get the state of maintenance',
    description: 'Returns whether maintenance is on, since when, and until when.',
    returns: { 200: 'The state of maintenance.' },
    response,
    run: async ({ database }) => envelope(toSwitch(await readMaintenance(database))),
  }),
  operation({
    operationId: 'putMaintenance',
    method: 'PUT',
    path: '/maintenance',
    summary: 'Turn maintenance on or off',
    description:
      'During maintenance, the public API returns 503 and deliveries continue. Events are sent when it begins and when it ends. You can change the message and the expected end meanwhile. Repeating a request changes nothing.',
    body: MaintenanceChange,
    returns: { 200: 'The new state of maintenance.' },
    response,
    errors: ['precondition_failed'],
    tagged: true,
    async run({ writes, change, actor, body, request }) {
      const given = requireConsistent(body);
      const precondition = preconditionOf(request);
      const check = (current: MaintenanceState | null) => precondition(toSwitch(current));
      if (!given.enabled) await disableMaintenance(writes, actor, check, change);
      const state = given.enabled
        ? await enableMaintenance(writes, actor, given, check, change)
        : null;
      return envelope(toSwitch(state));
    },
  }),
];

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
  return { enabled, message: text, expectedEnd: end === null ? null : requireTime(end) };
}

function toSwitch(state: MaintenanceState | null): Static<typeof MaintenanceSwitch> {
  if (!state) return { enabled: false, message: null, since: null, expectedEnd: null };
  const { message: text, since, expectedEnd: end } = state;
  return { enabled: true, message: text, since, expectedEnd: end };
}
