import type { Command } from 'commander';
import { estimateLocks, type MigrationEstimate } from '../database/estimate-locks.ts';
import { listPending } from '../database/migrate.ts';
import { print, table, withDatabase } from './with-database.ts';

export function addMigrateCommand(program: Command): void {
  program
    .command('migrate')
    .description(
      'Migrate the database to the newest schema. The service also does this when it starts.',
    )
    .option('--check', 'list pending migrations, what they lock and for how long; change nothing')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
A migration that does not get a lock within 100 ms rolls back and tries again, for a minute. The times of --check are
estimates from the sizes of the tables.

Examples:
  orgdir migrate --check
  orgdir migrate`,
    )
    .action(({ check, json }: { check?: boolean; json?: boolean }) => {
      if (check) return checkPending(json);
      return withDatabase(async () =>
        print(json, { migrated: true }, ['The schema is up to date.']),
      );
    });
}

async function checkPending(json: boolean | undefined): Promise<void> {
  await withDatabase(
    async ({ database }) => {
      const pending = await estimateLocks(database, await listPending(database));
      print(json, { pending }, formatEstimates(pending));
    },
    { unmigrated: true },
  );
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
