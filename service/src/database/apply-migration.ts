/**
 * Runs one migration in a transaction, or creates its index while others write; and estimates what pending ones lock. It never
 * waits long for a lock: a request that waits makes every later one on the same table wait behind it, deliveries included. It
 * gives way instead, and tries again.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { readFile } from 'node:fs/promises';
import { StartError } from '../errors.ts';
import { type Database, type Transaction, sql } from './database.ts';
import { listLockHolders } from './list-lock-holders.ts';

export type Migration = { name: string; text: string; checksum: string };

const lockTimeoutMs = 100;
/** Statements of the service that queued behind the last try are done by then. */
const lockRetryMs = 500;
/** In PostgreSQL's list of error codes: lock_not_available, deadlock_detected. */
const lockFaults = new Set(['55P03', '40P01']);

/** `lockPatienceMs`: after this, it reports the sessions that hold the locks. */
export async function applyMigration(
  connection: Database,
  { name, text, checksum }: Migration,
  lockPatienceMs: number,
): Promise<void> {
  const deadline = Date.now() + lockPatienceMs;
  const index = parseIndex(text);
  if (index) await createIndexWithin(connection, index);
  await transact(async (tx) => {
    if (!index) await sql.raw(text).execute(tx);
    await sql`insert into migrations (name, checksum) values (${name}, ${checksum})`.execute(tx);
  });

  /** It waits for all transactions that are open: backups hold theirs for as long as they run. */
  async function createIndexWithin(session: Database, statement: IndexStatement): Promise<void> {
    await sql`set lock_timeout = ${sql.lit(lockPatienceMs)}`.execute(session);
    try {
      await createIndex(session, statement, transact);
    } catch (error) {
      throw isLockFault(error) ? await locked(session, name) : error;
    } finally {
      await sql`reset lock_timeout`.execute(session);
    }
  }

  async function transact(act: (tx: Transaction) => Promise<unknown>): Promise<void> {
    for (;;) {
      try {
        return await transactOnce(connection, act);
      } catch (error) {
        if (!isLockFault(error)) throw error;
        if (Date.now() >= deadline) throw await locked(connection, name);
      }
      await wait(lockRetryMs);
    }
  }
}

function isLockFault(error: unknown): boolean {
  return lockFaults.has((error as { code?: string }).code ?? '');
}

async function transactOnce(
  connection: Database,
  act: (tx: Transaction) => Promise<unknown>,
): Promise<void> {
  await connection.transaction().execute(async (tx) => {
    await sql`set local lock_timeout = ${sql.lit(lockTimeoutMs)}`.execute(tx);
    await act(tx);
  });
}

async function locked(connection: Database, name: string): Promise<StartError> {
  const holders = await listLockHolders(connection);
  return new StartError(
    `the migration ${name} does not get its locks while other sessions hold them${holders && `: ${holders}`}; end those sessions or wait for them, and try again`,
  );
}

/** A migration that is nothing but this. */
const form = /^(?:--.*\n)*create (unique )?index concurrently (\w+) on (\w+) ([^;]+);\s*$/;

type IndexStatement = { unique: string; name: string; table: string; rest: string };

export function parseIndex(text: string): IndexStatement | null {
  const [, unique = '', name, table, rest] = form.exec(text) ?? [];
  return name && table && rest ? { unique, name, table, rest } : null;
}

/** `transact` runs statements that lock the table for a moment. */
export async function createIndex(
  connection: Database,
  { unique, name, table, rest }: IndexStatement,
  transact: (act: (tx: Transaction) => Promise<unknown>) => Promise<void>,
): Promise<void> {
  if (!(await isPartitioned(connection, table)))
    return createOn(connection, { unique, name, table, rest });
  // On the parent alone: it is valid when every partition has its part. Partitions that are created from now on have theirs.
  const whole = `create ${unique}index if not exists ${name} on only ${table} ${rest}`;
  await transact((tx) => sql.raw(whole).execute(tx));
  for (const partition of await listWithout(connection, table, name)) {
    const part = `${name}_${partition.slice(table.length + 1)}`;
    await createOn(connection, { unique, name: part, table: partition, rest });
    const attach = `alter index ${name} attach partition ${part}`;
    await transact((tx) => sql.raw(attach).execute(tx));
  }
}

async function createOn(
  connection: Database,
  { unique, name, table, rest }: IndexStatement,
): Promise<void> {
  const { rows } = await sql<{ is_valid: boolean }>`
    select indisvalid as is_valid from pg_index where indexrelid = to_regclass(${name})
  `.execute(connection);
  if (rows[0]?.is_valid) return;
  if (rows[0]) await sql.raw(`drop index concurrently ${name}`).execute(connection);
  await sql
    .raw(`create ${unique}index concurrently ${name} on ${table} ${rest}`)
    .execute(connection);
}

async function isPartitioned(connection: Database, table: string): Promise<boolean> {
  const { rows } = await sql`
    select from pg_partitioned_table where partrelid = to_regclass(${table})
  `.execute(connection);
  return rows.length > 0;
}

/** The partitions that have no part of the index. */
async function listWithout(connection: Database, table: string, index: string): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = to_regclass(${table}) and not exists (
      select from pg_index x join pg_inherits p on p.inhrelid = x.indexrelid
      where x.indrelid = c.oid and p.inhparent = to_regclass(${index})
    )
    order by c.relname
  `.execute(connection);
  return rows.map(({ name }) => name);
}

/** By table, without the tables that the migration creates. A migration holds its locks until its end. */
export type MigrationLocks = Record<
  string,
  {
    /** Whom the lock keeps out: writers, readers and writers, or nobody. */
    blocks: 'writes' | 'reads' | null;
    /** What takes longer for a larger table. */
    work: 'reads' | 'indexes' | 'rewrites' | null;
  }
>;

export type MigrationEstimate = {
  name: string;
  ms: number;
  tables: ({ table: string; bytes: number } & MigrationLocks[string])[];
};

/**
 * Bytes of a table per millisecond. Indexes and rewrites are measured (docs/decisions/0031-releases-and-upgrades.md). A plain read is
 * faster than this, and one that computes something for each row is slower.
 */
const rates = { reads: 200_000, indexes: 200_000, rewrites: 40_000 };
/** Each statement and the commit. */
const leastMs = 10;

/** What pending migrations lock, and for how long, from `migrations/locks.json` and the sizes of the tables. Locks nothing. */
export async function estimateLocks(
  database: Database,
  names: string[],
): Promise<MigrationEstimate[]> {
  const all = await readLocks();
  const sizes = await readSizes(database);
  return names.map((name) => {
    const tables = Object.entries(all[name] ?? {}).map(([table, lock]) => ({
      table,
      bytes: sizes.get(table) ?? 0,
      blocks: lock.blocks,
      work: lock.work,
    }));
    const ms = tables.map(({ bytes, work }) => (work ? bytes / rates[work] : 0));
    return { name, ms: ms.reduce((sum, each) => sum + each, leastMs), tables };
  });
}

/** Written by `npm run schema`. */
export const locksFile = new URL('../../migrations/locks.json', import.meta.url);

async function readLocks(): Promise<Record<string, MigrationLocks>> {
  return JSON.parse(await readFile(locksFile, 'utf8')) as Record<string, MigrationLocks>;
}

/** A partitioned table has the size of its partitions. */
async function readSizes(database: Database): Promise<Map<string, number>> {
  const { rows } = await sql<{ name: string; bytes: number }>`
    select coalesce(p.relname, c.relname) as name, sum(pg_table_size(c.oid))::int8 as bytes
    from pg_class c left join pg_inherits i on i.inhrelid = c.oid left join pg_class p on p.oid = i.inhparent
    where c.relnamespace = to_regnamespace('orgdir') and c.relkind in ('r', 'p')
    group by 1
  `.execute(database);
  return new Map(rows.map(({ name, bytes }) => [name, bytes]));
}
