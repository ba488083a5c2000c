import { type Command, InvalidArgumentError, Option } from 'commander';
import { readApp } from '../access/apps.ts';
import {
  createKey,
  createPlatformKey,
  listKeys,
  type ListedKey,
  revokeKey,
  scopes,
} from '../access/keys.ts';
import { rotateKey } from '../access/rotate-key.ts';
import { overlapSecondsDefault, overlapSecondsMax } from '../contract/periods.ts';
import type { Transaction } from '../database/database.ts';
import {
  addCommand,
  exampleId,
  parseFutureOption,
  parseId,
  parseInteger,
  parseName,
} from './parse-option.ts';
import { addSuspension } from './suspension-commands.ts';
import { cliActor, table } from './with-database.ts';

const lostKey =
  'If the command ends before it has printed the key, keys list shows the key as never used: rotate it, or revoke it.';

export function addKeyCommands(program: Command): void {
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
