import { Option, type Command } from 'commander';
import { publishEvent } from '../directory/publish-event.ts';
import { invalid } from '../errors.ts';
import { catalogue, subscribableEvents } from '../events/catalogue.ts';
import { listEvents, type EventFilter, type ListedEvent } from '../events/list-events.ts';
import { listRejected, type RejectedEvent } from '../events/published-events.ts';
import { disableMaintenance, enableMaintenance } from '../system/maintenance.ts';
import { cliActor } from './cli-actor.ts';
import { escapeControls } from './escape-controls.ts';
import { moment, wholeNumber } from './read-option.ts';
import { print, table, withDatabase } from './with-database.ts';

/** How far back lists of what happened look unless told otherwise, in hours. */
export const sinceHours = 24;
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
  const events = program.command('events').description('Events: what webhooks are told.');
  addPublish(events);
  addList(events);
  addMaintenance(program);
}

function addPublish(events: Command): void {
  events
    .command('publish')
    .description('Record an event. The running service delivers it.')
    .argument('<name>', `one of ${subscribableEvents.join(', ')}`)
    .option('--org <slug>', 'the organisation that it is about')
    .option('--alliance <slug>', 'the alliance that it is about')
    .option('--data <json>', "of an organisation's or alliance's own event: its inner object")
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
        database.transaction().execute((tx) =>
          publishEvent(tx, {
            name,
            org: flags.org ?? null,
            alliance: flags.alliance ?? null,
            data,
            publicUrl,
          }),
        ),
      );
      print(flags.json, { id, event: name }, [`Event ${id} (${name}) is recorded.`]);
    });
}

function addList(events: Command): void {
  events
    .command('list')
    .description('What was recorded, newest first.')
    .addOption(
      new Option('--event <name>', 'only events of this name').choices(Object.keys(catalogue)),
    )
    .option(
      '--since <time>',
      `only from then on, such as 2027-01-31T12:00:00Z (default: ${sinceHours} hours ago)`,
      moment,
    )
    .option('--limit <count>', `how many at most, 1 to ${listedMax}`, wholeNumber(1, listedMax), 20)
    .option('--rejected', 'instead, what was published by SQL and does not fit, with the reason')
    .option('--json', 'print JSON, with the data of each event that was recorded')
    .addHelpText(
      'after',
      `
STATE is waiting until the worker has made the deliveries of an event, then distributed.

Examples:
  orgdir events list --limit 5
  orgdir events list --event application.created --since 2027-01-31 --json
  orgdir events list --rejected`,
    )
    .action(async ({ event, since, limit, rejected, json }: ListFlags) => {
      const filter = { event: event ?? null, since: since ?? sinceDefault(), limit };
      return rejected ? showRejected(filter, json) : showEvents(filter, json);
    });
}

function addMaintenance(program: Command): void {
  const maintenance = program
    .command('maintenance')
    .description('Maintenance: while it is on, the API answers 503.');
  maintenance
    .command('on')
    .description('Switch it on, or change its message and end.')
    .option('--message <text>', 'what callers are told')
    .option('--until <time>', 'when it is expected to end, such as 2027-01-31T12:00:00Z', moment)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExample:\n  orgdir maintenance on --message "Moving to a larger machine." --until 2027-01-31T12:00:00Z',
    )
    .action(async (flags: { message?: string; until?: Date; json?: boolean }) => {
      const state = await withDatabase(({ database }) =>
        enableMaintenance(database, cliActor(), {
          message: flags.message ?? null,
          expectedEnd: flags.until ?? null,
        }),
      );
      print(flags.json, state, [`Maintenance is on since ${state.since}.`]);
    });
  maintenance
    .command('off')
    .description('Switch it off.')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  orgdir maintenance off')
    .action(async ({ json }: { json?: boolean }) => {
      const changed = await withDatabase(({ database }) =>
        disableMaintenance(database, cliActor()),
      );
      print(json, { changed }, [changed ? 'Maintenance is off.' : 'Maintenance was off.']);
    });
}

async function showEvents(filter: EventFilter, json: boolean | undefined): Promise<void> {
  const found = await withDatabase(({ database }) => listEvents(database, filter));
  if (json) return console.log(escapeControls(`[${found.map(toJson).join(',')}]`));
  console.log(table(['ID', 'EVENT', 'ABOUT', 'STATE', 'RECORDED'], found.map(toRow)).join('\n'));
}

async function showRejected(filter: EventFilter, json: boolean | undefined): Promise<void> {
  const found = await withDatabase(({ database }) => listRejected(database, filter));
  print(
    json,
    found,
    table(['ID', 'EVENT', 'ABOUT', 'REJECTED', 'REASON'], found.map(toRejectedRow)),
  );
}

function toRejectedRow({ id, event, org, alliance, rejectedAt, reason }: RejectedEvent): string[] {
  return [id, event, org ?? alliance ?? '-', rejectedAt.toISOString(), reason];
}

/** The data as it was recorded: reading and writing it again would change large numbers. */
function toJson({ data, ...event }: ListedEvent): string {
  // Between its tokens alone: inside a string these characters are escaped.
  const inOneLine = data.replaceAll(/[\t\n\r]/g, ' ');
  return `${JSON.stringify(event).slice(0, -1)},"data":${inOneLine}}`;
}

function toRow(event: ListedEvent): string[] {
  const about = event.org ?? event.alliance ?? '-';
  return [event.id, event.event, about, event.state, event.createdAt.toISOString()];
}

export function sinceDefault(): Date {
  return new Date(Date.now() - sinceHours * 3_600_000);
}

function readData(text: string | undefined): unknown {
  if (text === undefined) return null;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw invalid({ path: '--data', message: 'must be JSON' });
  }
}
