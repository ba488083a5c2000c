import { openDatabase, type Database } from '../database/database.ts';
import { formatHost } from '../database/primary.ts';
import { readReplica } from '../database/replicas.ts';
import { failed, ok, warning, type Finding } from './finding.ts';

/** Short, because somebody waits for the result. */
const responseTimeoutMs = 2_000;

/** Checks that the servers of DATABASE_READ_URLS are standbys of the database. */
export async function checkReplicas(database: Database, urls: string[]): Promise<Finding[]> {
  if (urls.length === 0) return [];
  const { system } = await readReplica(database);
  return Promise.all(urls.map((url) => checkReplica(url, system)));
}

async function checkReplica(url: string, system: string): Promise<Finding> {
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
