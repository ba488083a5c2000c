/**
 * Reads all tables of an installation at one moment, as text that every supported PostgreSQL reads: from a database, or from a
 * file that keeps them. `load-snapshot.ts` loads them into another database.
 *
 * A file has compressed frames, each with its length in four bytes before it. They are the header, then for each table a
 * description, its text, an empty frame and the number of its rows. An empty frame ends the file. The checksum of gzip detects a
 * file that is cut or damaged.
 */
import type { Socket } from 'node:net';
import { Readable, pipeline } from 'node:stream';
import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { StartError } from '../errors.ts';
import { directConnection, openClient, type ConnectionSettings } from './database.ts';
import { createReadStream } from 'node:fs';
import { constants, createGunzip, createGzip } from 'node:zlib';

/** The rows of each table. */
export type RowCounts = Record<string, number>;

type SnapshotHeader = {
  /** The migrations that the installation had. */
  migrations: string[];
  /** The days that have partitions, such as `2027-01-31`. */
  days: string[];
  /** The last value of each sequence that was used. */
  sequences: Record<string, number>;
};

export type Snapshot = SnapshotHeader & {
  /** All tables; those that others refer to come first. Each must be read to its end before the next. */
  tables(): AsyncIterable<SnapshotTable>;
  /** Throws a `StartError` if the source has not these numbers of rows any more. A file cannot change. */
  requireUnchanged?(copied: RowCounts): Promise<void>;
};

export type SnapshotTable = {
  name: string;
  columns: string[];
  /** In the text format of COPY. */
  text: Readable;
  /** Call once, when `text` has ended. */
  countRows(): Promise<number>;
};

const { escapeIdentifier } = pg;

/** A connection for statements that may take hours. */
export async function withCopyClient<T>(
  connection: ConnectionSettings,
  applicationName: string,
  act: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const options = { applicationName, statementTimeoutMs: 0 };
  const client = openClient(directConnection(connection), options);
  // Without a listener a connection that breaks would end the process; the statement fails as well.
  client.on('error', () => {});
  try {
    await client.connect();
    return await act(client);
  } catch (error) {
    // A copy that nobody reads to its end would keep the connection from ending.
    (client as unknown as { connection: { stream: Socket } }).connection.stream.destroy();
    throw error;
  } finally {
    await client.end().catch(() => {});
  }
}

/** Reads in one transaction, which changes nothing. The schema may be older than this version. */
export function withSnapshot<T>(
  connection: ConnectionSettings,
  { applicationName, mustBeStopped }: { applicationName: string; mustBeStopped: boolean },
  act: (snapshot: Snapshot & { countRows(): Promise<RowCounts> }) => Promise<T>,
): Promise<T> {
  return withCopyClient(connection, applicationName, async (client) => {
    if (mustBeStopped) await requireStopped(client, 'the source');
    await client.query('begin isolation level repeatable read read only');
    if (!(await hasInstallation(client)))
      throw new StartError('the database has no installation: the service never started on it');
    const header = await readHeader(client);
    return act({
      ...header,
      tables: () => readTables(client),
      // This connection does not see what others have written since.
      requireUnchanged: (copied) =>
        withCopyClient(connection, applicationName, (other) => requireUnchanged(other, copied)),
      countRows: () => countAll(client),
    });
  });
}

/** What a service writes after the snapshot would be missing in the target, or be mixed with the rows there. */
export async function requireStopped(client: pg.Client, which: string): Promise<void> {
  const { rows } = await client.query<{ name: string }>(`
    select substr(application_name, 8) as name from pg_stat_activity
    where datname = current_database() and application_name ~ '^orgdir (serve|listener), ' limit 1
  `);
  if (rows[0])
    throw new StartError(`a service still runs on ${which} (${rows[0].name}); stop it first`);
}

/** The service is stopped, but nothing stops those who publish by SQL. */
async function requireUnchanged(client: pg.Client, copied: RowCounts): Promise<void> {
  const { rowCount: open } = await client.query(`
    select from pg_locks where relation = 'orgdir.published_events'::regclass and mode = 'RowExclusiveLock'
      and database = (select oid from pg_database where datname = current_database())
  `);
  const now = await countAll(client);
  const changed = open
    ? 'published_events'
    : Object.keys(now).find((name) => now[name] !== copied[name]);
  if (changed === undefined) return;
  throw new StartError(
    `somebody has written to ${changed} of the source meanwhile, so nothing was copied; stop everything that writes there, also what publishes by SQL, and run the command again`,
  );
}

export async function hasInstallation(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ made: boolean }>(
    `select to_regclass('orgdir.migrations') is not null as made`,
  );
  return rows[0]?.made === true;
}

async function readHeader(client: pg.Client): Promise<SnapshotHeader> {
  const { rows } = await client.query<SnapshotHeader>(`
    select array(select name from orgdir.migrations order by name) as migrations,
      array(select distinct to_char(to_date(right(c.relname, 8), 'YYYYMMDD'), 'YYYY-MM-DD')
        from pg_inherits join pg_class c on c.oid = inhrelid
        where relnamespace = 'orgdir'::regnamespace and relkind = 'r' order by 1) as days,
      (select coalesce(jsonb_object_agg(sequencename, last_value), '{}') from pg_sequences
       where schemaname = 'orgdir' and last_value is not null) as sequences
  `);
  return rows[0] as SnapshotHeader;
}

async function countAll(client: pg.Client): Promise<RowCounts> {
  const counts: RowCounts = {};
  for (const { name } of await listTables(client)) counts[name] = await countRows(client, name);
  return counts;
}

export async function countRows(client: pg.Client, table: string): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    `select count(*) from ${qualified(table)}`,
  );
  return rows[0]?.count ?? 0;
}

async function* readTables(client: pg.Client): AsyncGenerator<SnapshotTable> {
  for (const { name, columns } of await listTables(client)) {
    const list = columns.map(escapeIdentifier).join(', ');
    // A partitioned table cannot be copied, but a query of it can.
    const text = client.query(copyTo(`copy (select ${list} from ${qualified(name)}) to stdout`));
    // It emits the end of the connection even if whoever read it has failed, and without a listener that would end the process.
    text.on('error', () => {});
    const countCopied = async () => {
      // The stream ends before the server has said how many there were.
      await client.query('select');
      return text.rowCount;
    };
    yield { name, columns, text, countRows: countCopied };
  }
}

/** `migrations` is left out, because the target gets its own. */
export async function listTables(
  client: pg.Client,
): Promise<Pick<SnapshotTable, 'name' | 'columns'>[]> {
  const { rows } = await client.query<Pick<SnapshotTable, 'name' | 'columns'>>(`
    with recursive refers as (
      select conrelid as oid, confrelid as target from pg_constraint
      where contype = 'f' and connamespace = 'orgdir'::regnamespace and conrelid <> confrelid
    ),
    levels(oid, level) as (
      select oid, 0 from pg_class
      where relnamespace = 'orgdir'::regnamespace and relkind in ('r', 'p') and not relispartition and relname <> 'migrations'
      union all
      select r.oid, level + 1 from levels l join refers r on r.target = l.oid
    )
    select relname as name, array(
        -- Numbers of transactions belong to a server: rows get that of the transaction that loads them, as their default. With
        -- another server's, looks from a floor on (floor.ts) would pass them, or pass what comes after them.
        select attname::text from pg_attribute
        where attrelid = c.oid and attnum > 0 and not attisdropped and attgenerated = '' and atttypid <> 'xid8'::regtype
        order by attnum
      ) as columns
    from (select oid, max(level) as level from levels group by oid) l join pg_class c using (oid)
    order by level, relname
  `);
  return rows;
}

export function qualified(table: string): string {
  return `orgdir.${escapeIdentifier(table)}`;
}

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
    return await act({ ...header, tables: () => readTablesOf(read, frames) });
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

async function* readTablesOf(
  read: () => Promise<Buffer>,
  frames: AsyncGenerator<Buffer>,
): AsyncGenerator<SnapshotTable> {
  for (let bytes = await read(); bytes.length > 0; bytes = await read()) {
    async function* readText() {
      for (let text = await read(); text.length > 0; text = await read()) yield text;
    }
    const text = Readable.from(readText(), { objectMode: false });
    const countRead = async () => parse(await read()) as number;
    yield { ...(parse(bytes) as Description), text, countRows: countRead };
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
