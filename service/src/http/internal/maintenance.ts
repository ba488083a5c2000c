/** Operations on maintenance, like `orgdir maintenance`. Every process sees a change within a second. */
import { Type, type Static } from 'typebox';
import { envelope } from '../../contract/envelope.ts';
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
import { preconditionOf } from './precondition.ts';
import { operation } from './route.ts';

const message = Type.String({
  minLength: 1,
  maxLength: maintenanceMessageLengthMax,
  description: 'What callers are told.',
  examples: ['Moving to a larger machine.'],
});
const expectedEnd = time({
  description: 'When it is expected to end.',
  examples: [exampleLaterTime],
});

const MaintenanceChange = strictObject(
  {
    enabled: Type.Boolean({ description: 'Whether it is to be on.' }),
    message: Type.Optional(nullable(message)),
    expectedEnd: Type.Optional(nullable(expectedEnd)),
  },
  {
    title: 'MaintenanceChange',
    description: 'How maintenance is to be. What is left out is null.',
    examples: [
      { enabled: true, message: 'Moving to a larger machine.', expectedEnd: exampleLaterTime },
    ],
  },
);

const MaintenanceSwitch = strictObject(
  {
    enabled: Type.Boolean({ description: 'Whether it is on.' }),
    message: nullable(message),
    since: nullable(time({ description: 'When it began; null: it is off.' })),
    expectedEnd: nullable(expectedEnd),
  },
  { title: 'MaintenanceState', description: 'Whether maintenance is on.' },
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
    method: 'GET',
    path: '/maintenance',
    summary: 'See whether maintenance is on',
    description: 'Whether it is on, since when, and until when.',
    returns: { 200: 'How it is.' },
    response,
    run: async ({ database }) => envelope(toSwitch(await readMaintenance(database))),
  }),
  operation({
    operationId: 'putMaintenance',
    method: 'PUT',
    path: '/maintenance',
    summary: 'Switch maintenance on or off',
    description:
      'While it is on, the public API answers 503 and deliveries go on. Its event goes out when it begins and when it ends; message and end may change in between. The same again changes nothing.',
    body: MaintenanceChange,
    returns: { 200: 'How it is now.' },
    response,
    errors: ['precondition_failed'],
    tagged: true,
    async run({ writes, actor, body, request }) {
      const wanted = requireFitting(body);
      const precondition = preconditionOf(request);
      const check = (current: MaintenanceState | null) => precondition(toSwitch(current));
      if (!wanted.enabled) await disableMaintenance(writes, actor, check);
      const state = wanted.enabled ? await enableMaintenance(writes, actor, wanted, check) : null;
      return envelope(toSwitch(state));
    },
  }),
];

function requireFitting({
  enabled,
  message: text = null,
  expectedEnd: end = null,
}: Static<typeof MaintenanceChange>) {
  if (!enabled && (text !== null || end !== null))
    throw invalid({
      path: text === null ? 'body.expectedEnd' : 'body.message',
      message: 'does not go with enabled: false',
    });
  return { enabled, message: text, expectedEnd: end === null ? null : new Date(end) };
}

function toSwitch(state: MaintenanceState | null): Static<typeof MaintenanceSwitch> {
  if (!state) return { enabled: false, message: null, since: null, expectedEnd: null };
  const { message: text, since, expectedEnd: end } = state;
  return { enabled: true, message: text, since, expectedEnd: end };
}
