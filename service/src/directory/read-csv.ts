/**
 * Reads a CSV file of an import: turns each row into a value, or into a fault with the line on which the row begins. It
 * checks no schema. A header row that cannot be used is an error, because no row can be read without it.
 */
import type { CsvError } from 'csv-parse';
import type { TSchema } from 'typebox';
import { suggestName } from '../contract/validate.ts';
import { invalid, type ServiceError } from '../errors.ts';
import { lineBytesMax, tooLong, type SourceLine } from './import-source.ts';

type Row = { cells: string[]; emptyLines: number };

/** A header row has the names of fields, `links.website` for a nested one; an empty cell counts as a field left out. */
export async function* readCsv(
  input: AsyncIterable<Buffer>,
  schema: TSchema,
): AsyncGenerator<SourceLine> {
  // Imported here because the service itself reads no CSV.
  const { parse, CsvError: Fault } = await import('csv-parse');
  const rows: Row[] = [];
  const parser = parse({
    bom: true,
    max_record_size: lineBytesMax,
    // Rows are taken here, because a parser that fails drops those that it has not handed over.
    on_record(cells: string[], { empty_lines: emptyLines }) {
      rows.push({ cells, emptyLines });
      return null;
    },
    record_delimiter: ['\r\n', '\n', '\r'],
    // Reported below, as the fault of that row alone.
    relax_column_count: true,
    skip_empty_lines: true,
  });
  // The callbacks of `write` and `end` have the error too.
  parser.on('error', () => {});
  const reader = new RowReader(schema);
  try {
    for await (const chunk of input) {
      reader.keepHead(chunk);
      await finished((done) => parser.write(chunk, done));
      yield* reader.take(rows.splice(0));
    }
    await finished((done) => parser.end(done));
    yield* reader.take(rows.splice(0));
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    yield* reader.take(rows.splice(0));
    yield reader.fail(error);
  }
}

function finished(write: (done: (error?: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    write((error) => (error ? reject(error) : resolve()));
  });
}

/** Numbers the rows itself: the parser counts a CRLF inside quotes as two lines. */
class RowReader {
  readonly #schema: TSchema;
  #header: string[] | null = null;
  /** The line on which the next row begins, not counting empty lines. */
  #line = 1;
  /** The bytes up to the header row. */
  #head = Buffer.alloc(0);

  constructor(schema: TSchema) {
    this.#schema = schema;
  }

  keepHead(chunk: Buffer): void {
    if (this.#header === null && this.#head.length <= lineBytesMax)
      this.#head = Buffer.concat([this.#head, chunk]);
  }

  *take(rows: Row[]): Generator<SourceLine> {
    for (const { cells, emptyLines } of rows) {
      const number = this.#line + emptyLines;
      this.#line += 1 + lineBreaks(cells);
      if (this.#header === null) this.#header = this.#checkHeader(number, cells);
      else yield { number, ...readRow(this.#header, cells, this.#schema) };
    }
  }

  #checkHeader(number: number, header: string[]): string[] {
    this.#checkSeparator(number);
    const repeated = header.find((name, index) => name !== '' && header.indexOf(name) < index);
    if (repeated !== undefined)
      throw headerError(number, `has the column ${repeated} twice; remove or rename one of them`);
    const unknown = header.find((name) => name !== '' && !isColumn(name, this.#schema));
    // Rows without a value there would look right, and lose the field that was meant.
    if (unknown !== undefined)
      throw headerError(
        number,
        `has the column ${JSON.stringify(unknown)}, which is no field${suggestName(unknown, columnsOf(this.#schema))}`,
      );
    return header;
  }

  /** Looks at the bytes, because a parser that looks for commas fails on `"name";"tag"`. */
  #checkSeparator(number: number): void {
    const text = this.#head.toString().replace(/^\uFEFF?[\r\n]*/, '');
    const [first = ''] = text.replaceAll('"', '').split(/[\r\n]/, 1);
    if (first.includes(',')) return;
    for (const [separator, separators] of [
      [';', 'semicolons'],
      ['\t', 'tabs'],
    ] as const)
      if (
        first.split(separator).some((name) => name !== first && isColumn(name.trim(), this.#schema))
      )
        throw headerError(number, `separates the columns with ${separators}; use commas`);
  }

  /** The fault of the row at which the parser gave up. */
  fail(error: CsvError): SourceLine {
    const number = this.#line + Number(error['empty_lines']);
    const fault = `is not valid CSV: ${faults[error.code] ?? error.message}`;
    if (this.#header !== null)
      return { number, fault: `${fault}; the lines after it were not read`, endsInput: true };
    this.#checkSeparator(number);
    throw headerError(number, fault);
  }
}

const faults: Record<string, string> = {
  CSV_QUOTE_NOT_CLOSED: 'a quote is never closed',
  CSV_INVALID_CLOSING_QUOTE: 'text follows a closing quote; write a quote inside quotes twice',
  INVALID_OPENING_QUOTE: 'a quote is inside a cell without quotes; put the cell in quotes',
  CSV_MAX_RECORD_SIZE: `it ${tooLong.fault}`,
};

function headerError(number: number, message: string): ServiceError {
  return invalid({ path: `line ${number}`, message });
}

function lineBreaks(cells: string[]): number {
  let count = 0;
  for (const cell of cells) count += cell.match(/\r\n|\n|\r/g)?.length ?? 0;
  return count;
}

function readRow(
  header: string[],
  cells: string[],
  schema: TSchema,
): { value: unknown } | { fault: string } {
  if (cells.length !== header.length) return { fault: 'has not as many cells as the header row' };
  // The parser replaces bytes that are not UTF-8, such as those of an old spreadsheet, with U+FFFD.
  if (cells.some((cell) => cell.includes('\uFFFD'))) return { fault: 'is not valid UTF-8' };
  if (cells.some((cell, index) => cell !== '' && header[index] === ''))
    return { fault: 'has a value in a column without a name' };
  return { value: toObject(header, cells, schema) };
}

function toObject(header: string[], cells: string[], schema: TSchema): Record<string, unknown> {
  const value: Record<string, unknown> = {};
  for (const [index, name] of header.entries()) {
    const cell = fromText(cells[index] ?? '');
    if (cell === '') continue;
    const [outer = name, inner] = name.split('.');
    if (inner === undefined) value[outer] = readCell(cell, schema, outer);
    else value[outer] = { ...(value[outer] as object), [inner]: cell };
  }
  return value;
}

/** Converts the text of a cell to a number, a boolean or a list of words if the schema wants one and the text fits. */
function readCell(cell: string, schema: TSchema, name: string): unknown {
  const types = new Set([propertiesOf(schema)[name]?.type].flat());
  // Spreadsheets write them in upper case.
  if (types.has('boolean') && /^(true|false)$/i.test(cell)) return cell.toLowerCase() === 'true';
  if ((types.has('integer') || types.has('number')) && /^-?\d+(\.\d+)?$/.test(cell))
    return Number(cell);
  if (types.has('array')) return splitList(cell, name);
  return cell;
}

/** How text begins that a spreadsheet would compute, also in full width, which some read alike. */
const formula = "'*[=+\\-@\\t\\r\uFF1D\uFF0B\uFF0D\uFF20]";
const formulaAtStart = new RegExp(`^${formula}`);
const apostropheBefore = new RegExp(`^'(?=${formula})`);

/** A cell that a spreadsheet shows as text, instead of computing what may be somebody else's formula. */
export function asText(text: string): string {
  return text.replace(formulaAtStart, "'$&");
}

function fromText(cell: string): string {
  return cell.replace(apostropheBefore, '');
}

/** Between the values of a list in a cell. Aliases have spaces in them. */
export function listSeparator(name: string): string {
  return name === 'aliases' ? ' | ' : ' ';
}

function splitList(cell: string, name: string): string[] {
  const separator = listSeparator(name).trim() || /\s+/;
  return cell
    .split(separator)
    .map((value) => value.trim())
    .filter((value) => value !== '');
}

function isColumn(name: string, schema: TSchema): boolean {
  return columnsOf(schema).includes(name);
}

/** The fields, and those of objects by both names. */
function columnsOf(schema: TSchema): string[] {
  return Object.entries(propertiesOf(schema)).flatMap(([name, field]) => {
    const inner = Object.keys(propertiesOf(field)).map((one) => `${name}.${one}`);
    return inner.length > 0 ? inner : [name];
  });
}

type Field = { type?: unknown; properties?: Record<string, Field> };

function propertiesOf(schema: TSchema | Field): Record<string, Field> {
  return (schema as Field).properties ?? {};
}
