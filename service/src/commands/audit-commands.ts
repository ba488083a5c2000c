import { InvalidArgumentError, type Command } from 'commander';
import { auditActions, auditEntriesMax, listAudit, type AuditEntry } from '../access/audit-log.ts';
import { parseId, parsePastOption, parseInteger } from './parse-option.ts';
import { print, table, withDatabase } from './with-database.ts';

type Flags = {
  actor?: string;
  action?: string;
  subject?: string;
  app?: string;
  since?: Date;
  limit: number;
  json?: boolean;
};

const families = [...new Set(auditActions.map(familyOf))];

export function addAuditCommands(program: Command): void {
  const audit = program
    .command('audit')
    .description('Read the audit log: who changed what, and when.');
  audit
    .command('list')
    .description('List changes, newest first.')
    .option(
      '--actor <who>',
      'only changes by this actor: a name, an id, or key, user, operator, cli or system',
    )
    .option(
      '--action <action>',
      'only this action, such as key.revoked, or a group, such as key',
      action,
    )
    .option('--subject <id>', 'only changes of the object with this id, such as a webhook', parseId)
    .option('--app <id>', 'only changes that concern this app', parseId)
    .option(
      '--since <time>',
      'only changes since this time, such as 2027-01-31T12:00:00Z',
      parsePastOption,
    )
    .option(
      '--limit <count>',
      `maximum number of entries, 1 to ${auditEntriesMax}`,
      parseInteger(1, auditEntriesMax),
      50,
    )
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Actions: ${auditActions.join(', ')}.
The actor is an API key, a user of the portal, an operator in the console, the machine's user on the command line, or the service itself. A change
made directly in the database counts as the service's.

Examples:
  orgdir audit list --action key --since 2027-01-31
  orgdir audit list --app 0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f --json`,
    )
    .action(list);
}

function familyOf(name: string): string {
  return name.slice(0, name.indexOf('.'));
}

function action(text: string): string {
  if ([...auditActions, ...families].includes(text)) return text;
  throw new InvalidArgumentError(`It must be one of ${families.join(', ')}, or a single action.`);
}

async function list({
  actor,
  action: wanted,
  subject,
  app,
  since,
  limit,
  json,
}: Flags): Promise<void> {
  const found = await withDatabase(({ database }) =>
    listAudit(database, {
      actor: actor ?? null,
      action: wanted ?? null,
      subjectId: subject ?? null,
      appId: app ?? null,
      since: since ?? null,
      limit,
    }),
  );
  print(
    json,
    found,
    table(['TIME', 'ACTOR', 'ACTION', 'SUBJECT', 'APP', 'DETAILS'], found.map(toRow)),
  );
}

function toRow({ at, actor, action: done, subject, appId, details }: AuditEntry): string[] {
  return [
    at.toISOString(),
    `${actor.kind} ${actor.name}`,
    done,
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
