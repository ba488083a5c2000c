import { once } from 'node:events';
import { join } from 'node:path';
import type { Command } from 'commander';
import { StartError } from '../errors.ts';
import { print, withDatabase } from './with-database.ts';

export function addDatabaseCommand(program: Command): void {
  program
    .command('database')
    .description(
      'Keep the embedded database open for psql, pg_dump or pg_restore of yours, and print how to reach it. Ends at Ctrl-C.',
    )
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
What it prints are lines for a shell. With DATABASE_URL set there is no embedded database: connect to yours.

Examples:
  orgdir database
  orgdir database --json`,
    )
    .action(async ({ json }: { json?: boolean }) =>
      withDatabase(async ({ connection, embedded }, { dataDir }) => {
        if (!embedded)
          throw new StartError('DATABASE_URL is set: connect to that database yourself');
        const { host = '', port = 5432, user = '', database = '' } = connection;
        const passwordFile = join(dataDir, 'database-password');
        print(json, { host, port, user, database, passwordFile }, [
          `export PGHOST=${quoted(host)} PGPORT=${port} PGUSER=${user} PGDATABASE=${database}`,
          `export PGPASSWORD="$(cat ${quoted(passwordFile)})"`,
        ]);
        // The signal's own handler closes the database and ends the process.
        await once(process, 'SIGTERM');
        await new Promise<never>(() => {});
      }),
    );
}

/** As a shell reads it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
