import { once } from 'node:events';
import { join } from 'node:path';
import type { Command } from 'commander';
import { readOrCreateSecret } from '../database/secret-file.ts';
import { StartError } from '../errors.ts';
import { findLostKey, secretKeyFile } from '../database/read-secret-keys.ts';
import { addMoveCommand } from './moving-commands.ts';
import { addCommand } from './parse-option.ts';
import { print, withDatabase } from './with-database.ts';

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
