import { Option, type Command } from 'commander';
import { escapeControls } from '@orgdir/client/command/escape-controls';
import { hoursAgo, listedHours } from '../contract/periods.ts';
import { findRepeatedName, parseJson } from '../contract/json.ts';
import { publishEvent } from '../directory/publish-in-groups.ts';
import { ServiceError, type Issue } from '../errors.ts';
import { catalogue, publishableEvents } from '../events/catalogue.ts';
import { listEvents, type EventFilter, type ListedEvent } from '../events/pull-events.ts';
import type { RejectedEvent } from '../events/published-events.ts';
import { listRefused, changeRefused, type RefusedVerb } from '../http/operator/refused.ts';
import {
  disableMaintenance,
  enableMaintenance,
  readMaintenance,
  requireMessage,
} from '../system/maintenance.ts';
import { ArgumentsError } from './report-error.ts';
import { cliActor, print, table, withDatabase } from './with-database.ts';
import {
  addCommand,
  checkedBy,
  limitOption,
  parseFutureOption,
  parsePastOption,
  exampleId,
  parseId,
} from './parse-option.ts';

export const listedMax = 1_000;

type ListFlags = {
  event?: string;
  since?: Date;
  limit: number;
  rejected?: boolean;
  json?: boolean;
};
type PublishFlags = { org?: string; alliance?: string; data?: unknown };

export function addEventCommands(program: Command): void {
  const events = program.command('events').description('Publish and list events.');
  addPublish(events);
  addList(events);
  addSetAsideCommands(events);
  addMaintenance(program);
}

function addPublish(events: Command): void {
  addCommand<PublishFlags>(events, {
    name: 'publish',
    description: 'Publish an event. The running service delivers it.',
    argument: ['<name>', `one of ${publishableEvents.join(', ')}`],
    options: [
      ['--org <slug>', 'organisation that the event is about', String],
      ['--alliance <slug>', 'alliance that the event is about', String],
      ['--data <json>', 'data of an internal event: its inner object', parseData],
    ],
    example: [
      'org.created --org acme-corporation',
      `application.created --org acme-corporation \\
    --data '{"id":"a-1","applicantHandle":"wanderer","submittedAt":"2026-11-20T12:00:00.000Z"}'`,
    ],
    async act({ database, config: { publicUrl }, given: name, flags }) {
      const { org = null, alliance = null, data = null } = flags;
      const event = { name, org, alliance, data, publicUrl };
      const id = await publishEvent(database, event).catch((error: unknown) => {
        if (!(error instanceof ServiceError) || error.code !== 'validation_failed') throw error;
        throw new ArgumentsError(...(error.details['issues'] as Issue[]));
      });
      return [{ id, event: name }, [`Published event ${id} (${name}).`]];
    },
  });
}

function addList(events: Command): void {
  events
    .command('list')
    .description('List events, newest first.')
    .addOption(
      new Option('--event <name>', 'only events with this name').choices(Object.keys(catalogue)),
    )
    .option(
      '--since <time>',
      `only events since this time, such as 2027-01-31T12:00:00Z (default: ${listedHours} hours ago)`,
      parsePastOption,
    )
    .addOption(limitOption('events', listedMax, 20))
    .option('--rejected', 'list what was rejected or set aside instead, with the reason')
    .option('--json', 'print JSON, with the data of each event')
    .addHelpText(
      'after',
      `
STATE is waiting until the worker has created the deliveries of an event, then distributed.

Examples:
  orgdir events list --limit 5
  orgdir events list --event application.created --since 2027-01-31 --json
  orgdir events list --rejected`,
    )
    .action(async ({ event, since, limit, rejected, json }: ListFlags) => {
      // What was refused waits for an operator, however long ago.
      const earliest = rejected ? new Date(0) : hoursAgo(listedHours);
      const filter = { event: event ?? null, since: since ?? earliest, limit };
      return rejected ? showRejected(filter, json) : showEvents(filter, json);
    });
}

function addMaintenance(program: Command): void {
  const maintenance = program
    .command('maintenance')
    .description('Turn maintenance on or off. During maintenance the API responds with 503.');
  addCommand<{ message?: string; until?: Date }>(maintenance, {
    name: 'on',
    description: 'Turn maintenance on, or change its message or expected end.',
    options: [
      ['--message <text>', 'message for callers', checkedBy(requireMessage)],
      [
        '--until <time>',
        'when it is expected to end, such as 2027-01-31T12:00:00Z',
        parseFutureOption,
      ],
    ],
    example: '--message "Moving to a larger machine." --until 2027-01-31T12:00:00Z',
    async act({ database, flags }) {
      const current = await readMaintenance(database);
      const end = current?.expectedEnd ? new Date(current.expectedEnd) : null;
      const state = await enableMaintenance(database, cliActor(), {
        message: flags.message ?? current?.message ?? null,
        expectedEnd: flags.until ?? end,
      });
      const until = state.expectedEnd === null ? '' : `, expected to end at ${state.expectedEnd}`;
      return [state, [`Maintenance has been on since ${state.since}${until}.`]];
    },
  });
  addCommand(maintenance, {
    name: 'off',
    description: 'Turn maintenance off.',
    async act({ database }) {
      const changed = await disableMaintenance(database, cliActor());
      return [{ changed }, [changed ? 'Maintenance is off.' : 'Maintenance was already off.']];
    },
  });
}

async function showEvents(filter: EventFilter, json: boolean | undefined): Promise<void> {
  const found = await withDatabase(({ database }) => listEvents(database, filter));
  if (json) return console.log(escapeControls(`[${found.map(toJson).join(',')}]`));
  console.log(table(['ID', 'EVENT', 'ABOUT', 'STATE', 'RECORDED'], found.map(toRow)).join('\n'));
}

async function showRejected(filter: EventFilter, json: boolean | undefined): Promise<void> {
  const found = await withDatabase(({ database }) => listRefused(database, filter));
  const head = ['ID', 'EVENT', 'ABOUT', 'STAGE', 'REJECTED', 'REASON'];
  print(json, found, table(head, found.map(toRejectedRow)));
}

function toRejectedRow(row: RejectedEvent): string[] {
  const { id, stage, event, org, alliance, deliveryId, webhookId, rejectedAt, reason } = row;
  const about =
    org ??
    alliance ??
    (deliveryId && `delivery ${deliveryId}`) ??
    (webhookId && `webhook ${webhookId}`);
  return [id, event ?? '-', about ?? '-', stage, rejectedAt.toISOString(), reason];
}

/** Copies the recorded data as text: parsing it would change large numbers. */
function toJson({ data, ...event }: ListedEvent): string {
  // Raw line breaks and tabs occur only between tokens: inside a string they are escaped.
  const inOneLine = data.replaceAll(/[\t\n\r]/g, ' ');
  return `${JSON.stringify(event).slice(0, -1)},"data":${inOneLine}}`;
}

function toRow(event: ListedEvent): string[] {
  const about = event.org ?? event.alliance ?? '-';
  return [event.id, event.event, about, event.state, event.createdAt.toISOString()];
}

function parseData(text: string): unknown {
  const data = parseJson(text);
  if (data === undefined) throw new ArgumentsError({ path: '--data', message: 'must be JSON' });
  const repeated = findRepeatedName(text);
  if (repeated === null) return data;
  throw new ArgumentsError({ path: '--data', message: `names ${JSON.stringify(repeated)} twice` });
}

type Verb = {
  name: RefusedVerb;
  past: 'retried' | 'dropped';
  description: string;
  note: string;
};

const verbs: Verb[] = [
  {
    name: 'retry',
    past: 'retried',
    description: 'Process events and deliveries again that were rejected or set aside.',
    note: 'Fix the cause first: what is refused again is listed again. An attempt that could not be recorded may be made twice.',
  },
  {
    name: 'drop',
    past: 'dropped',
    description: 'Delete events and deliveries for good that were rejected or set aside.',
    note: 'Dropped events are never sent, and dropped deliveries only by a replay of their webhook. Otherwise they are dropped after RETENTION_DAYS.',
  },
];

function addSetAsideCommands(events: Command): void {
  for (const { name, past, description, note } of verbs)
    addCommand<{ all?: boolean }, string[]>(events, {
      name,
      description,
      argument: ['[id...]', 'ids that orgdir events list --rejected shows', collectId],
      options: [['--all', 'all that are listed']],
      note,
      example: [exampleId, '--all'],
      check({ given: ids, flags: { all }, command }) {
        if (ids.length > 0 === (all === true))
          command.error("error: either ids or option '--all' must be specified");
      },
      async act({ database, given: ids, flags: { all } }) {
        const count = await changeRefused(database, cliActor(), name, all ? null : ids);
        return [
          { [past]: count },
          [count === 0 ? 'Nothing was rejected or set aside.' : `${count} ${past}.`],
        ];
      },
    });
}

function collectId(text: string, earlier: string[] | undefined): string[] {
  return [...new Set([...(earlier ?? []), parseId(text)])];
}
