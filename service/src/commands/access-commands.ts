import { type Command, InvalidArgumentError, Option } from 'commander';
import { type App, createApp, listApps, readApp, deleteApp, renameApp } from '../access/apps.ts';
import { bindApp, unbindApp } from '../access/bindings.ts';
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
import { cliActor, table } from './with-database.ts';
import {
  type SubjectFlags,
  checkSubjectOptions,
  findSubject,
  requireSubject,
  subjectOptions,
} from './find-subject.ts';
import { addMemberCommands } from './member-commands.ts';
import {
  addCommand,
  exampleId,
  parseEmail,
  parseFutureOption,
  parseId,
  parseInteger,
  parseName,
  requiredOption,
} from './parse-option.ts';
import { addSuspension } from './suspension-commands.ts';
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
  addCommand<{ name: string; owner: string } & SubjectFlags>(apps, {
    name: 'create',
    description: 'Create an app. With --org or --alliance, bind it to what its owner manages.',
    options: [
      requiredOption('--name <name>', 'name of the app', parseName),
      requiredOption('--owner <email>', 'email address of the first owner', parseEmail),
      ...subjectOptions('bind it to'),
    ],
    example: '--name "Herald" --owner ada@example.org --org acme-corporation',
    async act({ change, flags }) {
      const app = await change(async (tx) => {
        const subject = await findSubject(tx, flags);
        const id = await createApp(tx, cliActor(), flags);
        if (subject) await bindApp(tx, cliActor(), id, subject);
        return readApp(tx, id);
      });
      return [
        app,
        [
          `App ${app.id} (${app.name}) for ${app.owners.join(', ')}${boundTo(app)}`,
          `Create a key:  npx orgdir keys create --app ${app.id} --scope read:directory`,
        ],
      ];
    },
  });
  addCommand(apps, {
    name: 'list',
    description: 'List all apps, oldest first.',
    example: '--json',
    async act({ database }) {
      const found = await listApps(database);
      const rows = found.map((app) => [
        app.id,
        app.name,
        app.owners.join(', '),
        app.organizationSlug ?? app.allianceSlug ?? '-',
        app.suspendedReason === null ? 'active' : `suspended: ${app.suspendedReason}`,
      ]);
      return [found, table(['ID', 'NAME', 'OWNERS', 'BOUND TO', 'STATE'], rows)];
    },
  });
  addAppChanges(apps);
  addSuspension(apps, 'app');
  addMemberCommands(apps);
}

function boundTo({ organizationSlug, allianceSlug }: App): string {
  if (organizationSlug !== null) return `, bound to the organisation ${organizationSlug}`;
  return allianceSlug === null ? '' : `, bound to the alliance ${allianceSlug}`;
}

const lostKey =
  'If the command ends before it has printed the key, keys list shows the key as never used: rotate it, or revoke it.';

function addKeys(program: Command): void {
  const keys = program.command('keys').description('Manage API keys.');
  addKeyCreate(keys);
  addKeyList(keys);
  addKeyRevoke(keys);
  addKeyRotation(keys);
  addSuspension(keys, 'key');
}

function addKeyCreate(keys: Command): void {
  addCommand<NewKeyFlags>(keys, {
    name: 'create',
    description: 'Create a key for an app or for the platform. It is shown only once.',
    options: [
      ['--app <id>', 'app that the key belongs to', String],
      new Option('--scope <scope...>', `what the key may do: ${scopes.join(', ')}`).argParser(
        collectScopes,
      ),
      new Option(
        '--platform',
        'create a platform key, which may use all of the internal API and nothing else',
      ).conflicts(['app', 'scope']),
      ['--name <name>', 'name of the key', parseName, 'key'],
      [
        '--expires <time>',
        'when the key expires, such as 2027-01-31 or 2027-01-31T12:00:00Z',
        parseFutureOption,
      ],
    ],
    note: lostKey,
    example: [
      `--app ${exampleId} --scope read:directory write:webhooks`,
      '--platform --name "Web site" --expires 2027-01-31',
    ],
    check: ({ flags, command }) => void keyCreator(flags, command),
    async act({ change, flags, command }) {
      const created = await change(keyCreator(flags, command));
      return [created, [`Key ${created.id}, shown only once:`, created.key]];
    },
  });
}

function addKeyList(keys: Command): void {
  addCommand<{ app?: string }>(keys, {
    name: 'list',
    description: 'List keys, oldest first, with their last four characters.',
    options: [['--app <id>', 'only keys of this app', parseId]],
    async act({ database, flags: { app } }) {
      if (app !== undefined) await readApp(database, app);
      const found = await listKeys(database, app ?? null);
      const header = ['ID', 'NAME', 'KEY', 'SCOPES', 'STATE', 'LAST USED'];
      return [found, table(header, found.map(keyRow))];
    },
  });
}

function addKeyRevoke(keys: Command): void {
  addCommand(keys, {
    name: 'revoke',
    description: 'Revoke a key permanently. Every process refuses it within a second.',
    argument: ['<id>', 'id of the key'],
    example: exampleId,
    async act({ change, given: id }) {
      const changed = await change((tx) => revokeKey(tx, cliActor(), id));
      return [
        { id, revoked: true, changed },
        [changed ? `Key ${id} is revoked.` : `Key ${id} was already revoked.`],
      ];
    },
  });
}

type NewKeyFlags = {
  app?: string;
  scope?: string[];
  platform?: boolean;
  name: string;
  expires?: Date;
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
  for (const [verb, write, description] of [
    ['add', addManager, 'Add a manager.'],
    ['remove', removeManager, 'Remove a manager and the bindings that they made.'],
  ] as const)
    addCommand<{ email: string } & SubjectFlags>(managers, {
      name: verb,
      description,
      options: [
        requiredOption('--email <email>', 'email address of the manager', parseEmail),
        ...subjectOptions('manager of'),
      ],
      example: '--org acme-corporation --email ada@example.org',
      check: checkSubjectOptions,
      async act({ change, flags }) {
        const changed = await change(async (tx) =>
          write(tx, cliActor(), await requireSubject(tx, flags), flags.email),
        );
        return [{ changed }, [changed ? 'Done.' : 'Nothing to change.']];
      },
    });
}

function addKeyRotation(keys: Command): void {
  addCommand<{ overlap: number }>(keys, {
    name: 'rotate',
    description:
      'Replace a key with a new one of the same name and scopes, shown only once. The old key stays valid for a while.',
    argument: ['<id>', 'id of the key'],
    options: [
      [
        '--overlap <seconds>',
        `how long the old key stays valid, in seconds, 0 to ${overlapSecondsMax}`,
        parseInteger(0, overlapSecondsMax),
        overlapSecondsDefault,
      ],
    ],
    note: lostKey,
    example: `${exampleId} --overlap 3600`,
    async act({ change, given, flags: { overlap } }) {
      const created = await change((tx) => rotateKey(tx, cliActor(), given, overlap));
      return [
        created,
        [
          `Key ${created.id}, shown only once:`,
          created.key,
          `The old key expires at ${created.oldEndsAt.toISOString()}.`,
        ],
      ];
    },
  });
}

const argument = ['<id>', 'id of the app'] as const;

/** Those that change an existing app. */
function addAppChanges(apps: Command): void {
  addCommand(apps, {
    name: 'rename',
    description: 'Rename an app.',
    argument,
    secondArgument: ['<name>', 'new name', parseName],
    example: `${exampleId} "Town crier"`,
    async act({ change, given: id, second: name }) {
      const app = await change(async (tx) => {
        await renameApp(tx, cliActor(), id, name);
        return readApp(tx, id);
      });
      return [app, [`Renamed app ${app.id} to ${app.name}.`]];
    },
  });
  addBinding(apps);
  addCommand(apps, {
    name: 'delete',
    description: 'Delete an app with its keys, webhooks and deliveries. This cannot be undone.',
    argument,
    example: exampleId,
    async act({ change, given: id }) {
      await change((tx) => deleteApp(tx, cliActor(), id));
      return [{ id, deleted: true }, [`App ${id} is deleted.`]];
    },
  });
}

function addBinding(apps: Command): void {
  addCommand<SubjectFlags>(apps, {
    name: 'bind',
    description:
      'Bind an app to an organisation or alliance that one of its owners manages, so that it receives the internal events.',
    argument,
    options: subjectOptions('bind it to'),
    example: `${exampleId} --org acme-corporation`,
    check: checkSubjectOptions,
    async act({ change, given: id, flags }) {
      const app = await change(async (tx) => {
        await readApp(tx, id);
        await bindApp(tx, cliActor(), id, await requireSubject(tx, flags));
        return readApp(tx, id);
      });
      return [app, [`App ${id} is bound to ${app.organizationSlug ?? app.allianceSlug}.`]];
    },
  });
  addCommand(apps, {
    name: 'unbind',
    description: 'Unbind an app. Pending deliveries that depend on the binding are cancelled.',
    argument,
    example: exampleId,
    async act({ change, given: id }) {
      const changed = await change(async (tx) => {
        await readApp(tx, id);
        return unbindApp(tx, cliActor(), id);
      });
      return [
        { id, changed },
        [changed ? `App ${id} is no longer bound.` : `App ${id} was not bound.`],
      ];
    },
  });
}
