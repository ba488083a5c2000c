import { Option, type Command } from 'commander';
import { hoursAgo, listedHours } from '../contract/periods.ts';
import { publishEvent } from '../directory/publish-in-groups.ts';
import { ServiceError, type Issue } from '../errors.ts';
import { catalogue, publishableEvents } from '../events/catalogue.ts';
import { listEvents, type EventFilter, type ListedEvent } from '../events/list-events.ts';
import type { RejectedEvent } from '../events/published-events.ts';
import { listRefused } from '../http/operator/refused.ts';
import {
  disableMaintenance,
  enableMaintenance,
  readMaintenance,
  requireMessage,
} from '../system/maintenance.ts';
import { ArgumentsError } from './arguments-error.ts';
import { cliActor } from './cli-actor.ts';
import { escapeControls } from './escape-controls.ts';
import { checkedBy, parseFutureOption, parsePastOption, parseInteger } from './parse-option.ts';
import { addSetAsideCommands } from './set-aside-commands.ts';
import { print, table, withDatabase } from './with-database.ts';

export const listedMax = 1_000;

type ListFlags = {
  event?: string;
  since?: Date;
  limit: number;
  rejected?: boolean;
  json?: boolean;
};
type PublishFlags = { org?: string; alliance?: string; data?: string; json?: boolean };

export function addEventCommands(program: Command): void {
  const events = program.command('events').description('Publish and list events.');
  addPublish(events);
  addList(events);
  addSetAsideCommands(events);
  addMaintenance(program);
}

function addPublish(events: Command): void {
  events
    .command('publish')
    .description('Publish an event. The running service delivers it.')
    .argument('<name>', `one of ${publishableEvents.join(', ')}`)
    .option('--org <slug>', 'organisation that the event is about')
    .option('--alliance <slug>', 'alliance that the event is about')
    .option('--data <json>', 'data of an internal event: its inner object')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Examples:
  orgdir events publish org.created --org acme-corporation
  orgdir events publish application.created --org acme-corporation \\
    --data '{"id":"a-1","applicantHandle":"wanderer","submittedAt":"2026-11-20T12:00:00.000Z"}'`,
    )
    .action(async (name: string, flags: PublishFlags) => {
      const data = readData(flags.data);
      const id = await withDatabase(({ database }, { publicUrl }) =>
        publishEvent(database, {
          name,
          org: flags.org ?? null,
          alliance: flags.alliance ?? null,
          data,
          publicUrl,
        }),
      ).catch((error: unknown) => {
        if (!(error instanceof ServiceError) || error.code !== 'validation_failed') throw error;
        throw new ArgumentsError(...(error.details['issues'] as Issue[]));
      });
      print(flags.json, { id, event: name }, [`Published event ${id} (${name}).`]);
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
    .option(
      '--limit <count>',
      `maximum number of events, 1 to ${listedMax}`,
      parseInteger(1, listedMax),
      20,
    )
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
  maintenance
    .command('on')
    .description('Turn maintenance on, or change its message or expected end.')
    .option('--message <text>', 'message for callers', checkedBy(requireMessage))
    .option(
      '--until <time>',
      'when it is expected to end, such as 2027-01-31T12:00:00Z',
      parseFutureOption,
    )
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExample:\n  orgdir maintenance on --message "Moving to a larger machine." --until 2027-01-31T12:00:00Z',
    )
    .action(async (flags: { message?: string; until?: Date; json?: boolean }) => {
      const state = await withDatabase(async ({ database }) => {
        const current = await readMaintenance(database);
        const end = current?.expectedEnd ? new Date(current.expectedEnd) : null;
        return enableMaintenance(database, cliActor(), {
          message: flags.message ?? current?.message ?? null,
          expectedEnd: flags.until ?? end,
        });
      });
      print(flags.json, state, [
        `Maintenance has been on since ${state.since}${state.expectedEnd === null ? '' : `, expected to end at ${state.expectedEnd}`}.`,
      ]);
    });
  maintenance
    .command('off')
    .description('Turn maintenance off.')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  orgdir maintenance off')
    .action(async ({ json }: { json?: boolean }) => {
      const changed = await withDatabase(({ database }) =>
        disableMaintenance(database, cliActor()),
      );
      print(json, { changed }, [changed ? 'Maintenance is off.' : 'Maintenance was already off.']);
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

function readData(text: string | undefined): unknown {
  if (text === undefined) return null;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new ArgumentsError({ path: '--data', message: 'must be JSON' });
  }
}
