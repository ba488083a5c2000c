import { createReadStream } from 'node:fs';
import { access, constants, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { escapeControls, toJsonLine } from '@orgdir/client/command/escape-controls';
import { nameActor } from '../access/audit-log.ts';
import { invalid, ServiceError } from '../errors.ts';
import { ExistingNamesError } from '../directory/existing-names.ts';
import {
  BadLinesError,
  badLinesNamedMax,
  importLines,
  importSchemas,
  tidyAfterImport,
  type ImportKind,
  type ImportResult,
} from '../directory/import.ts';
import { readNdjson } from '../directory/import-source.ts';
import { readCsv } from '../directory/read-csv.ts';
import { ArgumentsError } from './report-error.ts';
import { createProgressLine, cliActor, withDatabase } from './with-database.ts';
import { isCsv, kindArgument, kindsInOrder } from './export-command.ts';
import { parsePath } from './parse-option.ts';

type ImportFlags = {
  skipBad?: boolean;
  allowDuplicates?: boolean;
  emitEvents?: boolean;
  json?: boolean;
};
type Source = { kind: ImportKind; file: string };

/** It waits for other writers. */
const importing = { waits: true };

export function addDirectoryCommands(program: Command): void {
  program
    .command('import')
    .description('Import organisations, alliances or blueprints from a file: all lines or nothing.')
    .addArgument(kindArgument())
    .argument(
      '<file>',
      'NDJSON, or CSV (.csv) for orgs and alliances; - reads NDJSON from standard input; for all: the folder that export all wrote',
      parsePath,
    )
    .option('--skip-bad', 'skip bad lines instead of importing nothing')
    .option(
      '--allow-duplicates',
      'create entries without a slug even if their names are already in the directory',
    )
    .option('--emit-events', 'publish events of entries that become public or change')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
A line whose slug exists (for blueprints: whose key exists) replaces that entry's fields. A line without a slug
creates an entry, with a slug made from its name; if that name is already in the directory, nothing is imported, also
with --skip-bad. Nothing is deleted. Managers change only if a line has them.

Examples:
  orgdir import alliances demo/alliances.ndjson
  orgdir import orgs organisations.csv --skip-bad
  orgdir import all backup-2027-01-31
  gunzip -c blueprints.ndjson.gz | orgdir import blueprints -`,
    )
    .action((kind: ImportKind | 'all', file: string, flags: ImportFlags) =>
      kind === 'all' ? importFolder(file, flags) : importFile({ kind, file }, flags),
    );
}

async function importFile(source: Source, flags: ImportFlags): Promise<void> {
  const { kept, results } = await importSources([source], flags, { mayBeEmpty: false });
  for (const { kind, result } of results) {
    if (flags.json) console.log(toJsonLine({ kept, ...result }));
    else printResult(kind, result, kept, 'line');
  }
}

/** Imports a folder that `export all` wrote, in one transaction. A directory without alliances has an empty file. */
async function importFolder(folder: string, flags: ImportFlags): Promise<void> {
  const sources = kindsInOrder.map((kind) => ({ kind, file: join(folder, `${kind}.ndjson`) }));
  const { kept, results } = await importSources(sources, flags, { mayBeEmpty: true });
  const byKind = Object.fromEntries(results.map(({ kind, result }) => [kind, result]));
  if (flags.json) console.log(toJsonLine({ kept, ...byKind }));
  else
    for (const { kind, result } of results) printResult(kind, result, kept, `${kind}.ndjson, line`);
}

type Imported = { kept: boolean; results: { kind: ImportKind; result: ImportResult }[] };

/** Imports several files in one transaction. The first file with bad lines ends it and sets the exit code. */
async function importSources(
  sources: Source[],
  flags: ImportFlags,
  { mayBeEmpty }: { mayBeEmpty: boolean },
): Promise<Imported> {
  for (const { kind, file } of sources) {
    if (kind === 'blueprints' && isCsv(file))
      throw new ArgumentsError({
        path: 'file',
        message: 'must be NDJSON for blueprints; CSV has no lists',
      });
  }
  const sizes = await Promise.all(sources.map(({ file }) => fileSize(file)));
  const progress = createProgress(sumOf(sizes));
  const results: Imported['results'] = [];
  try {
    await withDatabase(async ({ database }, { publicUrl }) => {
      await database.transaction().execute(async (tx) => {
        await nameActor(tx, cliActor());
        const later: (() => Promise<unknown>)[] = [];
        for (const { kind, file } of sources) {
          const bytes = file === '-' ? process.stdin : createReadStream(file);
          const input = progress.watch(refuseOthers({ kind, file }, bytes));
          const lines = isCsv(file) ? readCsv(input, importSchemas[kind]) : readNdjson(input);
          const options = {
            kind,
            skipBad: flags.skipBad ?? false,
            allowDuplicates: flags.allowDuplicates ?? false,
            emitEvents: flags.emitEvents ?? false,
            publicUrl,
            later,
          };
          const result = await importLines(tx, lines, options);
          if (!mayBeEmpty && isEmpty(result))
            throw invalid({ path: 'file', message: 'is empty: it has no entries' });
          results.push({ kind, result });
        }
        for (const announce of later) await announce();
      });
      for (const { kind, result } of results) await tidyAfterImport(database, kind, result);
    }, importing);
    return { kept: true, results };
  } catch (error) {
    const { kind } = sources[results.length] ?? {};
    if (kind && error instanceof ExistingNamesError) throw existingNamesError(kind, error);
    if (!kind || !(error instanceof BadLinesError)) throw error;
    process.exitCode = 1;
    return { kept: false, results: [{ kind, result: error.result }] };
  } finally {
    progress.clear();
  }
}

function existingNamesError(kind: ImportKind, { message, details }: ExistingNamesError) {
  return new ServiceError(
    'conflict',
    `Nothing was imported: ${message}. To replace these entries, add their slugs, which export ${kind} writes; to create more with the same names, use --allow-duplicates.`,
    { details },
  );
}

/** Refuses what is no file of lines at its first bytes: each of its lines would be a bad one, without saying why. */
async function* refuseOthers({ kind, file }: Source, input: AsyncIterable<Buffer>) {
  let isFirst = true;
  for await (const chunk of input) {
    const fault = isFirst ? findFault(kind, file, chunk) : null;
    if (fault !== null)
      throw invalid({ path: file === '-' ? 'standard input' : file, message: fault });
    isFirst = false;
    yield chunk;
  }
}

function findFault(kind: ImportKind, file: string, chunk: Buffer): string | null {
  // The first two bytes of every gzip file (RFC 1952). Neither NDJSON nor CSV has them: 0x8b begins no character.
  if (chunk[0] === 0x1f && chunk[1] === 0x8b) return gunzip(kind, file);
  if (isCsv(file) || !/^\uFEFF?\s*\[/.test(chunk.subarray(0, 1024).toString())) return null;
  return `is one JSON array; write each entry on its own line: jq -c '.[]' < ${file === '-' ? 'FILE' : file} | orgdir import ${kind} -`;
}

function gunzip(kind: ImportKind, file: string): string {
  const fault = 'is compressed with gzip; unpack it first:';
  // Standard input is read as NDJSON.
  if (isCsv(file.replace(/\.gz$/i, ''))) return `${fault} gunzip -c < ${file} > unpacked.csv`;
  return `${fault} gunzip -c < ${file === '-' ? 'FILE' : file} | orgdir import ${kind} -`;
}

function isEmpty({ created, updated, bad }: ImportResult): boolean {
  return created + updated + bad === 0;
}

/** Null if any size is unknown. */
function sumOf(sizes: (number | null)[]): number | null {
  return sizes.reduce((sum, size) => (sum === null || size === null ? null : sum + size), 0);
}

/** Null for an input of unknown size, such as a pipe. */
async function fileSize(file: string): Promise<number | null> {
  if (file === '-') return null;
  const found = await access(file, constants.R_OK).then(
    () => stat(file),
    () => null,
  );
  if (found?.isFile()) return found.size;
  if (found?.isFIFO()) return null;
  throw invalid({ path: 'file', message: `${file} is not a file, or cannot be read` });
}

/** What fits on a screen. A file of another kind has nothing but bad lines, often with the same fault. */
const badLinesShown = 20;

function printResult(kind: ImportKind, result: ImportResult, kept: boolean, line: string): void {
  const shown = result.badLines.slice(0, badLinesShown);
  for (const { line: number, reason } of shown)
    console.error(escapeControls(`${line} ${number}: ${reason}`));
  const more = result.bad - shown.length;
  if (more > 0)
    console.error(
      `and ${more} more bad ${more === 1 ? 'line' : 'lines'}; --json names up to ${badLinesNamedMax}`,
    );
  if (kept)
    console.log(
      `${result.created} ${kind} created, ${result.updated} updated${result.bad > 0 ? `, ${result.bad} bad ${result.bad === 1 ? 'line' : 'lines'} skipped` : ''}.`,
    );
  else
    console.error(
      `Nothing was imported: ${result.bad} bad ${result.bad === 1 ? 'line' : 'lines'}. Fix the file, or skip them with --skip-bad.`,
    );
}

/** Shows how many bytes were read. */
function createProgress(sizeBytes: number | null) {
  const show = createProgressLine();
  let readBytes = 0;
  return {
    async *watch(input: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
      for await (const chunk of input) {
        readBytes += chunk.length;
        show(progressText(readBytes, sizeBytes));
        yield chunk;
      }
    },
    clear: () => show(null),
  };
}

function progressText(readBytes: number, sizeBytes: number | null): string {
  // A file that has grown meanwhile has no size to compare with.
  if (sizeBytes === null || sizeBytes === 0 || readBytes > sizeBytes)
    return `Importing, ${Math.round(readBytes / 1024)} KiB read`;
  return `Importing, ${Math.floor((100 * readBytes) / sizeBytes)} %`;
}
