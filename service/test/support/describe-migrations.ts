/**
 * Runs every migration after the baseline on an empty database, and asks PostgreSQL which locks on existing tables it holds
 * until its end, which of these tables it reads, indexes or rewrites as a whole, and what it takes away from processes of an
 * earlier version. Locks and reads do not depend on the rows, so this is also true of a full database.
 */
import { readFile } from 'node:fs/promises';
import {
  createIndex,
  parseIndex,
  type MigrationLocks,
} from '../../src/database/apply-migration.ts';
import { openDatabase, sql, type ConnectionSettings } from '../../src/database/database.ts';
import { listMigrations, migrate } from '../../src/database/migrate.ts';
import { findBreaks, readPromises } from './schema-promises.ts';

/** The schema of 1.0.0. It is made on empty databases only, so it takes nothing away and nobody waits for it. */
const baseline = /^000[1-6]_baseline_/;

export type MigrationDescription = {
  name: string;
  locks: MigrationLocks;
  /** Empty if processes that do not know the migration can go on. */
  breaks: string[];
};
type Executor = Parameters<typeof readPromises>[0];
/** `rows` and `indexes` are the names of files, and how many indexes there are. */
type Table = { oid: number; root: string; file: number; indexes: number };

/** `more`: texts of migrations that are not in the folder, by name. */
export async function describeMigrations(
  connection: ConnectionSettings,
  more: Record<string, string> = {},
): Promise<MigrationDescription[]> {
  // Counters of reads belong to a connection.
  const database = openDatabase(connection, { applicationName: 'test', poolSize: 1 });
  const described: MigrationDescription[] = [];
  const names = await listMigrations();
  await migrate(database, { only: names.filter((name) => baseline.test(name)) });
  const later = names.filter((name) => !baseline.test(name));
  for (const name of [...later, ...Object.keys(more)]) {
    const text = more[name] ?? (await readMigrationText(name));
    const index = parseIndex(text);
    if (index) {
      const locks: MigrationLocks = { [index.table]: { blocks: null, work: 'indexes' } };
      await createIndex(database, index, (act) =>
        database
          .transaction()
          .execute(act)
          .then(() => {}),
      );
      described.push({ name, locks, breaks: [] });
      continue;
    }
    described.push(
      await database.transaction().execute(async (tx) => {
        const before = await readState(tx);
        // Reads of whole tables are counted, also those in the order of an index.
        await switchIndexScans(tx, 'off');
        await sql.raw(text).execute(tx);
        await switchIndexScans(tx, 'on');
        const after = await readState(tx);
        const locks = await readLocks(tx, before, after);
        return { name, locks, breaks: findBreaks(before.promises, after.promises) };
      }),
    );
  }
  await database.destroy();
  return described;
}

async function switchIndexScans(tx: Executor, to: 'on' | 'off'): Promise<void> {
  for (const plan of ['indexscan', 'indexonlyscan', 'bitmapscan'])
    await sql.raw(`set local enable_${plan} = ${to}`).execute(tx);
}

function readMigrationText(name: string): Promise<string> {
  return readFile(new URL(`../../migrations/${name}`, import.meta.url), 'utf8');
}

type State = Awaited<ReturnType<typeof readState>>;

async function readState(tx: Executor) {
  const { rows: tables } = await sql<Table>`
    select c.oid::int8, coalesce(p.relname, c.relname) as root, pg_relation_filenode(c.oid)::int8 as file,
      (select count(*) from pg_index where indrelid = c.oid) as indexes
    from pg_class c left join pg_inherits i on i.inhrelid = c.oid left join pg_class p on p.oid = i.inhparent
    where c.relnamespace = 'orgdir'::regnamespace and c.relkind in ('r', 'p')
    order by coalesce(p.relname, c.relname) collate "C"
  `.execute(tx);
  const { rows: reads } = await sql<{ oid: number; count: number }>`
    select relid::int8 as oid, seq_scan as count from pg_stat_xact_all_tables where schemaname = 'orgdir'
  `.execute(tx);
  return {
    tables: new Map(tables.map((table) => [table.oid, table])),
    reads: new Map(reads.map(({ oid, count }) => [oid, count])),
    promises: await readPromises(tx),
  };
}

/** Only locks that keep others from writing. */
async function readLocks(tx: Executor, before: State, after: State): Promise<MigrationLocks> {
  const { rows } = await sql<{ oid: number; blocks_reads: boolean }>`
    select relation::int8 as oid, bool_or(mode = 'AccessExclusiveLock') as blocks_reads
    from pg_locks
    where pid = pg_backend_pid() and locktype = 'relation'
      and mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
    group by relation
  `.execute(tx);
  const blocked = new Map(rows.map(({ oid, blocks_reads }) => [oid, blocks_reads]));
  const locks: MigrationLocks = {};
  for (const [oid, table] of before.tables) {
    const now = after.tables.get(oid);
    const wasRead = (after.reads.get(oid) ?? 0) > (before.reads.get(oid) ?? 0);
    const work = now ? workOn(table, now, wasRead) : null;
    const blocksReads = blocked.get(oid);
    if (blocksReads === undefined && work === null) continue;
    const known = locks[table.root];
    const blocks = blocksReads === undefined ? null : blocksReads ? 'reads' : 'writes';
    locks[table.root] = {
      blocks: known?.blocks === 'reads' ? 'reads' : (blocks ?? known?.blocks ?? null),
      work: known?.work ?? work,
    };
  }
  return locks;
}

function workOn(before: Table, after: Table, wasRead: boolean) {
  if (before.file !== after.file) return 'rewrites';
  if (after.indexes > before.indexes && wasRead) return 'indexes';
  return wasRead ? 'reads' : null;
}
