/**
 * Reads import files line by line: turns NDJSON or CSV into numbered values or numbered faults. It checks no schema.
 */
import { Readable } from 'node:stream';
import type { CsvError } from 'csv-parse';
import type { TSchema } from 'typebox';

/** `number` counts lines from 1, as an editor does; `bytes` is the length of the line if it is known. */
export type SourceLine = { number: number; bytes?: number } & (
  | { value: unknown }
  | { fault: string }
);

/** More than the largest entry that the schemas allow, with every character escaped. */
export const lineBytesMax = 2 * 1024 * 1024;
export const tooLong = { fault: `is longer than ${lineBytesMax / 1024} KiB` };
const newline = 0x0a;

/** One JSON value per line. Empty lines and a byte order mark are skipped. */
export async function* readNdjson(input: AsyncIterable<Buffer>): AsyncGenerator<SourceLine> {
  let number = 0;
  for await (const line of splitLines(input)) {
    number += 1;
    const parsed = parseLine(line, number === 1);
    if (parsed !== null) yield { number, bytes: line.length, ...parsed };
  }
}

async function* splitLines(input: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest: Buffer[] = [];
  let restBytes = 0;
  for await (const chunk of input) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      yield Buffer.concat([...rest, chunk.subarray(start, end)]);
      rest = [];
      restBytes = 0;
      start = end + 1;
    }
    // An endless line must not fill the memory, so bytes past the limit are dropped.
    if (restBytes <= lineBytesMax) rest.push(chunk.subarray(start));
    restBytes += chunk.length - start;
  }
  if (restBytes > 0) yield Buffer.concat(rest);
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Returns null for an empty line. `first` says whether a byte order mark may come first. */
function parseLine(line: Buffer, first: boolean): { value: unknown } | { fault: string } | null {
  if (line.length > lineBytesMax) return tooLong;
  let text: string;
  try {
    text = utf8.decode(line);
  } catch {
    return { fault: 'is not valid UTF-8' };
  }
  if (first) text = text.replace(/^\uFEFF/, '');
  if (text.trim() === '') return null;
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return { fault: 'is not valid JSON' };
  }
}

/** A header row has the names of fields, `links.website` for a nested one; an empty cell counts as a field left out. */
export async function* readCsv(
  input: AsyncIterable<Buffer>,
  schema: TSchema,
): AsyncGenerator<SourceLine> {
  // Imported here because the service itself reads no CSV.
  const { parse, CsvError: Fault } = await import('csv-parse');
  const parser = parse({
    bom: true,
    columns: true,
    info: true,
    max_record_size: lineBytesMax,
    // Reported below, as the fault of that row alone.
    relax_column_count: true,
    skip_empty_lines: true,
  });
  const source = Readable.from(input);
  source.on('error', (error) => parser.destroy(error));
  source.pipe(parser);
  try {
    for await (const { record, info } of parser as AsyncIterable<{
      record: Record<string, string>;
      info: { lines: number; error?: CsvError };
    }>) {
      const fault = rowFault(record, info.error);
      if (fault !== null) yield { number: info.lines, fault };
      else yield { number: info.lines, value: toObject(record, schema) };
    }
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    yield {
      number: Number(error['lines'] ?? 1),
      fault: `is not valid CSV, and nothing behind it was read: ${error.message}`,
    };
  }
}

function rowFault(record: Record<string, string>, error: CsvError | undefined): string | null {
  if (error) return 'has not as many cells as the header row';
  // The parser replaces bytes that are not UTF-8, such as those of an old spreadsheet, with U+FFFD.
  return Object.values(record).some((cell) => cell.includes('\uFFFD'))
    ? 'is not valid UTF-8'
    : null;
}

function toObject(record: Record<string, string>, schema: TSchema): Record<string, unknown> {
  const value: Record<string, unknown> = {};
  for (const [name, cell] of Object.entries(record)) {
    if (cell === '') continue;
    const [outer = name, inner] = name.split('.');
    if (inner === undefined) value[outer] = readCell(cell, schema, outer);
    else value[outer] = { ...(value[outer] as object), [inner]: cell };
  }
  return value;
}

/** Converts the text of a cell to a number, a boolean or a list of words if the schema wants one and the text fits. */
function readCell(cell: string, schema: TSchema, name: string): unknown {
  const { properties } = schema as { properties?: Record<string, { type?: unknown }> };
  const types = new Set([properties?.[name]?.type].flat());
  if (types.has('boolean') && (cell === 'true' || cell === 'false')) return cell === 'true';
  if ((types.has('integer') || types.has('number')) && /^-?\d+(\.\d+)?$/.test(cell))
    return Number(cell);
  if (types.has('array')) return cell.split(/\s+/).filter((word) => word !== '');
  return cell;
}
