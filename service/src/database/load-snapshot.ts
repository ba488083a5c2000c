/**
 * Loads a snapshot (`read-snapshot.ts`) into an empty database, in one transaction: one that is interrupted leaves it as
 * empty as it was. The schema is that of the snapshot until its rows are there, and is then migrated like any other. A mark
 * tells what an interrupted load has brought from what a service has used, so that every load can be repeated.
 */
import { pipeline } from 'node:stream/promises';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { StartError } from '../errors.ts';
import {
  directConnection,
  openDatabase,
  sql,
  type ConnectionSettings,
  type Database,
} from './database.ts';
import { fromBefore, isBeforeBaseline, listMigrations, migrate, turnRetryMs } from './migrate.ts';
import { positionsPerRestore } from './timeline.ts';
import {
  countRows,
  hasInstallation,
  listTables,
  qualified,
  requireStopped,
  withCopyClient,
  type RowCounts,
  type Snapshot,
  type SnapshotTable,
} from './read-snapshot.ts';

/** Held by the session that loads. */
const loadLock = 70420023;
/** The name of the mark in `installation`. It is `unfinished`, then `complete`, and goes when something else opens the database. */
const mark = 'copy';
/** Rows that migrations and a first start write, before anybody has used the installation. */
const filledByStart = new Set([
  'entry_changes_dropped',
  'event_kinds',
  'first_account_links',
  'installation',
  'list_totals',
  'revisions',
  'sync_schedules',
  'workers',
]);

const { escapeIdentifier } = pg;

/** Throws a `StartError` if the snapshot cannot be loaded there. */
export function checkTarget(
  connection: ConnectionSettings,
  applicationName: string,
  snapshot: Pick<Snapshot, 'migrations'>,
): Promise<unknown> {
  return withCopyClient(connection, applicationName, (client) => requireTarget(client, snapshot));
}

/** Returns the rows of each table, after comparing them with the snapshot's. */
export function loadSnapshot(
  connection: ConnectionSettings,
  applicationName: string,
  snapshot: Snapshot,
): Promise<RowCounts> {
  return withCopyClient(connection, applicationName, async (client) => {
    await takeTurn(client);
    const isUnfinished = await requireTarget(client, snapshot);
    if (isUnfinished) await client.query('drop schema orgdir cascade');
    const options = { applicationName, poolSize: 1, statementTimeoutMs: 0 };
    const database = openDatabase(directConnection(connection), options);
    try {
      await migrate(database, { only: snapshot.migrations });
      const counts = await loadRows(client, snapshot);
      await migrate(database);
      await client.query(`update orgdir.installation set value = 'complete' where name = $1`, [
        mark,
      ]);
      return counts;
    } finally {
      await database.destroy();
    }
  });
}

/** One load at a time: once the lock is free, an interrupted one has ended. Waits as `migrate` does, and for the same reason. */
async function takeTurn(client: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ taken: boolean }>(
      'select pg_try_advisory_lock($1) as taken',
      [loadLock],
    );
    if (rows[0]?.taken) return;
    await wait(turnRetryMs);
  }
}

/** From now on what was loaded is in use, and no load may replace it. */
export async function removeCopyMark(database: Database): Promise<void> {
  await sql`delete from installation where name = ${mark}`.execute(database);
}

/**
 * Returns whether the database has what an interrupted load brought. Throws a `StartError` if the snapshot is from before
 * 1.0.0 or newer than this version, or if the database is in use or has a newer schema than the snapshot.
 */
async function requireTarget(
  client: pg.Client,
  { migrations }: Pick<Snapshot, 'migrations'>,
): Promise<boolean> {
  if (await isBeforeBaseline(migrations)) throw new StartError(`the data ${fromBefore}`);
  const known = new Set(await listMigrations());
  const unknown = migrations.find((name) => !known.has(name));
  if (unknown !== undefined)
    throw new StartError(
      `the data is of a newer version of the service, which has the migration ${unknown}; use that version or a later one`,
    );
  await requireStopped(client, 'the target');
  if (!(await hasInstallation(client))) return false;
  if (await requireFree(client)) return true;
  const { rowCount } = await client.query('select from migrations where name <> all($1)', [
    migrations,
  ]);
  // Migrations change rows that are there before them, so they must come after those of the snapshot.
  if (rowCount)
    throw new StartError(
      'the target is newer than the data; name a database that the service has never used',
    );
  return false;
}

async function loadRows(client: pg.Client, snapshot: Snapshot): Promise<RowCounts> {
  const counts: RowCounts = {};
  for (const day of snapshot.days)
    await client.query('select ensure_partitions($1::date, $1::date)', [day]);
  await client.query('begin');
  await requireFree(client);
  for await (const table of snapshot.tables()) counts[table.name] = await loadTable(client, table);
  for (const [name, value] of Object.entries(snapshot.sequences))
    await client.query('select setval($1::regclass, $2)', [
      qualified(name),
      name === 'event_positions' ? value + positionsPerRestore : value,
    ]);
  await client.query(
    `insert into orgdir.installation (name, value) values ($1, 'unfinished')
     on conflict (name) do update set value = excluded.value`,
    [mark],
  );
  await snapshot.requireUnchanged?.(counts);
  await requireStopped(client, 'the target');
  await client.query('commit');
  // The planner knows nothing of the new rows yet.
  await client.query(`analyze ${Object.keys(counts).map(qualified).join(', ')}`);
  return counts;
}

async function loadTable(client: pg.Client, table: SnapshotTable): Promise<number> {
  const name = qualified(table.name);
  // The rows are as their triggers made them.
  await client.query(`alter table ${name} disable trigger user`);
  const { rowCount } = await client.query(`delete from ${name}`);
  if (rowCount && !filledByStart.has(table.name))
    throw new StartError(
      `somebody has written to ${table.name} of the target meanwhile, so nothing was loaded; stop everything that writes there, and run the command again`,
    );
  const columns = table.columns.map(escapeIdentifier).join(', ');
  await pipeline(table.text, client.query(copyFrom(`copy ${name} (${columns}) from stdin`)));
  await client.query(`alter table ${name} enable trigger user`);
  const [loaded, expected] = [await countRows(client, table.name), await table.countRows()];
  if (loaded === expected) return loaded;
  throw new Error(`${table.name} has ${loaded} rows of ${expected}, so nothing was committed`);
}

/** Returns whether the rows are what an interrupted load brought. Throws a `StartError` if they are not. */
async function requireFree(client: pg.Client): Promise<boolean> {
  const names: string[] = [];
  for (const { name } of await listTables(client)) {
    if (filledByStart.has(name)) continue;
    const { rowCount } = await client.query(`select from ${qualified(name)} limit 1`);
    if (rowCount) names.push(name);
  }
  if (names.length === 0) return false;
  const { rows } = await client.query<{ value: string }>(
    'select value from orgdir.installation where name = $1',
    [mark],
  );
  if (rows[0]?.value === 'unfinished') return true;
  throw new StartError(
    rows[0]
      ? 'the target has a complete copy already, which no service has used yet; start the service on it, or name an empty database'
      : `the target is in use: it has rows in ${names.join(', ')}; name an empty database, for example one that you have just created`,
  );
}
