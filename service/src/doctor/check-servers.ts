/** Checks the servers of DATABASE_URL if it names several hosts, the pooler and the replicas. */
import { setTimeout as wait } from 'node:timers/promises';
import { sql, type Database, type ConnectionSettings, openDatabase } from '../database/database.ts';
import { choosePrimary, readServers, type ServerState, formatHost } from '../database/primary.ts';
import { StartError } from '../errors.ts';
import { splitHosts } from '../settings/setting-types.ts';
import { failed, ok, warning, type Finding } from './finding.ts';
import { findDirectFault, findPoolerAdvice, findPoolerFault } from '../database/pooler.ts';
import { readReplica } from '../database/replicas.ts';
import { selectRevisions } from '../database/revisions.ts';

/** Chooses the server that the other checks use: `url` is that of the primary, or null if there is none. */
export async function checkServers(
  address: string,
  variable: string,
): Promise<{ url: string | null; findings: Finding[] }> {
  const servers = await readServers(splitHosts(address));
  try {
    const { url, name } = choosePrimary(servers, variable);
    const others = servers.filter((server) => server.url !== url);
    return { url, findings: others.map((server) => checkOther(server, name, variable)) };
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    const advice = `start the servers that do not run, and correct the hosts in ${variable}`;
    return { url: null, findings: [failed('database', error.message, advice)] };
  }
}

function checkOther({ name, state }: ServerState, primary: string, variable: string): Finding {
  if (state.kind === 'read-only') return ok('servers', `${name} is a standby`);
  if (state.kind === 'unreachable')
    return warning(
      'servers',
      `${name} cannot be reached: ${state.reason}`,
      `start it, or remove it from ${variable}: nothing takes over for the primary without it`,
    );
  return failed(
    'servers',
    `${name} accepts writes although ${primary} is the primary`,
    'stop it, and make it a standby of the primary; other programs may still write to it',
  );
}

/** Without a synchronous standby, a failover loses the last commits. */
export async function checkSynchronous(database: Database): Promise<Finding> {
  const { rows } = await sql<{ names: string; level: string }>`
    select current_setting('synchronous_standby_names') as names, current_setting('synchronous_commit') as level
  `.execute(database);
  const { names = '', level = '' } = rows[0] ?? {};
  if (names !== '' && ['on', 'remote_apply'].includes(level))
    return ok('servers', `commits wait for a standby (${names})`);
  return warning(
    'servers',
    'commits do not wait for a standby, so a failover can lose acknowledged events',
    "set synchronous_standby_names, for example to 'any 1 (*)', and leave synchronous_commit on",
  );
}

const see = 'see "Pooler" in docs/operations.md';

/** Checks the pooler in `pooledUrl`, if there is one, and that `direct` leads through none. */
export async function checkPooler(
  direct: ConnectionSettings,
  pooledUrl: string | null,
): Promise<Finding[]> {
  const variable = pooledUrl === null ? 'DATABASE_URL' : 'DATABASE_DIRECT_URL';
  try {
    const fault =
      (await findDirectFault(direct, variable)) ??
      (pooledUrl && (await findPoolerFault({ connectionString: pooledUrl, direct })));
    if (fault) return [failed('pooler', fault, see)];
    if (pooledUrl === null) return [];
    const slow = await findPoolerAdvice({ connectionString: pooledUrl, direct });
    return slow
      ? [warning('pooler', slow, see)]
      : [ok('pooler', 'it shares connections by transaction, and leads to the same database')];
  } catch (error) {
    // Another check reports a server that cannot be reached.
    if (pooledUrl === null) return [];
    const reason = (error as Error).message.split('\n')[0];
    return [
      failed(
        'pooler',
        `the database cannot be used through the pooler: ${reason}`,
        'check DATABASE_URL, and that the pooler runs',
      ),
    ];
  }
}

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
