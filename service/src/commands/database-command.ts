/** The embedded database, its schema, and commands that copy a whole installation: into another database, into a file, and back. */
import { once } from 'node:events';
import { join } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { readOrCreateSecret, findLostKey, secretKeyFile } from '../database/read-secret-keys.ts';
import { StartError } from '../errors.ts';
import { addCommand, parsePath, requiredOption } from './parse-option.ts';
import { print, withDatabase, table, toolName } from './with-database.ts';
import type { Config } from '../settings/config.ts';
import { withBackup, writeBackup } from '../database/backup-file.ts';
import { withSnapshot, type RowCounts } from '../database/read-snapshot.ts';
import { checkTarget, loadSnapshot } from '../database/load-snapshot.ts';
import { openConfiguredDatabase } from '../start/open-database.ts';
import { postgresUrl } from '../settings/setting-types.ts';
import { writeFileAtomically } from './write-atomically.ts';
import { estimateLocks, type MigrationEstimate } from '../database/apply-migration.ts';
import { listPending } from '../database/migrate.ts';

export function addDatabaseCommand(program: Command): void {
  const command = program
    .command('database')
    .description(
      'Keep the embedded database open for psql, pg_dump or pg_restore, and print how to connect, until Ctrl-C.',
    )
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
It prints shell commands. If DATABASE_URL is set, there is no embedded database: connect to yours.

Examples:
  orgdir database
  orgdir database --json`,
    )
    .action(async ({ json }: { json?: boolean }) =>
      withDatabase(async ({ connection, embedded }, { dataDir }) => {
        if (!embedded)
          throw new StartError(
            'DATABASE_URL is set, so there is no embedded database; connect to that address instead',
          );
        const { host = '', port = 5432, user = '', database = '' } = connection;
        const passwordFile = join(dataDir, 'database-password');
        print(json, { host, port, user, database, passwordFile }, [
          `export PGHOST=${quoted(host)} PGPORT=${port} PGUSER=${user} PGDATABASE=${database}`,
          `export PGPASSWORD="$(cat ${quoted(passwordFile)})"`,
        ]);
        // The signal handler closes the database and ends the process.
        await once(process, 'SIGTERM');
        await new Promise<never>(() => {});
      }),
    );
  addMoveCommand(command);
  addReplaceKeyCommand(command);
}

function addReplaceKeyCommand(database: Command): void {
  addCommand(database, {
    name: 'replace-secret-key',
    description: 'Create the secret-key file of the embedded database again after it was lost.',
    note: 'What the lost key encrypted stays unreadable (docs/operations.md#keys).',
    open: { alone: true },
    async act({ opened, config: { dataDir, secretKeys } }) {
      const file = secretKeyFile(dataDir);
      const loss = await findLostKey(opened.database, dataDir);
      if (!opened.embedded || secretKeys || loss === null)
        throw new StartError(
          'no stored secret needs a lost key; to change the key, see docs/operations.md#keys',
        );
      await readOrCreateSecret(file);
      return [
        { file },
        [`Created ${file}. The secrets that the old key encrypted stay unreadable.`],
      ];
    },
  });
}

/** Quotes text for a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** `alone`: nobody may write meanwhile. */
const open = { unmigrated: true, alone: true };

function addMoveCommand(database: Command): void {
  addCommand<{ to: string; dryRun?: boolean }>(database, {
    name: 'move',
    description: 'Copy everything of a stopped installation into an empty PostgreSQL database.',
    options: [
      requiredOption('--to <address>', 'the address of the empty database', parseTarget),
      ['--dry-run', 'check both databases and count the rows; change nothing'],
    ],
    note: `It checks both databases, copies all rows in one transaction and compares the counts. The source stays as it is. If it is
interrupted, run it again. Stop what publishes by SQL, too. SECRET_KEY is not copied. A password may be in PGPASSWORD.`,
    example: '--to postgres://orgdir@127.0.0.1:5432/orgdir --dry-run',
    open,
    async act({ opened, config, flags: { to, dryRun } }) {
      const source = { applicationName: toolName, mustBeStopped: true };
      const target = await openTarget(to, config);
      try {
        return await withSnapshot(opened.connection, source, async (snapshot) => {
          if (!dryRun) {
            const counts = await loadSnapshot(target.connection, toolName, snapshot);
            return describeCounts('Copied', counts, config);
          }
          await checkTarget(target.connection, toolName, snapshot);
          return describeCounts('Would copy', await snapshot.countRows(), config);
        });
      } finally {
        await target.close();
      }
    },
  });
}

export function addBackupCommands(program: Command): void {
  addCommand(program, {
    name: 'backup',
    description: 'Write everything of an installation at one moment into a new file.',
    argument: ['<file>', 'a file that does not exist yet', parsePath],
    note: 'The service may run. Only the owner of the file may read it. It does not contain SECRET_KEY: keep that, too.',
    example: 'orgdir-2027-01-31.backup',
    open: { unmigrated: true },
    async act({ opened, config, given: file }) {
      const source = { applicationName: toolName, mustBeStopped: false };
      const counts = await withSnapshot(opened.connection, source, (snapshot) =>
        writeFileAtomically(file, (write) => writeBackup(snapshot, write), { replaces: false }),
      );
      return describeCounts('Wrote', counts, config);
    },
  });
  addRestoreCommand(program);
}

/** It reads the file before it opens the database. */
function addRestoreCommand(program: Command): void {
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
    .action((file: string, { json }: { json?: boolean }) =>
      withBackup(file, (snapshot) =>
        withDatabase(async ({ connection }, config) => {
          const counts = await loadSnapshot(connection, toolName, snapshot);
          print(json, ...describeCounts('Restored', counts, config));
        }, open),
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

function describeCounts(
  done: 'Would copy' | 'Copied' | 'Wrote' | 'Restored',
  counts: RowCounts,
  { secretKeys, databaseUrl, dataDir }: Config,
): [value: object, lines: string[]] {
  const filled = Object.entries(counts).filter(([, count]) => count > 0);
  const rows = filled.reduce((sum, [, count]) => sum + count, 0);
  const secretKey = secretKeys || databaseUrl !== null ? null : secretKeyFile(dataDir);
  const lines = [
    ...table(
      ['table', 'rows'],
      filled.map(([name, count]) => [name, String(count)]),
    ),
    `${done} ${rows} rows of ${filled.length} tables.`,
    done === 'Restored'
      ? adviseKey(secretKey)
      : `The key in ${secretKey ?? 'SECRET_KEY'} is not copied. Keep it: every copy needs it, and nothing else decrypts the secrets.`,
  ];
  return [{ rows, tables: counts, secretKeyFile: secretKey }, lines];
}

function adviseKey(file: string | null): string {
  const key = 'the key of the installation that the backup is of';
  const how = file
    ? `put ${key} into ${file}, or set SECRET_KEY to it`
    : `set SECRET_KEY to ${key}`;
  return `Before you start the service, ${how}: nothing else decrypts the secrets.`;
}

export function addMigrateCommand(program: Command): void {
  addCommand<{ check?: boolean }>(program, {
    name: 'migrate',
    description:
      'Migrate the database to the newest schema. The service also does this when it starts.',
    options: [
      ['--check', 'list pending migrations, what they lock and for how long; change nothing'],
    ],
    note: `A migration that does not get a lock within 100 ms rolls back and tries again, for a minute. The times of --check are
estimates from the sizes of the tables.`,
    example: ['--check', ''],
    open: ({ check = false }) => ({ unmigrated: check }),
    async act({ database, flags: { check } }) {
      if (!check) return [{ migrated: true }, ['The schema is up to date.']];
      const pending = await estimateLocks(database, await listPending(database));
      return [{ pending }, formatEstimates(pending)];
    },
  });
}

function formatEstimates(pending: MigrationEstimate[]): string[] {
  if (pending.length === 0) return ['The schema is up to date.'];
  return pending.flatMap(({ name, ms, tables }) => [
    `${name}: ${formatTime(ms)}`,
    ...(tables.length === 0
      ? []
      : table(header, tables.map(formatTable)).map((line) => `  ${line}`)),
  ]);
}

const header = ['table', 'size', 'meanwhile', 'work'];
const effects = { reads: 'no reads, no writes', writes: 'no writes' };
const works = {
  reads: 'reads the whole table',
  indexes: 'creates indexes',
  rewrites: 'rewrites the table',
};

function formatTable({ table: name, bytes, blocks, work }: MigrationEstimate['tables'][number]) {
  return [
    name,
    `${(bytes / 1e6).toFixed(1)} MB`,
    blocks ? effects[blocks] : 'reads and writes',
    work ? works[work] : 'none',
  ];
}

function formatTime(ms: number): string {
  return ms < 1_000 ? `about ${Math.ceil(ms)} ms` : `about ${Math.ceil(ms / 1_000)} s`;
}
