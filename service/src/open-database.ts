/** Opens the database that the configuration names: a server of the operator's, or the embedded one. */
import type { Config } from './config.ts';
import { openDatabase, type ConnectionSettings, type Database } from './database/database.ts';
import { openEmbedded, type EmbeddedOptions } from './database/embedded.ts';
import { migrate } from './database/migrate.ts';
import { StartError } from './errors.ts';

export type OpenedDatabase = {
  database: Database;
  connection: ConnectionSettings;
  embedded: boolean;
  /** Ends the pool and, where nobody else uses it, the embedded server. May be called twice. */
  close(): Promise<void>;
};

export type OpenOptions = Pick<EmbeddedOptions, 'purpose' | 'onLost'> & { applicationName: string };

/** Connects and migrates. Throws a `StartError` with the reason where that cannot be. */
export async function openConfiguredDatabase(
  config: Pick<Config, 'databaseUrl' | 'dataDir'>,
  options: OpenOptions,
): Promise<OpenedDatabase> {
  const server =
    config.databaseUrl === null
      ? await openEmbedded({ ...options, dataDir: config.dataDir })
      : null;
  const connection = server?.connection ?? { connectionString: config.databaseUrl ?? '' };
  try {
    await migrateOnce(connection, options.applicationName);
  } catch (error) {
    await server?.close();
    throw config.databaseUrl === null ? error : explain(error);
  }
  const database = openDatabase(connection, { applicationName: options.applicationName });
  let closing: Promise<void> | undefined;
  return {
    database,
    connection,
    embedded: server !== null,
    close: () => (closing ??= database.destroy().then(() => server?.close())),
  };
}

/** On a pool of its own: a migration may take longer than any statement of the service is allowed to. */
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

function explain(error: unknown): unknown {
  const { code, message } = error as { code?: string; message: string };
  // A refused connection, a wrong password, a database that is not there: the operator's to mend, not a bug.
  if (error instanceof StartError || code === undefined) return error;
  return new StartError(
    `DATABASE_URL leads to a database that cannot be used (${code}): ${message}`,
    { cause: error },
  );
}
