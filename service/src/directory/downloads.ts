/**
 * Keeps the downloads of the directory in memory, compressed, because a file system may be read-only. All readers of one
 * share its bytes, however slow they are. Why: docs/decisions/0046-changes.md.
 */
import { Readable } from 'node:stream';
import { createGunzip, createGzip } from 'node:zlib';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type Database, sql, type Transaction } from '../database/database.ts';
import type { Revisions } from '../database/revisions.ts';
import { encodePosition, readPosition, type Position } from './changes.ts';
import type { SlugTable } from './lock-directory.ts';
import { publicEntries } from './public-entries.ts';
import { ServiceError } from '../errors.ts';
import type { SealedCursors } from '../events/cursors.ts';
import type { Row } from './rows.ts';

export type DownloadsOptions = {
  database: Database;
  revisions: Pick<Revisions, 'current'>;
  cursors: SealedCursors;
  publicUrl: string;
  log: { warn(fields: object, message: string): void };
  /** Tests set them. */
  bytesMax?: number;
  renderEveryMs?: number;
};

/** All that is held, older downloads included that somebody still reads: some million organisations. */
const bytesMaxDefault = 256 * 1024 * 1024;
/** docs/reference/reads.md#downloads */
const renderEverySeconds = 60;
/** One that nobody asks for gives its memory back. */
const keptMs = 5 * 60_000;

export class Download {
  readonly revision: number;
  readonly etag: string;
  readonly nextCursor: string;
  readonly gzipBytes: number;
  readonly textBytes: number;
  readonly startedAt: number;
  readonly #chunks: Buffer[];
  readonly #readers = new Set<Readable>();
  readonly #onUnread: () => void;
  /** Whether new readers get it. */
  isCurrent = true;

  constructor(
    { revision, chunks, textBytes, hash }: RenderedDownload,
    options: { nextCursor: string; startedAt: number; onUnread: () => void },
  ) {
    this.revision = revision;
    this.#chunks = chunks;
    this.gzipBytes = sumOf(chunks);
    this.textBytes = textBytes;
    this.nextCursor = options.nextCursor;
    this.startedAt = options.startedAt;
    this.#onUnread = options.onUnread;
    // A key of SECRET_KEY may have been replaced since, and with it the cursor.
    this.etag = `${hash.slice(0, 27)}.${options.nextCursor.slice(0, 8)}`;
  }

  isRead(): boolean {
    return this.#readers.size > 0;
  }

  read(compressed: boolean): Readable {
    const source = Readable.from(this.#chunks, { highWaterMark: 1 });
    this.#readers.add(source);
    source.once('close', () => {
      this.#readers.delete(source);
      this.#onUnread();
    });
    if (compressed) return source;
    const text = createGunzip();
    source.once('error', (error) => text.destroy(error));
    text.once('close', () => source.destroy());
    return source.pipe(text);
  }

  endReaders(): void {
    for (const reader of this.#readers)
      reader.destroy(new Error('a newer download needs the memory'));
  }
}

export class Downloads {
  readonly #options: DownloadsOptions;
  readonly #renderings = new Map<SlugTable, Promise<Download>>();
  readonly #current = new Map<SlugTable, Download>();
  readonly #timers = new Map<SlugTable, NodeJS.Timeout>();
  /** Oldest first. */
  readonly #held = new Set<Download>();
  #renderingBytes = 0;

  constructor(options: DownloadsOptions) {
    this.#options = options;
  }

  /** Returns one that is complete, or was rendered within the last minute. */
  async get(kind: SlugTable): Promise<Download> {
    const known = this.#current.get(kind);
    const download = known && this.#isFresh(kind, known) ? known : await this.#render(kind);
    clearTimeout(this.#timers.get(kind));
    this.#timers.set(kind, setTimeout(() => this.#retire(kind), keptMs).unref());
    return download;
  }

  bytesHeld(): number {
    return this.#renderingBytes + [...this.#held].reduce((sum, each) => sum + each.gzipBytes, 0);
  }

  #isFresh(kind: SlugTable, { revision, startedAt }: Download): boolean {
    const { renderEveryMs = renderEverySeconds * 1_000, revisions } = this.#options;
    return (
      performance.now() - startedAt < renderEveryMs ||
      revisions.current(publicEntries[kind].scope) === revision
    );
  }

  #render(kind: SlugTable): Promise<Download> {
    let rendering = this.#renderings.get(kind);
    if (!rendering) {
      const forget = () => this.#renderings.delete(kind);
      rendering = this.#renderNew(kind);
      this.#renderings.set(kind, rendering);
      rendering.then(forget, (error: unknown) => {
        if (!isTooLarge(error)) {
          forget();
          return;
        }
        this.#options.log.warn({ kind }, 'download.too_large');
        // Whoever asks again must not make the process render for minutes in vain.
        setTimeout(forget, keptMs).unref();
      });
    }
    return rendering;
  }

  async #renderNew(kind: SlugTable): Promise<Download> {
    const { database, cursors, publicUrl: baseUrl } = this.#options;
    const startedAt = performance.now();
    // The new one is for whoever asks from now on.
    this.#retire(kind);
    let bytes = 0;
    try {
      const rendered = await renderDownload(database, kind, {
        baseUrl,
        onBytes: (more) => {
          bytes += more;
          this.#renderingBytes += more;
          this.#makeRoom(bytes);
        },
      });
      const nextCursor = encodePosition(cursors, kind, rendered.position);
      const onUnread = () => this.#release();
      const download = new Download(rendered, { nextCursor, startedAt, onUnread });
      this.#current.set(kind, download);
      this.#held.add(download);
      return download;
    } finally {
      this.#renderingBytes -= bytes;
    }
  }

  /** Gives up what nobody reads, and ends the readers of the oldest ones. `bytes`: of the new one. */
  #makeRoom(bytes: number): void {
    const { bytesMax = bytesMaxDefault } = this.#options;
    if (bytes > bytesMax)
      throw new ServiceError(
        'payload_too_large',
        'The list is too large for a download: make the copy from pages.',
      );
    for (const [kind, download] of this.#current)
      if (this.bytesHeld() > bytesMax && !download.isRead()) this.#retire(kind);
    for (const download of this.#held) {
      if (this.bytesHeld() <= bytesMax) return;
      if (download.isCurrent) continue;
      this.#held.delete(download);
      download.endReaders();
    }
    if (this.bytesHeld() > bytesMax)
      throw new ServiceError('unavailable', 'Other downloads need the memory for the moment.', {
        headers: { 'retry-after': String(renderEverySeconds) },
      });
  }

  #retire(kind: SlugTable): void {
    const download = this.#current.get(kind);
    if (download) download.isCurrent = false;
    this.#current.delete(kind);
    this.#release();
  }

  #release(): void {
    for (const download of this.#held)
      if (!download.isCurrent && !download.isRead()) this.#held.delete(download);
  }
}

function isTooLarge(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'payload_too_large';
}

function sumOf(chunks: Buffer[]): number {
  return chunks.reduce((sum, { length }) => sum + length, 0);
}

type RenderedDownload = {
  revision: number;
  /** From which changes go on. */
  position: Position;
  /** The compressed text. */
  chunks: Buffer[];
  /** Of the text. */
  textBytes: number;
  hash: string;
};

/** Each batch keeps the thread for some milliseconds. */
const batchSize = 500;

/**
 * Renders everything public of a kind as compressed NDJSON, from one snapshot. Calls `onBytes` with the size of each chunk; what
 * that throws ends the rendering.
 */
async function renderDownload(
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
