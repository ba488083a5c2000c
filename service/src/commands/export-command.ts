import { Argument, Option, type Command } from 'commander';
import { toJsonLine } from '@orgdir/client/command/escape-controls';
import type { Transaction } from '../database/database.ts';
import { csvColumns, exportLines, toCsv } from '../directory/export.ts';
import { importSchemas, type ImportKind } from '../directory/import.ts';
import { ArgumentsError } from './report-error.ts';
import { createProgressLine, print, withDatabase } from './with-database.ts';
import { parsePath } from './parse-option.ts';
import {
  PipeClosedError,
  writeToStandardOutput,
  writeFileAtomically,
  writeFolderAtomically,
  type Write,
} from './write-atomically.ts';

type Format = 'ndjson' | 'csv';
type Flags = { format?: Format; json?: boolean };
type Counts = Partial<Record<ImportKind, number>>;

/** In this order an import finds each alliance before the organisations that refer to it. */
export const kindsInOrder: ImportKind[] = ['alliances', 'orgs', 'blueprints'];

export function kindArgument(): Argument {
  const kinds = ['orgs', 'alliances', 'blueprints', 'all'];
  return new Argument('<kind>', 'type of the entries').choices(kinds);
}

export function addExportCommand(program: Command): void {
  program
    .command('export')
    .description(
      'Export organisations, alliances or blueprints to a file that import reads. It includes private data: addresses, notes, managers, unlisted organisations.',
    )
    .addArgument(kindArgument())
    .argument(
      '[target]',
      'a file, or - for standard output (default); for all: a new folder, required',
      parsePath,
    )
    .addOption(
      new Option(
        '--format <format>',
        'one JSON object per line, or, for orgs and alliances, CSV (default: csv for a .csv file, else ndjson)',
      ).choices(['ndjson', 'csv']),
    )
    .option('--json', 'print the result as JSON; no effect if the target is standard output')
    .addHelpText(
      'after',
      `
An export is a snapshot of the directory. A file appears only when it is complete, and only its owner may read it. It
keeps slugs and all fields, but not ids, createdAt and updatedAt, nor apps, keys, webhooks and events
(docs/command-line.md).

Examples:
  orgdir export all backup-2027-01-31
  orgdir export orgs organisations.csv
  orgdir export blueprints | gzip > blueprints.ndjson.gz`,
    )
    .action((kind: ImportKind | 'all', target: string | undefined, flags: Flags) =>
      kind === 'all' ? exportAll(target, flags) : exportKind(kind, target ?? '-', flags),
    );
}

async function exportAll(folder: string | undefined, { format, json }: Flags): Promise<void> {
  if (folder === undefined || folder === '-')
    throw new ArgumentsError({
      path: 'target',
      message: 'must be a new folder: all is three files',
    });
  refuseCsv(folder, format);
  const counts = await withSnapshot((tx) =>
    writeFolderAtomically(folder, async (writeInto) => {
      const done: Counts = {};
      for (const kind of kindsInOrder)
        done[kind] = await writeInto(`${kind}.ndjson`, (write) =>
          writeKind(tx, kind, 'ndjson', write),
        );
      return done;
    }),
  );
  printCounts(counts, folder, json);
}

async function exportKind(kind: ImportKind, file: string, flags: Flags): Promise<void> {
  if (kind === 'blueprints') refuseCsv(file, flags.format);
  const { format = isCsv(file) ? 'csv' : 'ndjson', json } = flags;
  if (file === '-') return exportToStandardOutput(kind, format);
  const count = await withSnapshot((tx) =>
    writeFileAtomically(file, (write) => writeKind(tx, kind, format, write)),
  );
  printCounts({ [kind]: count }, file, json);
}

export function isCsv(file: string): boolean {
  return file.toLowerCase().endsWith('.csv');
}

/** An import reads a file as its name says, so one with blueprints must not end in .csv either. */
function refuseCsv(target: string, format: Format | undefined): void {
  const noCsv = 'csv cannot hold blueprints, which have lists';
  if (format === 'csv')
    throw new ArgumentsError({ path: '--format', message: `${noCsv}; leave it out` });
  if (isCsv(target))
    throw new ArgumentsError({
      path: 'target',
      message: `${target} must not end in .csv: ${noCsv}`,
    });
}

async function exportToStandardOutput(kind: ImportKind, format: Format): Promise<void> {
  try {
    await withSnapshot((tx) => writeKind(tx, kind, format, writeToStandardOutput));
  } catch (error) {
    if (!(error instanceof PipeClosedError)) throw error;
  }
}

/** All statements of the transaction see the same snapshot. */
function withSnapshot<T>(act: (tx: Transaction) => Promise<T>): Promise<T> {
  return withDatabase(({ database }) =>
    database
      .transaction()
      .setIsolationLevel('repeatable read')
      .setAccessMode('read only')
      .execute(act),
  );
}

async function writeKind(
  tx: Transaction,
  kind: ImportKind,
  format: Format,
  write: Write,
): Promise<number> {
  const columns = csvColumns(importSchemas[kind]);
  const toText = (entries: object[]) =>
    format === 'csv'
      ? toCsv(entries, columns)
      : entries.map((entry) => `${toJsonLine(entry)}\n`).join('');
  const isOnTerminal = write === writeToStandardOutput && process.stdout.isTTY;
  const showProgress = isOnTerminal ? () => {} : createProgressLine();
  let count = 0;
  if (format === 'csv') await write(`${columns.join(',')}\n`);
  for await (const entries of exportLines(tx, kind)) {
    await write(toText(entries));
    count += entries.length;
    showProgress(`Exporting, ${count} ${kind}`);
  }
  showProgress(null);
  return count;
}

function printCounts(counts: Counts, target: string, json: boolean | undefined): void {
  const words = Object.entries(counts).map(([kind, count]) => `${count} ${kind}`);
  print(json, { target, counts }, [`${words.join(', ')} written to ${target}.`]);
}
