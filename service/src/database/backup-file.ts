/**
 * A snapshot of an installation in a file: compressed frames, each with its length in four bytes before it. They are the
 * header, then for each table a description, its text, an empty frame and the number of its rows. An empty frame ends the
 * file. The checksum of gzip detects a file that is cut or damaged.
 */
import { createReadStream } from 'node:fs';
import { pipeline, Readable } from 'node:stream';
import { constants, createGunzip, createGzip } from 'node:zlib';
import { StartError } from '../errors.ts';
import type { RowCounts, Snapshot, SnapshotHeader, SnapshotTable } from './read-snapshot.ts';

const format = 'orgdir backup 1';
/** A hundred times what is written. */
const frameBytesMax = 64 * 1024 * 1024;
const empty = Buffer.alloc(0);

type Header = SnapshotHeader & { format: string };
type Description = Pick<SnapshotTable, 'name' | 'columns'>;

/** Calls `write` for each piece of the file. Returns the rows of each table. */
export async function writeBackup(
  snapshot: Snapshot,
  write: (bytes: Buffer) => Promise<void>,
): Promise<RowCounts> {
  const counts: RowCounts = {};
  const gzip = createGzip({ level: constants.Z_BEST_SPEED });
  const frames = Readable.from(writeFrames(snapshot, counts), { objectMode: false });
  // An error reaches the reader of the last stream.
  for await (const bytes of pipeline(frames, gzip, () => {})) await write(bytes as Buffer);
  return counts;
}

async function* writeFrames(snapshot: Snapshot, counts: RowCounts): AsyncGenerator<Buffer> {
  const { migrations, days, sequences } = snapshot;
  yield* frame({ format, migrations, days, sequences } satisfies Header);
  for await (const table of snapshot.tables()) {
    const { name, columns } = table;
    yield* frame({ name, columns } satisfies Description);
    for await (const chunk of table.text) yield* frame(chunk as Buffer);
    yield* frame(empty);
    yield* frame((counts[name] = await table.countRows()));
  }
  yield* frame(empty);
}

function* frame(content: Buffer | object | number): Generator<Buffer> {
  const bytes = Buffer.isBuffer(content) ? content : Buffer.from(JSON.stringify(content));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  yield length;
  yield bytes;
}

/** Throws a `StartError` if the file cannot be read or is damaged, also while `act` reads it. */
export async function withBackup<T>(
  file: string,
  act: (snapshot: Snapshot) => Promise<T>,
): Promise<T> {
  const frames = readFrames(pipeline(createReadStream(file), createGunzip(), () => {}));
  const read = async () => (await frames.next()).value ?? fail('it ends too early');
  try {
    const header = parse(await read()) as Header;
    if (header.format !== format) fail('it has another format');
    return await act({ ...header, tables: () => readTables(read, frames) });
  } catch (error) {
    const { code = '', message, path } = error as NodeJS.ErrnoException;
    const isUnreadable = path === file || code === 'EISDIR';
    const isDamaged = code.startsWith('Z_') || error instanceof DamagedError;
    if (!isUnreadable && !isDamaged) throw error;
    const fault = isUnreadable ? 'cannot be read' : 'is no backup, or is damaged';
    throw new StartError(`${file} ${fault} (${message}); nothing was restored`, { cause: error });
  } finally {
    await frames.return(undefined);
  }
}

class DamagedError extends Error {}

function fail(reason: string): never {
  throw new DamagedError(reason);
}

async function* readTables(
  read: () => Promise<Buffer>,
  frames: AsyncGenerator<Buffer>,
): AsyncGenerator<SnapshotTable> {
  for (let bytes = await read(); bytes.length > 0; bytes = await read()) {
    async function* readText() {
      for (let text = await read(); text.length > 0; text = await read()) yield text;
    }
    const text = Readable.from(readText(), { objectMode: false });
    const countRows = async () => parse(await read()) as number;
    yield { ...(parse(bytes) as Description), text, countRows };
  }
  // Reads the checksum.
  if (!(await frames.next()).done) fail('it goes on after its end');
}

async function* readFrames(chunks: AsyncIterable<unknown>): AsyncGenerator<Buffer, undefined> {
  let rest = empty;
  for await (const chunk of chunks) {
    rest = Buffer.concat([rest, chunk as Buffer]);
    for (;;) {
      const end = rest.length < 4 ? 4 : 4 + rest.readUInt32BE();
      if (end > frameBytesMax) fail('a frame is too long');
      if (rest.length < end) break;
      yield rest.subarray(4, end);
      rest = rest.subarray(end);
    }
  }
  if (rest.length > 0) fail('it ends too early');
  return undefined;
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString()) as unknown;
  } catch {
    return fail('a description is not JSON');
  }
}
