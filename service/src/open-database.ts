/** Opens the configured database: the operator's server, or the embedded one. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Config } from './config.ts';
import {
  openClient,
  openDatabase,
  shortTransactionMs,
  type ConnectionSettings,
  type Database,
  type DatabaseOptions,
} from './database/database.ts';
import { openEmbedded, type EmbeddedDatabase, type EmbeddedOptions } from './database/embedded.ts';
import { migrate } from './database/migrate.ts';
import { followPrimary, type Primary, type PrimaryMove } from './database/primary.ts';
import { StartError } from './errors.ts';
import { namesServers, splitHosts } from './setting-types.ts';

export type OpenedDatabase = {
  database: Database;
  connection: ConnectionSettings;
  embedded: boolean;
  /** Ends the pool, and the embedded server if nobody else uses it. May be called twice. */
  close(): Promise<void>;
};

export type OpenOptions = Pick<EmbeddedOptions, 'purpose' | 'onLost'> &
  Pick<DatabaseOptions, 'applicationName' | 'poolSize'> & {
    /** Leaves the schema as it is: it may be older than this version. */
    unmigrated?: boolean;
    /** Called after a failover to another host of DATABASE_URL. */
    onMoved?: (move: PrimaryMove) => void;
  };

/** Statements that still run after this belong to requests that were cut. */
const poolEndTimeoutMs = 500;

/** Connects, and migrates unless it is told not to. Throws a `StartError` with the reason if that fails. */
export async function openConfiguredDatabase(
  config: Pick<Config, 'databaseUrl' | 'dataDir'>,
  options: OpenOptions,
): Promise<OpenedDatabase> {
  const { applicationName, poolSize } = options;
  const server =
    config.databaseUrl === null
      ? await openEmbedded({ ...options, dataDir: config.dataDir })
      : null;
  const connection =
    server?.connection ?? (await connectionTo(config.databaseUrl ?? '', options.onMoved));
  try {
    if (!server) await requireUsable(connection, applicationName);
    if (!options.unmigrated) await migrateOnce(connection, applicationName);
  } catch (error) {
    connection.primary?.stop();
    await server?.close();
    throw server ? error : toStartError(error);
  }
  const database = openDatabase(connection, {
    applicationName,
    ...(poolSize && { poolSize }),
    // A command may wait in its transaction for input that somebody types.
    ...(options.purpose === 'service' && { idleInTransactionMs: shortTransactionMs }),
  });
  let closing: Promise<void> | undefined;
  return {
    database,
    connection,
    embedded: server !== null,
    close: () => (closing ??= close(database, server, connection.primary)),
  };
}

/** With several hosts, the connection follows the primary until it is stopped. */
async function connectionTo(
  databaseUrl: string,
  onMoved: OpenOptions['onMoved'] = () => {},
): Promise<ConnectionSettings> {
  if (!namesServers(databaseUrl)) return { connectionString: databaseUrl };
  const primary = await followPrimary(splitHosts(databaseUrl), onMoved);
  return { connectionString: databaseUrl, primary };
}

async function close(
  database: Database,
  server: EmbeddedDatabase | null,
  primary: Primary | undefined,
): Promise<void> {
  await Promise.race([database.destroy(), wait(poolEndTimeoutMs, undefined, { ref: false })]);
  primary?.stop();
  await server?.close();
}

/** Only the operator can fix a failed connection or an unreadable address, so the error is one line without a stack. */
async function requireUsable(connection: ConnectionSettings, applicationName: string) {
  let client: ReturnType<typeof openClient> | null = null;
  try {
    client = openClient(connection, { applicationName });
    client.on('error', () => {});
    await client.connect();
  } catch (error) {
    throw unusable(error);
  } finally {
    await client?.end().catch(() => {});
  }
}

/** On a separate pool: a migration may take longer than the service allows its statements. */
async function migrateOnce(connection: ConnectionSettings, applicationName: string): Promise<void> {
  const database = openDatabase(connection, {
    applicationName,
    poolSize: 1,
    statementTimeoutMs: 0,
  });
  try {
    await migrate(database);
  } finally {
    await database.destroy();
  }
}

/** PostgreSQL's refusals, such as a user without the right to create a schema, are not bugs either. */
function toStartError(error: unknown): unknown {
  if (error instanceof StartError || (error as { code?: string }).code === undefined) return error;
  return unusable(error);
}

function unusable(error: unknown): StartError {
  // If all addresses of a host refuse, Node.js throws one error without a message.
  const first = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  const { code, message } = first as { code?: string; message: string };
  return new StartError(
    `DATABASE_URL points to a database that cannot be used${code ? ` (${code})` : ''}: ${message.split('\n')[0]}`,
    { cause: error },
  );
}
