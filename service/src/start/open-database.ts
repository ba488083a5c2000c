/** Opens the configured database: the operator's server, or the embedded one. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Config } from '../settings/config.ts';
import {
  directConnection,
  openDatabase,
  shortTransactionMs,
  type ConnectionSettings,
  type Database,
  type DatabaseOptions,
} from '../database/database.ts';
import { describeConnectFault, followPrimary, type PrimaryMove } from '../database/primary.ts';
import { openEmbedded, type EmbeddedDatabase, type EmbeddedOptions } from '../database/embedded.ts';
import { followTime, type FollowedTime } from '../database/clock.ts';
import { removeCopyMark } from '../database/load-snapshot.ts';
import { migrate } from '../database/migrate.ts';
import { findDirectFault, findPoolerFault } from '../database/pooler.ts';
import { StartError } from '../errors.ts';
import { namesServers, splitHosts } from '../settings/setting-types.ts';

export type OpenedDatabase = FollowedTime & {
  database: Database;
  connection: ConnectionSettings;
  embedded: boolean;
  /** Ends the pool, and the embedded server if nobody else uses it. May be called twice. */
  close(): Promise<void>;
};

export type OpenOptions = Pick<EmbeddedOptions, 'purpose' | 'onLost' | 'signal'> &
  Pick<DatabaseOptions, 'applicationName' | 'poolSize'> & {
    /** Leaves the schema as it is: it may be older than this version. */
    unmigrated?: boolean;
    /** Statements have no limit, on the server or here. A database that goes silent shows only when TCP gives it up. */
    waits?: boolean;
    /** Called after a failover to another host. */
    onMoved?: (move: PrimaryMove) => void;
  };

/** Whoever still uses the database so long after a signal waits for something that does not respond, or for a migration. */
const closesAfterMs = 3_800;
/** Statements that still run after this belong to requests that were cut. */
const poolEndTimeoutMs = 500;

type Addresses = Pick<Config, 'databaseUrl'> & Partial<Pick<Config, 'databaseDirectUrl'>>;

/** Connects, and migrates unless it is told not to. Throws a `StartError` with the reason if that fails. */
export async function openConfiguredDatabase(
  config: Addresses & Pick<Config, 'dataDir'>,
  options: OpenOptions,
): Promise<OpenedDatabase> {
  const { applicationName, poolSize } = options;
  const server =
    config.databaseUrl === null
      ? await openEmbedded({ ...options, dataDir: config.dataDir })
      : null;
  const connection = server?.connection ?? (await connectionTo(config, options));
  const database = openDatabase(connection, {
    applicationName,
    ...(poolSize && { poolSize }),
    ...(options.waits && { statementTimeoutMs: 0 }),
    // A command may wait in its transaction for input that somebody types.
    ...(options.purpose === 'service' && { idleInTransactionMs: shortTransactionMs }),
  });
  let closing: Promise<void> | undefined;
  const closeAll = () => (closing ??= close(database, server, connection));
  const { signal } = options;
  signal?.addEventListener('abort', () => setTimeout(() => void closeAll(), closesAfterMs).unref());
  try {
    signal?.throwIfAborted();
    if (!server) await requireUsable(connection, config);
    if (!options.unmigrated) await migrateOnce(connection, applicationName);
    const time = await followTime(database);
    return { ...time, database, connection, embedded: server !== null, close: closeAll };
  } catch (error) {
    await closeAll();
    throw server ? error : toStartError(error, directVariable(config));
  }
}

/** Commands do not use the pooler: they are few, and hold long transactions. */
async function connectionTo(
  config: Addresses,
  { purpose, onMoved = () => {} }: OpenOptions,
): Promise<ConnectionSettings> {
  const { databaseUrl, databaseDirectUrl } = config;
  const url = databaseUrl ?? '';
  const direct = await follow(databaseDirectUrl ?? url, directVariable(config), onMoved);
  if (!databaseDirectUrl || purpose === 'tool') return direct;
  try {
    return { ...(await follow(url, 'DATABASE_URL', onMoved)), direct };
  } catch (error) {
    stopFollowing(direct);
    throw error;
  }
}

/** The variable that names the server itself. */
function directVariable({ databaseDirectUrl }: Addresses): string {
  return databaseDirectUrl ? 'DATABASE_DIRECT_URL' : 'DATABASE_URL';
}

/** With several hosts, the connection follows the primary until it is stopped. */
async function follow(
  url: string,
  variable: string,
  onMoved: (move: PrimaryMove) => void,
): Promise<ConnectionSettings> {
  if (!namesServers(url)) return { connectionString: url };
  return {
    connectionString: url,
    primary: await followPrimary(splitHosts(url), variable, onMoved),
  };
}

function stopFollowing({ primary, direct }: ConnectionSettings): void {
  primary?.stop();
  direct?.primary?.stop();
}

async function close(
  database: Database,
  server: EmbeddedDatabase | null,
  connection: ConnectionSettings,
): Promise<void> {
  await Promise.race([database.destroy(), wait(poolEndTimeoutMs, undefined, { ref: false })]);
  stopFollowing(connection);
  await server?.close();
}

/** Only the operator can fix an address that cannot be used, so the error is one line without a stack. */
async function requireUsable(connection: ConnectionSettings, config: Addresses): Promise<void> {
  const variable = directVariable(config);
  await requireNoFault(variable, () => findDirectFault(connection, variable));
  if (connection.direct) await requireNoFault('DATABASE_URL', () => findPoolerFault(connection));
}

async function requireNoFault(variable: string, find: () => Promise<string | null>): Promise<void> {
  const fault = await find().catch((error: unknown) => {
    throw unusable(error, variable);
  });
  if (fault !== null) throw new StartError(fault);
}

/** On a separate pool: a migration may take longer than the service allows its statements. */
async function migrateOnce(connection: ConnectionSettings, applicationName: string): Promise<void> {
  const database = openDatabase(directConnection(connection), {
    applicationName,
    poolSize: 1,
    statementTimeoutMs: 0,
  });
  try {
    await migrate(database);
    await removeCopyMark(database);
  } finally {
    await database.destroy();
  }
}

/** PostgreSQL's refusals, such as a user without the right to create a schema, are not bugs either. */
function toStartError(error: unknown, variable: string): unknown {
  if (error instanceof StartError || (error as { code?: string }).code === undefined) return error;
  return unusable(error, variable);
}

function unusable(error: unknown, variable: string): StartError {
  const { code, reason } = describeConnectFault(error);
  return new StartError(
    `${variable} points to a database that cannot be used${code ? ` (${code})` : ''}: ${reason}`,
    { cause: error },
  );
}
