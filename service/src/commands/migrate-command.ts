import type { Command } from 'commander';
import { estimateLocks, type MigrationEstimate } from '../database/estimate-locks.ts';
import { listPending } from '../database/migrate.ts';
import { addCommand } from './parse-option.ts';
import { table } from './with-database.ts';

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
