/** Reads the rows of a blueprint source: gzip or not, NDJSON or one JSON array, by content. Checks no schema. */
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { readNdjson, type SourceLine } from '../directory/import-source.ts';
import { sourceBytesMax, tooLarge, type OpenedSource } from './open-source.ts';
import { SyncFailure } from './sync-failure.ts';

export type SourceRows = {
  /** Whether a row's number counts lines or entries. */
  unit: 'line' | 'entry';
  rows: AsyncIterable<SourceLine>;
};

type Content = Extract<OpenedSource, { kind: 'content' }>;
type Bytes = AsyncIterable<Buffer>;

const openArray = '['.charCodeAt(0);
const openObject = '{'.charCodeAt(0);
const newline = '\n'.charCodeAt(0);
/** The most white space before the first character, more than any editor or generator writes. */
const blankBytesMax = 1024;

/** Throws a `SyncFailure` for an unreadable source, at once or while reading. */
export async function readRows(
  { bytes, tellsItsEnd }: Content,
  onProgress: (readBytes: number) => void,
): Promise<SourceRows> {
  const raw = await peek(watch(bytes, onProgress), 2);
  const zipped = raw.first[0] === 0x1f && raw.first[1] === 0x8b;
  const text = await peek(zipped ? watch(unzip(raw.all)) : raw.all, blankBytesMax, isSign);
  const sign = skipMark(text.first).find((byte) => !isSpace(byte));
  if (sign === undefined) throw new SyncFailure('empty', 'the source is empty');
  if (sign === openArray) {
    // Loaded when it is used: a service at rest needs no JSON parser for streams.
    const { readArray } = await import('./read-array.ts');
    return { unit: 'entry', rows: readArray(text.all) };
  }
  if (!tellsItsEnd && !zipped)
    throw new SyncFailure(
      'cut_off',
      'the source does not tell where it ends: no Content-Length, no chunks, no gzip, no JSON array',
    );
  return { unit: 'line', rows: readLines(text.all) };
}

/** Counts the bytes and stops a source that would fill the disk or never end. */
async function* watch(
  bytes: Bytes,
  tell: (readBytes: number) => void = () => {},
): AsyncGenerator<Buffer> {
  let readBytes = 0;
  for await (const chunk of bytes) {
    readBytes += chunk.length;
    if (readBytes > sourceBytesMax) throw tooLarge();
    tell(readBytes);
    yield chunk;
  }
}

/** Reads ahead until it has `bytesMax` bytes or finds a matching byte; `all` returns everything from the beginning. */
async function peek(
  bytes: Bytes,
  bytesMax: number,
  isLookedFor: (byte: number) => boolean = () => false,
): Promise<{ first: Buffer; all: Bytes }> {
  const iterator = bytes[Symbol.asyncIterator]();
  let first = Buffer.alloc(0);
  let done = false;
  while (!done && first.length < bytesMax && !first.some(isLookedFor)) {
    const next = await iterator.next();
    if (next.done === true) done = true;
    else first = Buffer.concat([first, next.value]);
  }
  async function* all(): AsyncGenerator<Buffer> {
    try {
      yield first;
      while (!done) {
        const next = await iterator.next();
        if (next.done === true) return;
        yield next.value;
      }
    } finally {
      // The reader closes the file or connection.
      await iterator.return?.();
    }
  }
  return { first, all: all() };
}

const mark = Buffer.from('\uFEFF');

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function isSign(byte: number): boolean {
  return !isSpace(byte) && !mark.includes(byte);
}

function skipMark(bytes: Buffer): Buffer {
  return bytes.subarray(0, mark.length).equals(mark) ? bytes.subarray(mark.length) : bytes;
}

async function* unzip(bytes: Bytes): AsyncGenerator<Buffer> {
  const gunzip = createGunzip();
  const fed = pipeline(bytes, gunzip);
  // The reading below reports the error, whichever of the two fails.
  fed.catch(() => {});
  try {
    yield* gunzip as AsyncIterable<Buffer>;
  } catch (error) {
    throw unzipFailure(error);
  } finally {
    gunzip.destroy();
  }
}

function unzipFailure(error: unknown): unknown {
  const { code } = error as { code?: unknown };
  if (code === 'Z_BUF_ERROR')
    return new SyncFailure('cut_off', 'the source ends in the middle of its gzip data', {
      cause: error,
    });
  if (typeof code === 'string' && code.startsWith('Z_'))
    return new SyncFailure('malformed', 'the source is not valid gzip', { cause: error });
  return error;
}

/**
 * If only the last line is incomplete, the source was cut off there, which is always an error. Any other invalid JSON
 * means that the source is not NDJSON.
 */
async function* readLines(bytes: Bytes): AsyncGenerator<SourceLine> {
  let signOfLast: number | undefined;
  async function* noticed(): AsyncGenerator<Buffer> {
    for await (const chunk of bytes) {
      const lineAt = chunk.lastIndexOf(newline) + 1;
      if (lineAt > 0) signOfLast = undefined;
      signOfLast ??= chunk.subarray(lineAt).find(isSign);
      yield chunk;
    }
  }
  let held: SourceLine | null = null;
  let wellSoFar = true;
  for await (const line of readNdjson(noticed())) {
    if (held) yield held;
    if (held && 'fault' in held) wellSoFar = false;
    held = line;
  }
  if (!held) return;
  if ('fault' in held && wellSoFar && signOfLast === openObject)
    throw new SyncFailure('cut_off', `the source ends in the middle of line ${held.number}`);
  yield held;
}
