/**
 * Brings a database to the newest schema with numbered SQL files, forward only, each in a transaction. It refuses a
 * database of before 1.0.0, and one from which a newer version of the service has removed what this version uses
 * (docs/decisions/0031-releases-and-upgrades.md).
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { applyMigration, type Migration } from './apply-migration.ts';
import { sql, type Database } from './database.ts';
import { noticeDeadClients } from './session.ts';
import { StartError } from '../errors.ts';

const folder = new URL('../../migrations/', import.meta.url);
const migrationLock = 70420003;
export const turnRetryMs = 50;
/** Why an installation of before 1.0.0 is refused, and what to do instead. */
export const fromBefore = 'was made by a version before 1.0.0, and cannot be upgraded';
export const startEmpty =
  'use an empty database, and import what "orgdir export all" of that version writes';
/** In the format of `server_version_num`. */
export const oldestServer = 150_000;
/** How far from today a day may be whose partition is made because a row of it exists. */
const partitionDaysMax = 1_000;
/** Days of partitions created ahead; the worker creates more every hour. */
const partitionDaysAhead = 7;
/** Each waits 200 ms for a table's lock (`ensure_partitions`), so that a start is delayed by some seconds at most. */
const partitionTriesMax = 10;
const partitionRetryMs = 500;

/**
 * A name such as `0041_contract_0037_old_columns.sql`: it removes what processes whose newest migration is older than 0037
 * use.
 */
const contractStep = /^\d{4}_contract_(\d{4})_/;
/** Much longer than a transaction of the service, and shorter than an operator waits for a start. */
const lockPatienceMs = 60_000;

type MigrateOptions = {
  lockPatienceMs?: number;
  /** Leaves out all others: the schema becomes that of an earlier version. */
  only?: string[];
};

/** Applies missing migrations and returns the names of their files. Safe to run in several processes at once. */
export async function migrate(database: Database, options: MigrateOptions = {}): Promise<string[]> {
  const { lockPatienceMs: patienceMs = lockPatienceMs, only } = options;
  await requireSupportedServer(database);
  return database.connection().execute(async (connection) => {
    await noticeDeadClients(connection);
    await takeTurn(connection);
    try {
      await prepare(connection);
      const missing = await listPending(connection);
      const pending = only ? missing.filter((name) => only.includes(name)) : missing;
      for (const name of pending)
        await applyMigration(connection, await readMigration(name), patienceMs);
      // Revokes public access to objects that a migration added, and grants roles that were created meanwhile their
      // rights.
      await sql`select settle_privileges()`.execute(connection);
      await requirePartitions(connection);
      return pending;
    } finally {
      await sql`select pg_advisory_unlock(${migrationLock})`.execute(connection);
    }
  });
}

/**
 * One process migrates at a time. It asks again instead of waiting in a statement: the snapshot of that statement would keep
 * `create index concurrently` of the other process from ending.
 */
async function takeTurn(connection: Database): Promise<void> {
  for (;;) {
    const { rows } = await sql<{ taken: boolean }>`
      select pg_try_advisory_lock(${migrationLock}) as taken
    `.execute(connection);
    if (rows[0]?.taken) return;
    await wait(turnRetryMs);
  }
}

/** Creates missing partitions from yesterday to a week ahead. Skips tables that another session has locked. */
export async function ensurePartitions(database: Database): Promise<void> {
  await sql`
    select ensure_partitions(today - 1, today + ${partitionDaysAhead}::int)
    from (select (now() at time zone 'utc')::date as today) as clock
  `.execute(database);
}

/** Runs `write`; if that lacks a partition, makes it and runs it again. */
export async function withPartitions<Result>(
  make: () => Promise<unknown>,
  write: () => Promise<Result>,
): Promise<Result> {
  try {
    return await write();
  } catch (error) {
    const { code, constraint } = error as { code?: string; constraint?: string };
    // PostgreSQL reports a missing partition as a violated check without a name.
    if (code !== '23514' || constraint !== undefined) throw error;
    await make();
    return write();
  }
}

/** Makes the partitions of the days of these ids. Retention drops them again in their turn. */
export async function ensurePartitionsOf(database: Database, ids: string[]): Promise<void> {
  await sql`
    select ensure_partitions(day, day)
    from (select distinct (uuid_v7_hour(id) at time zone 'utc')::date as day from unnest(${ids}::uuid[]) as given(id)) as days
    -- An id of another kind has any time in it.
    where abs(day - (queue_now() at time zone 'utc')::date) < ${sql.lit(partitionDaysMax)}
  `.execute(database);
}

/** Without today's partitions nothing can be recorded, and tomorrow may be a minute away. */
async function requirePartitions(connection: Database): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    await ensurePartitions(connection);
    const missing = await listMissingPartitions(connection);
    if (missing.length === 0) return;
    if (tries >= partitionTriesMax) {
      throw new StartError(
        `the partitions ${missing.join(', ')} cannot be created while another session locks their tables; end that session or wait for it, and start again`,
      );
    }
    await wait(partitionRetryMs);
  }
}

/** For today and tomorrow. */
export async function listMissingPartitions(database: Database): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select wanted.name
    from (
      select parent, parent || '_' || to_char((now() at time zone 'utc')::date + ahead, 'YYYYMMDD') as name
      from unnest(array['events', 'deliveries', 'attempts']) as parent, generate_series(0, 1) as ahead
    ) wanted
    where not exists (
      select from pg_inherits i
      where i.inhparent = to_regclass(wanted.parent) and i.inhrelid = to_regclass(wanted.name)
    )
    order by wanted.name
  `.execute(database);
  return rows.map(({ name }) => name);
}

/** The migrations that this version needs, oldest first. */
export async function listMigrations(): Promise<string[]> {
  return (await readdir(folder)).filter((name) => /^\d{4}_.+\.sql$/.test(name)).sort();
}

/** The number of the newest one. */
export const newestMigration = Number((await listMigrations()).at(-1)?.slice(0, 4));

/**
 * Whether a version before 1.0.0 made an installation with these migrations. Every later one has the first file of the
 * baseline (`migrations/0001_baseline_directory.sql`), because nothing upgrades from before.
 */
export async function isBeforeBaseline(applied: string[]): Promise<boolean> {
  const [first = ''] = await listMigrations();
  return applied.length > 0 && !applied.includes(first);
}

/** The migrations that a database has. */
export async function listApplied(database: Database): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select name from migrations`.execute(database);
  return rows.map((row) => row.name);
}

export type MigrationDifferences = {
  /** Not applied yet. */
  missing: string[];
  /** Applied with other content than the file has now. */
  changed: string[];
  /** Applied by a newer version of the service. */
  newer: string[];
  /** Those of them that removed what this version uses. */
  unusable: string[];
  /** The whole database is of a version from which nothing upgrades. */
  beforeBaseline: boolean;
};

/** Compares a database with the migrations of this version; a database without any lacks all. Changes nothing. */
export async function compareMigrations(database: Database): Promise<MigrationDifferences> {
  const files = await Promise.all((await listMigrations()).map(readMigration));
  const { rows: found } = await sql<{ made: boolean }>`
    select to_regclass('orgdir.migrations') is not null as made
  `.execute(database);
  const { rows } = found[0]?.made
    ? await sql<{
        name: string;
        checksum: string;
      }>`select name, checksum from orgdir.migrations`.execute(database)
    : { rows: [] };
  const applied = new Map(rows.map(({ name, checksum }) => [name, checksum]));
  const known = new Map(files.map(({ name, checksum }) => [name, checksum]));
  const newest = files.at(-1)?.name ?? '';
  const newer = [...applied.keys()].filter((name) => !known.has(name)).sort();
  return {
    missing: [...known.keys()].filter((name) => !applied.has(name)),
    changed: [...applied].flatMap(([name, checksum]) =>
      known.has(name) && known.get(name) !== checksum ? [name] : [],
    ),
    newer,
    unusable: newer.filter((name) => newest.slice(0, 4) < oldestAfter(name)),
    beforeBaseline: await isBeforeBaseline([...applied.keys()]),
  };
}

async function requireSupportedServer(database: Database): Promise<void> {
  const { rows } = await sql<{
    number: string;
    version: string;
    encoding: string;
    readOnly: boolean;
  }>`
    select current_setting('server_version_num') as number, current_setting('server_version') as version,
      current_setting('server_encoding') as encoding, current_setting('transaction_read_only')::boolean as "readOnly"
  `.execute(database);
  const [server] = rows;
  if (!server || Number(server.number) < oldestServer) {
    throw new StartError(
      `DATABASE_URL points to PostgreSQL ${server?.version}; version 15 or later is required`,
    );
  }
  if (server.encoding !== 'UTF8') {
    throw new StartError(
      `DATABASE_URL points to a database with the encoding ${server.encoding}; create one with the encoding UTF8`,
    );
  }
  if (server.readOnly) {
    throw new StartError(
      'DATABASE_URL points to a database that accepts no writes; name the primary, or switch default_transaction_read_only off for the role and the database',
    );
  }
}

async function readMigration(name: string): Promise<Migration> {
  const text = await readFile(new URL(name, folder), 'utf8');
  return { name, text, checksum: createHash('sha256').update(text).digest('hex') };
}

async function prepare(connection: Database): Promise<void> {
  await sql`create schema if not exists orgdir`.execute(connection);
  await sql`
    create table if not exists orgdir.migrations (
      name text primary key,
      checksum text not null,
      applied_at timestamptz(3) not null default now()
    )
  `.execute(connection);
}

/** Refuses a database that this version cannot migrate, with the reason. */
export async function listPending(database: Database): Promise<string[]> {
  const { missing, changed, unusable, beforeBaseline } = await compareMigrations(database);
  if (beforeBaseline) throw new StartError(`this database ${fromBefore}; ${startEmpty}`);
  if (unusable[0] !== undefined)
    throw new StartError(
      `a newer version of the service has applied the migration ${unusable[0]}, which removed what this version uses; start a version that has the migration ${oldestAfter(unusable[0])} or later ones`,
    );
  if (changed[0] !== undefined)
    throw new StartError(
      `the migration ${changed[0]} was changed after it was applied to this database; restore the file and add a new one`,
    );
  return missing;
}

/** The number of the oldest migration that a process must have after this one. */
export function oldestAfter(name: string): string {
  return contractStep.exec(name)?.[1] ?? '';
}
