/** Renders everything public of a kind as compressed NDJSON, from one snapshot, with the position from which changes go on. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createGzip } from 'node:zlib';
import { sql, type Database, type Transaction } from '../database/database.ts';
import { readPosition, type Position } from './changes.ts';
import type { SlugTable } from './lock-directory.ts';
import { publicEntries } from './public-entries.ts';
import type { Row } from './rows.ts';

export type RenderedDownload = {
  revision: number;
  position: Position;
  /** The compressed text. */
  chunks: Buffer[];
  /** Of the text. */
  textBytes: number;
  hash: string;
};

/** Each batch keeps the thread for some milliseconds. */
const batchSize = 500;

/** Calls `onBytes` with the size of each chunk. What it throws ends the rendering. */
export async function renderDownload(
  database: Database,
  kind: SlugTable,
  { baseUrl, onBytes }: { baseUrl: string; onBytes: (bytes: number) => void },
): Promise<RenderedDownload> {
  const snapshot = database.transaction().setIsolationLevel('repeatable read');
  return snapshot.setAccessMode('read only').execute(async (tx) => {
    const start = await readPosition(tx, kind);
    const [chunks, hash, gzip] = [[] as Buffer[], createHash('sha256'), createGzip()];
    let refused: unknown = null;
    gzip.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      try {
        onBytes(chunk.length);
      } catch (error) {
        refused ??= error;
      }
    });
    const ended = once(gzip, 'end').catch(() => {});
    let textBytes = 0;
    try {
      for await (const lines of readLines(tx, kind, baseUrl)) {
        if (refused !== null) throw refused;
        hash.update(lines);
        textBytes += lines.length;
        if (!gzip.write(lines)) await once(gzip, 'drain');
      }
      gzip.end();
      await ended;
      if (refused !== null) throw refused;
      return { ...start, chunks, textBytes, hash: hash.digest('base64url') };
    } finally {
      gzip.destroy();
    }
  });
}

/** In the order of ids, so that equal content is equal bytes. */
async function* readLines(
  tx: Transaction,
  kind: SlugTable,
  baseUrl: string,
): AsyncGenerator<Buffer> {
  const { always, columns, joins, toEntry } = publicEntries[kind];
  await sql`
    declare entries no scroll cursor for
    select ${columns} from ${sql.table(kind)} t ${joins} where ${always} order by t.id
  `.execute(tx);
  for (;;) {
    const { rows } =
      await sql<Row>`fetch forward ${sql.raw(String(batchSize))} from entries`.execute(tx);
    if (rows.length === 0) return;
    yield Buffer.from(rows.map((row) => `${JSON.stringify(toEntry(row, baseUrl))}\n`).join(''));
  }
}
