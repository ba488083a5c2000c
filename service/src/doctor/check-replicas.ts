import { setTimeout as wait } from 'node:timers/promises';
import { openDatabase, type Database } from '../database/database.ts';
import { formatHost } from '../database/primary.ts';
import { readReplica } from '../database/replicas.ts';
import { selectRevisions } from '../database/revisions.ts';
import { failed, ok, warning, type Finding } from './finding.ts';

/** Short, because somebody waits for the result. */
const responseTimeoutMs = 2_000;

/** While there are writes, any replica is behind for a moment. */
const catchUpMs = 2_000;
const pollMs = 100;

/** By scope. */
type Content = Map<string, number>;

/** Checks that the servers of DATABASE_READ_URLS are standbys of the database, and have what it has. */
export async function checkReplicas(database: Database, urls: string[]): Promise<Finding[]> {
  if (urls.length === 0) return [];
  const { system } = await readReplica(database);
  // Before the first migration there is nothing to compare.
  const content = await readContent(database).catch((): Content => new Map());
  return Promise.all(urls.map((url) => checkReplica(url, system, content)));
}

async function checkReplica(url: string, system: string, content: Content): Promise<Finding> {
  const name = formatHost(url);
  const replica = openDatabase(
    { connectionString: url },
    { applicationName: `orgdir doctor, pid ${process.pid}`, poolSize: 1, responseTimeoutMs },
  );
  try {
    const state = await readReplica(replica);
    if (state.system !== system)
      return failed(
        'replicas',
        `${name} is not a replica of the database in DATABASE_URL`,
        'remove it from DATABASE_READ_URLS; the service does not start with it',
      );
    if (!state.is_standby)
      return warning(
        'replicas',
        `${name} is not a standby, so nothing is read from it`,
        'remove it from DATABASE_READ_URLS, or make it a standby',
      );
    if (await staysBehind(replica, content))
      return warning(
        'replicas',
        `${name} is behind, so nothing is read from it`,
        'see whether it follows the primary (select * from pg_stat_wal_receiver); after a failover, let it follow the new one',
      );
    return ok('replicas', `${name} is a standby of the database`);
  } catch (error) {
    const reason = (error as Error).message.split('\n')[0];
    return warning(
      'replicas',
      `${name} cannot be read: ${reason}`,
      'start it, or remove it from DATABASE_READ_URLS; the primary takes over its reads',
    );
  } finally {
    await replica.destroy();
  }
}

async function readContent(database: Database): Promise<Content> {
  const rows = await selectRevisions(database);
  return new Map(rows.map(({ scope, revision }) => [scope, revision]));
}

async function staysBehind(replica: Database, content: Content): Promise<boolean> {
  const deadline = performance.now() + catchUpMs;
  for (;;) {
    const found = await readContent(replica);
    if ([...content].every(([scope, revision]) => (found.get(scope) ?? 0) >= revision))
      return false;
    if (performance.now() > deadline) return true;
    await wait(pollMs);
  }
}
