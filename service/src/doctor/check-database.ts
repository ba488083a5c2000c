/** Opens the configured database, without creating or migrating one, and checks its contents. */
import { join } from 'node:path';
import type { Config } from '../settings/config.ts';
import {
  isStatementTimeout,
  openDatabase,
  type ConnectionSettings,
  type Database,
} from '../database/database.ts';
import { openEmbedded } from '../database/embedded.ts';
import { listLockHolders } from '../database/list-lock-holders.ts';
import { exists } from '../database/unfinished-files.ts';
import { ServiceError, StartError } from '../errors.ts';
import { namesServers, splitHosts } from '../settings/setting-types.ts';
import { checkConnections, checkLocks, checkMigrations, checkServer } from './check-server.ts';
import { checkPooler, checkReplicas, checkServers, checkSynchronous } from './check-servers.ts';
import { checkQueue } from './check-queue.ts';
import { checkStoredSecrets } from './check-secrets.ts';
import { failed, ok, skipped, type Finding } from './finding.ts';

export type DatabaseCheckOptions = {
  /** This machine's clock, in milliseconds. */
  now: () => number;
  /** Called while the embedded database opens, so that a signal can close it. */
  onOpening: (opening: Promise<Closable>) => void;
};
type Closable = { close(): Promise<void> };
type Where = Pick<
  Config,
  | 'databaseReadUrls'
  | 'databaseDirectUrl'
  | 'databaseUrl'
  | 'dataDir'
  | 'secretKeys'
  | 'roles'
  | 'retentionDays'
  | 'workers'
>;
type Opened =
  | { kind: 'opened'; connection: ConnectionSettings; servers: Finding[]; close(): Promise<void> }
  | { kind: 'reported'; findings: Finding[] };

/** Short, because somebody waits for the result. */
const statementTimeoutMs = 5_000;

export async function checkDatabase(
  config: Where,
  faulty: ReadonlySet<string>,
  { now, onOpening }: DatabaseCheckOptions,
): Promise<Finding[]> {
  if (['DATABASE_URL', 'DATABASE_DIRECT_URL', 'DATA_DIR'].some((name) => faulty.has(name)))
    return [skipped('database', 'not checked: the configuration is invalid')];
  const opened = await open(config, onOpening);
  if (opened.kind === 'reported') return opened.findings;
  try {
    return [...(await checkOpened(opened.connection, config, faulty, now)), ...opened.servers];
  } finally {
    await opened.close();
  }
}

async function open(
  { databaseUrl, databaseDirectUrl, dataDir }: Where,
  onOpening: DatabaseCheckOptions['onOpening'],
): Promise<Opened> {
  if (databaseUrl !== null) return openServer(databaseUrl, databaseDirectUrl);
  if (!(await exists(join(dataDir, 'postgres', 'PG_VERSION'))))
    return reported(ok('database', `none yet in ${dataDir}; the first start creates one`));
  try {
    const opening = openEmbedded({ dataDir, purpose: 'tool' });
    onOpening(opening);
    const embedded = await opening;
    const { connection } = embedded;
    return { kind: 'opened', connection, servers: [], close: () => embedded.close() };
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    return reported(failed('database', error.message, `see ${join(dataDir, 'postgres.log')}`));
  }
}

/** All other checks use the server itself. */
async function openServer(databaseUrl: string, directUrl: string | null): Promise<Opened> {
  const pooled = directUrl === null ? null : await chooseServer(databaseUrl, 'DATABASE_URL');
  const { url, findings } = pooled
    ? await chooseServer(directUrl ?? '', 'DATABASE_DIRECT_URL')
    : await chooseServer(databaseUrl, 'DATABASE_URL');
  const servers = [...findings, ...(pooled?.findings ?? [])];
  if (url === null) return { kind: 'reported', findings: servers };
  const connection = { connectionString: url };
  servers.push(...(await checkPooler(connection, pooled && pooled.url)));
  return { kind: 'opened', connection, servers, close: async () => {} };
}

async function chooseServer(address: string, variable: string) {
  return namesServers(address) ? checkServers(address, variable) : { url: address, findings: [] };
}

function reported(finding: Finding): Opened {
  return { kind: 'reported', findings: [finding] };
}

async function checkOpened(
  connection: ConnectionSettings,
  config: Where,
  faulty: ReadonlySet<string>,
  now: () => number,
): Promise<Finding[]> {
  const database = openDatabase(connection, {
    applicationName: `orgdir doctor, pid ${process.pid}`,
    poolSize: 1,
    statementTimeoutMs,
  });
  const address = connection.connectionString ?? null;
  try {
    return await inspect({ database, address, config, now }, [
      ['stored_secrets', () => checkStoredSecrets(database, config, faulty)],
      ['queue', () => checkQueue(database, config)],
    ]);
  } finally {
    await database.destroy();
  }
}

/**
 * Checks the database that a running process uses, but no stored secrets: decrypting all of them would keep it from its requests.
 */
export function checkLive(
  database: Database,
  { primary, connectionString }: Pick<ConnectionSettings, 'primary' | 'connectionString'>,
  config: Where,
): Promise<Finding[]> {
  const address = primary?.url ?? connectionString ?? null;
  return inspect({ database, address, config, now: Date.now }, [
    ['queue', () => checkQueue(database, config)],
  ]);
}

/** By the names of their findings. */
type Checks = (readonly [what: string, check: () => Promise<Finding[] | Finding>])[];
type Inspected = {
  database: Database;
  /** Null: embedded. */
  address: string | null;
  config: Where;
  now: () => number;
};

async function inspect(
  { database, address, config, now }: Inspected,
  checksInside: Checks,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  // One that fails hides no other: a missing privilege, a lock, or a connection that broke between two checks.
  const add = async (what: string, check: () => Promise<Finding[] | Finding>) => {
    try {
      findings.push(...[await check()].flat());
    } catch (error) {
      findings.push(await describeFailure(database, what, error));
    }
  };
  let isUsable = false;
  let isComplete = true;
  await add('database', async () => {
    const server = await checkServer(database, address, now);
    ({ isUsable } = server);
    return server.findings;
  });
  if (!isUsable) return findings;
  await add('connections', () => checkConnections(database, config));
  if (hasSeveralHosts(config)) await add('servers', () => checkSynchronous(database));
  await add('replicas', () => checkReplicas(database, config.databaseReadUrls));
  await add('migrations', async () => {
    const migrations = await checkMigrations(database);
    ({ isComplete } = migrations);
    return migrations.findings;
  });
  if (!isComplete) return [...findings, notMigrated];
  await add('locks', () => checkLocks(database, config));
  for (const [what, check] of checksInside) await add(what, check);
  return findings;
}

async function describeFailure(database: Database, what: string, error: unknown): Promise<Finding> {
  // Both are what a lock makes of a statement: a time-out of its own, or of whoever waits for it.
  const isSlow = isStatementTimeout(error) || error instanceof ServiceError;
  const holders = isSlow ? await listLockHolders(database).catch(() => '') : '';
  return failed(
    what,
    `could not be checked: ${firstLine(error)}`,
    holders === ''
      ? 'fix this error, and run doctor again'
      : `end what holds a lock for long, and run doctor again: ${holders}`,
  );
}

function hasSeveralHosts({ databaseUrl, databaseDirectUrl }: Where): boolean {
  return splitHosts(databaseDirectUrl ?? databaseUrl ?? '').length > 1;
}

const notMigrated = skipped(
  'content',
  "stored secrets, partitions and queue were not checked: the schema is not this version's",
);

function firstLine(error: unknown): string {
  return (error as Error).message.split('\n')[0] ?? '';
}
