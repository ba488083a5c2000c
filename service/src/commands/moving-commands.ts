/** Commands that copy a whole installation: into another database, into a file, and back. */
import { InvalidArgumentError, type Command } from 'commander';
import type { Config } from '../settings/config.ts';
import { withBackup, writeBackup } from '../database/backup-file.ts';
import { checkTarget, loadSnapshot } from '../database/load-snapshot.ts';
import { withSnapshot, type RowCounts } from '../database/read-snapshot.ts';
import { StartError } from '../errors.ts';
import { openConfiguredDatabase } from '../start/open-database.ts';
import { secretKeyFile } from '../database/read-secret-keys.ts';
import { postgresUrl } from '../settings/setting-types.ts';
import { parsePath } from './parse-option.ts';
import { print, table, toolName, withDatabase } from './with-database.ts';
import { writeFileAtomically } from './write-atomically.ts';

type Flags = { to: string; dryRun?: boolean; json?: boolean };

/** `alone`: nobody may write meanwhile. */
const options = { unmigrated: true, alone: true };

export function addMoveCommand(database: Command): void {
  database
    .command('move')
    .description('Copy everything of a stopped installation into an empty PostgreSQL database.')
    .requiredOption('--to <address>', 'the address of the empty database', parseTarget)
    .option('--dry-run', 'check both databases and count the rows; change nothing')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
It checks both databases, copies all rows in one transaction and compares the counts. The source stays as it is. If it is
interrupted, run it again. Stop what publishes by SQL, too. SECRET_KEY is not copied. A password may be in PGPASSWORD.

Example:
  orgdir database move --to postgres://orgdir@127.0.0.1:5432/orgdir --dry-run`,
    )
    .action((_flags: Flags, command: Command) => {
      // `orgdir database` has --json, too, and takes it.
      const { to, dryRun, json } = command.optsWithGlobals<Flags>();
      return withDatabase(async ({ connection }, config) => {
        const source = { applicationName: toolName, mustBeStopped: true };
        const target = await openTarget(to, config);
        try {
          await withSnapshot(connection, source, async (snapshot) => {
            if (dryRun) {
              await checkTarget(target.connection, toolName, snapshot);
              printCounts(json, 'Would copy', await snapshot.countRows(), config);
            } else {
              const counts = await loadSnapshot(target.connection, toolName, snapshot);
              printCounts(json, 'Copied', counts, config);
            }
          });
        } finally {
          await target.close();
        }
      }, options);
    });
}

export function addBackupCommands(program: Command): void {
  program
    .command('backup')
    .description('Write everything of an installation at one moment into a new file.')
    .argument('<file>', 'a file that does not exist yet', parsePath)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
The service may run. Only the owner of the file may read it. It does not contain SECRET_KEY: keep that, too.

Example:
  orgdir backup orgdir-2027-01-31.backup`,
    )
    .action((file: string, { json }: Flags) =>
      withDatabase(
        async ({ connection }, config) => {
          const source = { applicationName: toolName, mustBeStopped: false };
          const counts = await withSnapshot(connection, source, (snapshot) =>
            writeFileAtomically(file, (write) => writeBackup(snapshot, write), { replaces: false }),
          );
          printCounts(json, 'Wrote', counts, config);
        },
        { unmigrated: true },
      ),
    );
  program
    .command('restore')
    .description('Load a file of backup into an empty database, and migrate it.')
    .argument('<file>', 'a file that backup has written', parsePath)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Set DATABASE_URL to an empty database, or DATA_DIR to a new folder. The service then needs the SECRET_KEY of the installation
that the backup is of. If it is interrupted, run it again.

Example:
  DATA_DIR=./data-restored orgdir restore orgdir-2027-01-31.backup`,
    )
    .action((file: string, { json }: Flags) =>
      withBackup(file, (snapshot) =>
        withDatabase(async ({ connection }, config) => {
          printCounts(json, 'Restored', await loadSnapshot(connection, toolName, snapshot), config);
        }, options),
      ),
    );
}

function parseTarget(text: string): string {
  const address = postgresUrl.parse(text);
  if (address !== null) return address;
  throw new InvalidArgumentError(
    `It must be ${postgresUrl.description}, for example ${postgresUrl.examples?.[0]}.`,
  );
}

function openTarget(databaseUrl: string, { dataDir }: Config) {
  const target = { purpose: 'tool', applicationName: toolName, unmigrated: true } as const;
  return openConfiguredDatabase({ databaseUrl, dataDir }, target).catch((error: unknown) => {
    // The messages name the variable that addresses usually come from.
    if (error instanceof StartError) error.message = error.message.replace('DATABASE_URL', '--to');
    throw error;
  });
}

function printCounts(
  json: boolean | undefined,
  done: 'Would copy' | 'Copied' | 'Wrote' | 'Restored',
  counts: RowCounts,
  { secretKeys, databaseUrl, dataDir }: Config,
): void {
  const filled = Object.entries(counts).filter(([, count]) => count > 0);
  const rows = filled.reduce((sum, [, count]) => sum + count, 0);
  const secretKey = secretKeys || databaseUrl !== null ? null : secretKeyFile(dataDir);
  print(json, { rows, tables: counts, secretKeyFile: secretKey }, [
    ...table(
      ['table', 'rows'],
      filled.map(([name, count]) => [name, String(count)]),
    ),
    `${done} ${rows} rows of ${filled.length} tables.`,
    done === 'Restored'
      ? adviseKey(secretKey)
      : `The key in ${secretKey ?? 'SECRET_KEY'} is not copied. Keep it: every copy needs it, and nothing else decrypts the secrets.`,
  ]);
}

function adviseKey(file: string | null): string {
  const key = 'the key of the installation that the backup is of';
  const how = file
    ? `put ${key} into ${file}, or set SECRET_KEY to it`
    : `set SECRET_KEY to ${key}`;
  return `Before you start the service, ${how}: nothing else decrypts the secrets.`;
}
