import type { Command } from 'commander';
import { publishEvent } from '../directory/publish-event.ts';
import { invalid } from '../errors.ts';
import { subscribableEvents } from '../events/catalogue.ts';
import { disableMaintenance, enableMaintenance } from '../system/maintenance.ts';
import { readTime } from './access-commands.ts';
import { print, withDatabase } from './with-database.ts';

type PublishFlags = { org?: string; alliance?: string; data?: string; json?: boolean };

export function addEventCommands(program: Command): void {
  const events = program.command('events').description('Events: what webhooks are told.');
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

  const maintenance = program
    .command('maintenance')
    .description('Maintenance: while it is on, the API answers 503.');
  maintenance
    .command('on')
    .description('Switch it on, or change its message and end.')
    .option('--message <text>', 'what callers are told')
    .option('--until <time>', 'when it is expected to end, such as 2027-01-31T12:00:00Z')
    .option('--json', 'print JSON')
    .action(async (flags: { message?: string; until?: string; json?: boolean }) => {
      const expectedEnd = readTime(flags.until);
      const state = await withDatabase(({ database }) =>
        enableMaintenance(database, { message: flags.message ?? null, expectedEnd }),
      );
      print(flags.json, state, [`Maintenance is on since ${state.since}.`]);
    });
  maintenance
    .command('off')
    .description('Switch it off.')
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const changed = await withDatabase(({ database }) => disableMaintenance(database));
      print(json, { changed }, [changed ? 'Maintenance is off.' : 'Maintenance was off.']);
    });
}

function readData(text: string | undefined): unknown {
  if (text === undefined) return null;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw invalid({ path: '--data', message: 'must be JSON' });
  }
}
