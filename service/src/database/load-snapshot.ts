/**
 * Loads a snapshot (`read-snapshot.ts`) into an empty database, in one transaction: one that is interrupted leaves it as
 * empty as it was. The schema is that of the snapshot until its rows are there, and is then migrated like any other.
 */
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { StartError } from '../errors.ts';
import { directConnection, openDatabase, type ConnectionSettings } from './database.ts';
import { fromBefore, isBeforeBaseline, listMigrations, migrate } from './migrate.ts';
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

/** Held by the transaction that loads. */
const loadLock = 70420012;
/** Rows that migrations and a first start write, before anybody has used the installation. */
const filledByStart = new Set([
  'event_kinds',
  'first_account_links',
  'installation',
  'list_totals',
  'revisions',
  'sync_schedules',
  'workers',
]);

const { escapeIdentifier } = pg;

/**
 * Throws a `StartError` if the snapshot is from before 1.0.0 or newer than this version, or if the database is in use or
 * has a newer schema than the snapshot.
 */
export async function checkTarget(
  connection: ConnectionSettings,
  applicationName: string,
  { migrations }: Pick<Snapshot, 'migrations'>,
): Promise<void> {
  if (await isBeforeBaseline(migrations)) throw new StartError(`the data ${fromBefore}`);
  const known = new Set(await listMigrations());
  const unknown = migrations.find((name) => !known.has(name));
  if (unknown !== undefined)
    throw new StartError(
      `the data is of a newer version of the service, which has the migration ${unknown}; use that version or a later one`,
    );
  await withCopyClient(connection, applicationName, async (client) => {
    await requireStopped(client, 'the target');
    if (!(await hasInstallation(client))) return;
    await requireEmpty(client);
    const { rowCount } = await client.query('select from migrations where name <> all($1)', [
      migrations,
    ]);
    // Migrations change rows that are there before them, so they must come after those of the snapshot.
    if (rowCount)
      throw new StartError(
        'the target is newer than the data; name a database that the service has never used',
      );
  });
}

/** Returns the rows of each table, after comparing them with the snapshot's. */
export async function loadSnapshot(
  connection: ConnectionSettings,
  applicationName: string,
  snapshot: Snapshot,
): Promise<RowCounts> {
  await checkTarget(connection, applicationName, snapshot);
  const options = { applicationName, poolSize: 1, statementTimeoutMs: 0 };
  const database = openDatabase(directConnection(connection), options);
  try {
    await migrate(database, { only: snapshot.migrations });
    const counts = await withCopyClient(connection, applicationName, (client) =>
      loadRows(client, snapshot),
    );
    await migrate(database);
    return counts;
  } finally {
    await database.destroy();
  }
}

async function loadRows(client: pg.Client, snapshot: Snapshot): Promise<RowCounts> {
  const counts: RowCounts = {};
  for (const day of snapshot.days)
    await client.query('select ensure_partitions($1::date, $1::date)', [day]);
  await client.query('begin');
  // Once the lock is free, an interrupted one has ended.
  await client.query('select pg_advisory_xact_lock($1)', [loadLock]);
  await requireEmpty(client);
  for await (const table of snapshot.tables()) counts[table.name] = await loadTable(client, table);
  for (const [name, value] of Object.entries(snapshot.sequences))
    await client.query('select setval($1::regclass, $2)', [qualified(name), value]);
  await client.query('commit');
  // The planner knows nothing of the new rows yet.
  await client.query(`analyze ${Object.keys(counts).map(qualified).join(', ')}`);
  return counts;
}

async function loadTable(client: pg.Client, table: SnapshotTable): Promise<number> {
  const name = qualified(table.name);
  // The rows are as their triggers made them.
  await client.query(`alter table ${name} disable trigger user`);
  await client.query(`delete from ${name}`);
  const columns = table.columns.map(escapeIdentifier).join(', ');
  await pipeline(table.text, client.query(copyFrom(`copy ${name} (${columns}) from stdin`)));
  await client.query(`alter table ${name} enable trigger user`);
  const [loaded, expected] = [await countRows(client, table.name), await table.countRows()];
  if (loaded === expected) return loaded;
  throw new Error(`${table.name} has ${loaded} rows of ${expected}, so nothing was committed`);
}

async function requireEmpty(client: pg.Client): Promise<void> {
  const names: string[] = [];
  for (const { name } of await listTables(client)) {
    if (filledByStart.has(name)) continue;
    const { rowCount } = await client.query(`select from ${qualified(name)} limit 1`);
    if (rowCount) names.push(name);
  }
  if (names.length > 0)
    throw new StartError(
      `the target is in use: it has rows in ${names.join(', ')}; name an empty database, for example one that you have just created`,
    );
}
