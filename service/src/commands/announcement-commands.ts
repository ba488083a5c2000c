/** `announcements`: what the operator tells all developers. */
import { Option, type Command } from 'commander';
import { announcementCharsMax, severities, type Severity } from '../contract/announcement.ts';
import {
  announce,
  endAnnouncement,
  listAnnouncements,
  requireText,
} from '../system/announcements.ts';
import { ArgumentsError } from './report-error.ts';
import { cliActor, table } from './with-database.ts';
import {
  addCommand,
  checkedBy,
  exampleId,
  parseFutureOption,
  parseTimeOption,
  requiredOption,
} from './parse-option.ts';

type Flags = {
  text: string;
  severity: Severity;
  starts?: Date;
  ends?: Date;
  mail?: boolean;
};

export function addAnnouncementCommands(program: Command): void {
  const announcements = program
    .command('announcements')
    .description(
      'Tell all developers something: in the portal, on the status page and in GET /status.',
    );
  addCreate(announcements);
  addCommand(announcements, {
    name: 'list',
    description: 'List what is announced, newest first.',
    act: async ({ database }) => {
      const shown = await listAnnouncements(database);
      const rows = shown.map(({ id, severity, startsAt, endsAt, text }) => [
        id,
        severity,
        startsAt ?? '-',
        endsAt ?? '-',
        text,
      ]);
      return [shown, table(['ID', 'SEVERITY', 'STARTS', 'ENDS', 'TEXT'], rows)];
    },
  });
  addCommand(announcements, {
    name: 'end',
    argument: ['<id>', 'id of the announcement'],
    description: 'Show an announcement no longer, and mail it to nobody else.',
    example: exampleId,
    act: async ({ change, given }) => {
      await change((tx) => endAnnouncement(tx, cliActor(), given));
      return [{ id: given }, [`Announcement ${given} is no longer shown.`]];
    },
  });
}

function addCreate(announcements: Command): void {
  addCommand<Flags>(announcements, {
    name: 'create',
    description: 'Announce something, such as a maintenance with its date.',
    options: [
      requiredOption(
        '--text <text>',
        `what, in up to ${announcementCharsMax} characters`,
        checkedBy(requireText),
      ),
      new Option('--severity <severity>', 'how serious it is').choices(severities).default('info'),
      ['--starts <time>', 'when it takes place, if not now', parseTimeOption],
      ['--ends <time>', 'until when it is shown; default: until it is ended', parseFutureOption],
      ['--mail', 'mail it to the owners of apps who want it'],
    ],
    example:
      '--text "The directory moves to a larger machine." --severity warning --starts 2027-01-31T20:00:00Z --ends 2027-01-31T22:00:00Z --mail',
    check({ flags: { starts, ends } }) {
      if (starts && ends && ends <= starts)
        throw new ArgumentsError({ path: '--ends', message: 'must be after --starts' });
    },
    async act({ change, flags: { text, severity, starts, ends, mail = false } }) {
      const given = { text, severity, startsAt: starts ?? null, endsAt: ends ?? null };
      const done = await change((tx) => announce(tx, cliActor(), given, { mailed: mail }));
      const told = mail ? ` The service mails it to ${done.mails} owners of apps.` : '';
      return [done, [`Announcement ${done.id} is shown.${told}`]];
    },
  });
}
