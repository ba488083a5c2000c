/**
 * Reads all tables of a database at one moment, as text that every supported PostgreSQL reads. `backup-file.ts` keeps them in a
 * file, and `load-snapshot.ts` loads them into another database.
 */
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { StartError } from '../errors.ts';
import { directConnection, openClient, type ConnectionSettings } from './database.ts';

/** The rows of each table. */
export type RowCounts = Record<string, number>;

export type SnapshotHeader = {
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
