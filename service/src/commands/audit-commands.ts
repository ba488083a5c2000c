import { InvalidArgumentError, type Command } from 'commander';
import { auditActions, auditEntriesMax, listAudit, type AuditEntry } from '../access/audit-log.ts';
import { addCommand, exampleId, limitOption, parseId, parsePastOption } from './parse-option.ts';
import { table } from './with-database.ts';

type Flags = {
  actor?: string;
  action?: string;
  subject?: string;
  app?: string;
  since?: Date;
  limit: number;
};

const families = [...new Set(auditActions.map(familyOf))];

export function addAuditCommands(program: Command): void {
  const audit = program
    .command('audit')
    .description('Read the audit log: who changed what, and when.');
  addCommand<Flags>(audit, {
    name: 'list',
    description: 'List changes, newest first.',
    options: [
      [
        '--actor <who>',
        'only changes by this actor: a name, an id, or key, user, operator, cli or system',
        String,
      ],
      [
        '--action <action>',
        'only this action, such as key.revoked, or a group, such as key',
        parseAction,
      ],
      ['--subject <id>', 'only changes of the object with this id, such as a webhook', parseId],
      ['--app <id>', 'only changes that concern this app', parseId],
      [
        '--since <time>',
        'only changes since this time, such as 2027-01-31T12:00:00Z',
        parsePastOption,
      ],
      limitOption('entries', auditEntriesMax, 50),
    ],
    note: `Actions: ${auditActions.join(', ')}.
The actor is an API key, a user of the portal, an operator in the console, the machine's user on the command line, or the service itself. A change
made directly in the database counts as the service's.`,
    example: ['--action key --since 2027-01-31', `--app ${exampleId} --json`],
    async act({ database, flags: { actor, action, subject, app, since, limit } }) {
      const found = await listAudit(database, {
        actor: actor ?? null,
        action: action ?? null,
        subjectId: subject ?? null,
        appId: app ?? null,
        since: since ?? null,
        limit,
      });
      const header = ['TIME', 'ACTOR', 'ACTION', 'SUBJECT', 'APP', 'DETAILS'];
      return [found, table(header, found.map(toRow))];
    },
  });
}

function familyOf(name: string): string {
  return name.slice(0, name.indexOf('.'));
}

function parseAction(text: string): string {
  if ([...auditActions, ...families].includes(text)) return text;
  throw new InvalidArgumentError(`It must be one of ${families.join(', ')}, or a single action.`);
}

function toRow({ at, actor, action, subject, appId, details }: AuditEntry): string[] {
  return [
    at.toISOString(),
    `${actor.kind} ${actor.name}`,
    action,
    subject.id === null ? subject.kind : `${subject.kind} ${subject.id}`,
    appId ?? '-',
    Object.entries(details)
      .filter(([, value]) => value !== null)
      .map(
        ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
      )
      .join(' '),
  ];
}
