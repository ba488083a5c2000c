/** Shared by the tests of syncs: runs of both kinds, their events, and the directory. */
import { syncBlueprints, type BlueprintSyncRequest } from '../../src/sync/sync-blueprints.ts';
import type { RunOutcome } from '../../src/sync/perform-run.ts';
import type { SyncRun } from '../../src/contract/sync-run.ts';
import { readLocation } from '../../src/sync/open-source.ts';
import { sql, type Database } from '../../src/database/database.ts';
import type { TestDatabase } from './database.ts';
import { eventually } from './eventually.ts';
import { recordedEvents } from './queue.ts';
import { testPublicUrl } from './service.ts';

/** Runs the blueprint sync from a file or an address, as the command does. */
export function runBlueprints(
  { connection }: Pick<TestDatabase, 'connection'>,
  source: string,
  options: Partial<BlueprintSyncRequest> = {},
): Promise<RunOutcome> {
  const location = readLocation(source);
  if (!location) throw new Error(`${source} is no source`);
  return syncBlueprints(connection, {
    location,
    trigger: 'cli',
    force: false,
    skipBad: false,
    publicUrl: testPublicUrl,
    userAgent: 'Test/1',
    signal: new AbortController().signal,
    ...options,
  });
}

/** The run of an outcome that has one. */
export function runOf(outcome: RunOutcome): SyncRun {
  if (outcome.kind === 'not_due' || !outcome.run) throw new Error(`no run: ${outcome.kind}`);
  return outcome.run;
}

/** The data of all events of a name, oldest first. */
export async function eventsOf(database: Database, name: string): Promise<any[]> {
  const { rows } = await sql<{ data: string }>`
    select data from ${recordedEvents} where name = ${name} order by id
  `.execute(database);
  return rows.map(({ data }) => JSON.parse(data) as unknown);
}

/** Everything that a run could have changed of a table, the versions of its rows included. */
export async function stateOf(
  database: Database,
  table: string,
): Promise<Record<string, unknown>[]> {
  const { rows } = await sql<Record<string, unknown>>`
    select xmin::text as version_of_row, * from ${sql.table(table)} order by id
  `.execute(database);
  return rows;
}

/** Resolves when a session that `condition` finds, over `pg_stat_activity`, waits for a lock. */
export async function isWaiting(
  database: Database,
  condition: ReturnType<typeof sql>,
): Promise<void> {
  await eventually(async () => {
    const { rows } = await sql`
      select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and ${condition}
    `.execute(database);
    return rows.length > 0;
  });
}

export async function revisionOf(database: Database, scope: string): Promise<number> {
  const { rows } = await sql<{ revision: number }>`
    select revision from revisions where scope = ${scope}
  `.execute(database);
  return rows[0]?.revision ?? 0;
}
