import { type Command, InvalidArgumentError, Option } from 'commander';
import { type App, createApp, listApps, readApp } from '../access/apps.ts';
import { bindApp } from '../access/bindings.ts';
import {
  createKey,
  createPlatformKey,
  listKeys,
  type ListedKey,
  revokeKey,
  scopes,
} from '../access/keys.ts';
import { addManager, removeManager } from '../access/managers.ts';
import type { Transaction } from '../database/database.ts';
import { addAppChanges } from './app-changes.ts';
import { cliActor } from './cli-actor.ts';
import {
  type SubjectFlags,
  addSubjectOptions,
  checkSubjectOptions,
  findSubject,
  requireSubject,
} from './find-subject.ts';
import { addMemberCommands } from './member-commands.ts';
import { parseEmail, parseFutureOption, parseId, parseInteger, parseName } from './parse-option.ts';
import { addSuspension } from './suspension-commands.ts';
import { print, table, withDatabase } from './with-database.ts';
import { rotateKey } from '../access/rotate-key.ts';
import { overlapSecondsDefault, overlapSecondsMax } from '../contract/periods.ts';

export function addAccessCommands(program: Command): void {
  addApps(program);
  addKeys(program);
  addManagers(program);
}

function addApps(program: Command): void {
  const apps = program
    .command('apps')
    .description('Manage apps, which have members, keys and webhooks.');
  const create = apps
    .command('create')
    .description('Create an app. With --org or --alliance, bind it to what its owner manages.')
    .requiredOption('--name <name>', 'name of the app', parseName)
    .requiredOption('--owner <email>', 'email address of the first owner', parseEmail)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExample:\n  orgdir apps create --name "Herald" --owner ada@example.org --org acme-corporation',
    )
    .action(async (flags: { name: string; owner: string; json?: boolean } & SubjectFlags) => {
      const app = await withDatabase(({ database }) =>
        database.transaction().execute(async (tx) => {
          const subject = await findSubject(tx, flags);
          const id = await createApp(tx, cliActor(), flags);
          if (subject) await bindApp(tx, cliActor(), id, subject);
          return readApp(tx, id);
        }),
      );
      print(flags.json, app, [
        `App ${app.id} (${app.name}) for ${app.owners.join(', ')}${boundTo(app)}`,
        `Create a key:  npx orgdir keys create --app ${app.id} --scope read:directory`,
      ]);
    });
  addSubjectOptions(create, 'bind it to');
  apps
    .command('list')
    .description('List all apps, oldest first.')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  orgdir apps list --json')
    .action(async ({ json }: { json?: boolean }) => {
      const found = await withDatabase(({ database }) => listApps(database));
      print(
        json,
        found,
        table(
          ['ID', 'NAME', 'OWNERS', 'BOUND TO', 'STATE'],
          found.map((app) => [
            app.id,
            app.name,
            app.owners.join(', '),
            app.organizationSlug ?? app.allianceSlug ?? '-',
            app.suspendedReason === null ? 'active' : `suspended: ${app.suspendedReason}`,
          ]),
        ),
      );
    });
  addAppChanges(apps);
  addSuspension(apps, 'app');
  addMemberCommands(apps);
}

function boundTo({ organizationSlug, allianceSlug }: App): string {
  if (organizationSlug !== null) return `, bound to the organisation ${organizationSlug}`;
  return allianceSlug === null ? '' : `, bound to the alliance ${allianceSlug}`;
}

function addKeys(program: Command): void {
  const keys = program.command('keys').description('Manage API keys.');
  addKeyCreate(keys);
  addKeyList(keys);
  addKeyRevoke(keys);
  addKeyRotation(keys);
  addSuspension(keys, 'key');
}

function addKeyCreate(keys: Command): void {
  keys
    .command('create')
    .description('Create a key for an app or for the platform. It is shown only once.')
    .option('--app <id>', 'app that the key belongs to')
    .option('--scope <scope...>', `what the key may do: ${scopes.join(', ')}`, collectScopes)
    .addOption(
      new Option(
        '--platform',
        'create a platform key, which may use all of the internal API and nothing else',
      ).conflicts(['app', 'scope']),
    )
    .option('--name <name>', 'name of the key', parseName, 'key')
    .option(
      '--expires <time>',
      'when the key expires, such as 2027-01-31 or 2027-01-31T12:00:00Z',
      parseFutureOption,
    )
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Examples:
  orgdir keys create --app 0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f --scope read:directory write:webhooks
  orgdir keys create --platform --name "Web site" --expires 2027-01-31`,
    )
    .action(async (flags: NewKeyFlags, command: Command) => {
      const make = keyCreator(flags, command);
      const created = await withDatabase(({ database }) => database.transaction().execute(make));
      print(flags.json, created, [`Key ${created.id}, shown only once:`, created.key]);
    });
}

function addKeyList(keys: Command): void {
  keys
    .command('list')
    .description('List keys, oldest first, with their last four characters.')
    .option('--app <id>', 'only keys of this app', parseId)
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  orgdir keys list')
    .action(async ({ app, json }: { app?: string; json?: boolean }) => {
      const found = await withDatabase(async ({ database }) => {
        if (app !== undefined) await readApp(database, app);
        return listKeys(database, app ?? null);
      });
      print(
        json,
        found,
        table(['ID', 'NAME', 'KEY', 'SCOPES', 'STATE', 'LAST USED'], found.map(keyRow)),
      );
    });
}

function addKeyRevoke(keys: Command): void {
  keys
    .command('revoke')
    .description('Revoke a key permanently. Every process refuses it within a second.')
    .argument('<id>', 'id of the key')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  orgdir keys revoke 0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f')
    .action(async (id: string, { json }: { json?: boolean }) => {
      const fresh = await withDatabase(({ database }) =>
        database.transaction().execute((tx) => revokeKey(tx, cliActor(), id)),
      );
      print(json, { id, revoked: true, changed: fresh }, [
        fresh ? `Key ${id} is revoked.` : `Key ${id} was already revoked.`,
      ]);
    });
}

type NewKeyFlags = {
  app?: string;
  scope?: string[];
  platform?: boolean;
  name: string;
  expires?: Date;
  json?: boolean;
};

/** Returns a function that creates the requested key. Exits with 2 if the arguments are incomplete. */
function keyCreator(
  flags: NewKeyFlags,
  command: Command,
): (tx: Transaction) => ReturnType<typeof createKey> {
  const { app, scope, platform, name } = flags;
  const fields = { name, expiresAt: flags.expires ?? null };
  if (platform) return (tx) => createPlatformKey(tx, cliActor(), fields);
  if (app === undefined)
    command.error("error: required option '--app <id>' or '--platform' not specified");
  if (scope === undefined)
    command.error("error: required option '--scope <scope...>' not specified");
  return (tx) => createKey(tx, cliActor(), { ...fields, appId: app, scopes: scope });
}

/** One argument may hold several scopes, separated by commas. */
function collectScopes(text: string, earlier: string[] | undefined): string[] {
  const chosen = text.split(',');
  if (chosen.every((each) => (scopes as readonly string[]).includes(each)))
    return [...(earlier ?? []), ...chosen];
  throw new InvalidArgumentError(`It must be one or more of ${scopes.join(', ')}.`);
}

function stateOf({ revokedAt, suspendedAt, appSuspended, expiresAt }: ListedKey): string {
  if (revokedAt) return 'revoked';
  if (suspendedAt) return 'suspended';
  if (appSuspended) return 'app suspended';
  if (!expiresAt) return 'active';
  return expiresAt.getTime() <= Date.now() ? 'expired' : `until ${expiresAt.toISOString()}`;
}

function keyRow(key: ListedKey): string[] {
  return [
    key.id,
    key.name,
    `odk_…${key.last4}`,
    key.scopes.join(','),
    stateOf(key),
    key.lastUsedAt?.toISOString() ?? 'never',
  ];
}

function addManagers(program: Command): void {
  const managers = program
    .command('managers')
    .description('Manage who may bind apps to organisations and alliances.');
  for (const [verb, change] of [
    ['add', addManager],
    ['remove', removeManager],
  ] as const) {
    const command = managers
      .command(verb)
      .description(
        verb === 'add' ? 'Add a manager.' : 'Remove a manager and the bindings that they made.',
      )
      .requiredOption('--email <email>', 'email address of the manager', parseEmail)
      .option('--json', 'print JSON')
      .addHelpText(
        'after',
        `\nExample:\n  orgdir managers ${verb} --org acme-corporation --email ada@example.org`,
      )
      .action(async (flags: { email: string; json?: boolean } & SubjectFlags) => {
        checkSubjectOptions(flags, command);
        const changed = await withDatabase(({ database }) =>
          database
            .transaction()
            .execute(async (tx) =>
              change(tx, cliActor(), await requireSubject(tx, flags), flags.email),
            ),
        );
        print(flags.json, { changed }, [changed ? 'Done.' : 'Nothing to change.']);
      });
    addSubjectOptions(command, 'manager of');
  }
}

function addKeyRotation(keys: Command): void {
  keys
    .command('rotate')
    .description(
      'Replace a key with a new one of the same name and scopes, shown only once. The old key stays valid for a while.',
    )
    .argument('<id>', 'id of the key')
    .option(
      '--overlap <seconds>',
      `how long the old key stays valid, in seconds, 0 to ${overlapSecondsMax}`,
      parseInteger(0, overlapSecondsMax),
      overlapSecondsDefault,
    )
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExample:\n  orgdir keys rotate 0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f --overlap 3600',
    )
    .action(async (id: string, { overlap, json }: { overlap: number; json?: boolean }) => {
      const created = await withDatabase(({ database }) =>
        database.transaction().execute((tx) => rotateKey(tx, cliActor(), id, overlap)),
      );
      print(json, created, [
        `Key ${created.id}, shown only once:`,
        created.key,
        `The old key expires at ${created.oldEndsAt.toISOString()}.`,
      ]);
    });
}
