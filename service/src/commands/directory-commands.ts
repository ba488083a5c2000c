import { createReadStream } from 'node:fs';
import { access, constants, stat } from 'node:fs/promises';
import { progress } from '@clack/prompts';
import { Argument, type Command } from 'commander';
import { invalid } from '../errors.ts';
import {
  BadLinesError,
  importLines,
  importSchemas,
  tidyAfterImport,
  type ImportKind,
  type ImportResult,
} from '../directory/import.ts';
import { readCsv, readNdjson } from '../directory/import-source.ts';
import { withDatabase } from './with-database.ts';

type ImportFlags = { skipBad?: boolean; emitEvents?: boolean; json?: boolean };

export function addDirectoryCommands(program: Command): void {
  program
    .command('import')
    .description('Read organisations, alliances or blueprints from a file: all of it, or nothing.')
    .addArgument(
      new Argument('<kind>', 'what the file holds').choices(['orgs', 'alliances', 'blueprints']),
    )
    .argument(
      '<file>',
      'NDJSON, or CSV (.csv) for orgs and alliances; - reads NDJSON from standard input',
    )
    .option('--skip-bad', 'go on without bad lines, instead of keeping nothing')
    .option(
      '--emit-events',
      'announce what is public for the first time: org.created, alliance.created',
    )
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
A line whose slug exists (for blueprints: whose key exists) replaces that entry's fields. A line without a slug
makes a new entry, with a slug made from its name. Nothing is deleted.

Examples:
  orgdir import alliances demo/alliances.ndjson
  orgdir import orgs organisations.csv --skip-bad
  gunzip -c blueprints.ndjson.gz | orgdir import blueprints -`,
    )
    .action((kind: ImportKind, file: string, flags: ImportFlags) => importFile(kind, file, flags));
}

async function importFile(kind: ImportKind, file: string, flags: ImportFlags): Promise<void> {
  const isCsv = file.toLowerCase().endsWith('.csv');
  if (isCsv && kind === 'blueprints')
    throw invalid({ path: 'file', message: 'of blueprints must be NDJSON; CSV has no lists' });
  const sizeBytes = file === '-' ? null : await fileSize(file);
  const bar = createBar(sizeBytes);
  const input = bar.watch(file === '-' ? process.stdin : createReadStream(file));
  const lines = isCsv ? readCsv(input, importSchemas[kind]) : readNdjson(input);
  try {
    const result = await withDatabase(async ({ database }, { publicUrl }) => {
      const done = await database.transaction().execute((tx) =>
        importLines(tx, lines, {
          kind,
          skipBad: flags.skipBad ?? false,
          emitEvents: flags.emitEvents ?? false,
          publicUrl,
        }),
      );
      await tidyAfterImport(database, kind, done);
      return done;
    });
    bar.stop();
    finish(kind, result, flags, true);
  } catch (error) {
    bar.stop();
    if (!(error instanceof BadLinesError)) throw error;
    finish(kind, error.result, flags, false);
    process.exitCode = 1;
  }
}

/** Null for what has no size, such as a pipe. */
async function fileSize(file: string): Promise<number | null> {
  const found = await access(file, constants.R_OK).then(
    () => stat(file),
    () => null,
  );
  if (found?.isFile()) return found.size;
  if (found?.isFIFO()) return null;
  throw invalid({ path: 'file', message: `${file} is not a file that can be read` });
}

function finish(
  kind: ImportKind,
  result: ImportResult,
  { json }: ImportFlags,
  kept: boolean,
): void {
  for (const { line, reason } of result.badLines) console.error(`line ${line}: ${reason}`);
  if (result.bad > result.badLines.length)
    console.error(`and ${result.bad - result.badLines.length} more bad lines`);
  const summary = kept
    ? `${result.created} ${kind} created, ${result.updated} updated${result.bad > 0 ? `, ${result.bad} bad lines left out` : ''}.`
    : `Nothing was imported: ${result.bad} bad ${result.bad === 1 ? 'line' : 'lines'}. Mend the file, or go on without them with --skip-bad.`;
  if (json) console.log(JSON.stringify({ kept, ...result }));
  else (kept ? console.log : console.error)(summary);
}

/** On a terminal, a bar on standard error that follows the bytes that were read. */
function createBar(sizeBytes: number | null) {
  const bar = process.stderr.isTTY
    ? progress({ max: sizeBytes ?? 1, size: 40, output: process.stderr, indicator: 'timer' })
    : null;
  bar?.start('Importing');
  let readBytes = 0;
  return {
    async *watch(input: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
      for await (const chunk of input) {
        readBytes += chunk.length;
        bar?.advance(sizeBytes === null ? 0 : chunk.length, progressText(readBytes, sizeBytes));
        yield chunk;
      }
    },
    stop: () => bar?.stop(`${Math.round(readBytes / 1024)} KiB read`),
  };
}

function progressText(readBytes: number, sizeBytes: number | null): string {
  if (sizeBytes === null || sizeBytes === 0)
    return `Importing, ${Math.round(readBytes / 1024)} KiB read`;
  return `Importing, ${Math.floor((100 * readBytes) / sizeBytes)} %`;
}
