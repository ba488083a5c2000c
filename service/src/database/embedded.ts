/**
 * The embedded PostgreSQL: a real server, created and run in DATA_DIR, reached through a socket there. It belongs to no
 * process: any process that finds it running uses it, and a service or the last command stops it on exit. A server that
 * a killed service left running is taken over. Next: `embedded-server.ts`, `database.ts`.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type pg from 'pg';
import { StartError } from '../errors.ts';
import { isConnectionFault, openClient, type ConnectionSettings } from './database.ts';
import {
  ensureCluster,
  withDataDirErrors,
  prepareInstallation,
  type Installation,
} from './embedded-installation.ts';
import {
  findServer,
  isStarting,
  lastSocketDir,
  logFile,
  startIfStopped,
  stopServer,
} from './embedded-server.ts';

export type EmbeddedDatabase = {
  connection: ConnectionSettings;
  /** Leaves the database, and stops it if nobody else uses it. May be called twice. */
  close(): Promise<void>;
};

export type EmbeddedOptions = {
  dataDir: string;
  /** `service`: the only service in the folder, refused if another runs. `tool`: may run next to others. */
  purpose: 'service' | 'tool';
  /** Called once if the database dies while a service uses it. */
  onLost?: (reason: string) => void;
  /** If it is aborted before the database can be used, opening fails, and a server that was started for it is stopped. */
  signal?: AbortSignal;
  /** Settings for tests, such as `fsync=off`. */
  settings?: string[];
};

type Membership = { client: pg.Client; leaving: boolean };

const startDeadlineMs = 60_000;
const rejoinDeadlineMs = 10_000;
const pollMs = 20;
/** Held shared by every user of the database, and exclusively by the process that stops it. */
const presenceLock = 70420010;
/** Held exclusively by the service of this folder. */
const serviceLock = 70420011;

/** Creates the database if there is none, starts it if it does not run, and joins it. */
export async function openEmbedded(options: EmbeddedOptions): Promise<EmbeddedDatabase> {
  options.signal?.throwIfAborted();
  const installation = await prepareInstallation(options.dataDir, options.settings ?? []);
  options.signal?.throwIfAborted();
  await ensureCluster(installation);
  options.signal?.throwIfAborted();
  const client = await withDataDirErrors(installation.dataDir, () => join(installation, options));
  const membership: Membership = { client, leaving: false };
  watch(installation, options, membership);
  let closing: Promise<void> | undefined;
  return {
    connection: connectionTo(installation, client.host),
    close: () => (closing ??= leave(installation, options, membership)),
  };
}

function connectionTo(installation: Installation, socketDir: string): ConnectionSettings {
  return {
    host: socketDir,
    port: 5432,
    user: 'orgdir',
    password: installation.password,
    database: 'orgdir',
    // Otherwise PGSSLMODE, which is about other servers, would say.
    ssl: false,
  };
}

/** A connection that holds this process's locks. */
async function join(installation: Installation, options: EmbeddedOptions): Promise<pg.Client> {
  const deadline = Date.now() + startDeadlineMs;
  for (;;) {
    // A server that responds is running, whatever number its process has in here.
    const client = await connect(installation, options);
    if (client && (await enter(installation, options, client))) return client;
    const failure = client ? null : await startIfStopped(installation, deadline, options.signal);
    // One that another process has started goes on; its own is ready here, and is stopped by whoever closes it.
    const othersStarts = !client && !failure && (await isStarting(installation));
    if (failure || othersStarts) options.signal?.throwIfAborted();
    const isLate = Date.now() > deadline && !othersStarts;
    if (failure?.isPermanent || isLate) {
      throw new StartError(
        `the embedded database in ${installation.dataDir} does not start: ${failure?.reason ?? 'it accepts no connections'}; its log is ${logFile(installation)}`,
      );
    }
    await wait(pollMs);
  }
}

/** Returns a connection, or null if no server runs, or it is starting or stopping. */
async function connect(
  installation: Installation,
  { purpose }: Pick<EmbeddedOptions, 'purpose'>,
): Promise<pg.Client | null> {
  const socketDir = await lastSocketDir(installation);
  if (!socketDir) return null;
  const client = openClient(connectionTo(installation, socketDir), {
    applicationName: `orgdir ${purpose}, pid ${process.pid}`,
    statementTimeoutMs: 0,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    return client;
  } catch (error) {
    if (isConnectionFault(error)) return null;
    throw new StartError(
      `the embedded database in ${installation.dataDir} refuses the service: ${(error as Error).message}`,
      { cause: error },
    );
  }
}

/** Takes the locks. Returns false if the server is being stopped. */
async function enter(
  installation: Installation,
  options: EmbeddedOptions,
  client: pg.Client,
): Promise<boolean> {
  try {
    if (options.purpose === 'service') await requireAlone(installation, client);
    await client.query('select pg_advisory_lock_shared($1)', [presenceLock]);
    return true;
  } catch (error) {
    await client.end().catch(() => {});
    if (isConnectionFault(error)) return false;
    throw error;
  }
}

async function requireAlone(installation: Installation, client: pg.Client): Promise<void> {
  if (await tryLock(client, serviceLock)) return;
  const { rows } = await client.query<{ name: string }>(
    `select application_name as name from pg_locks join pg_stat_activity using (pid)
     where locktype = 'advisory' and objid = $1 and granted`,
    [serviceLock],
  );
  const holder = rows[0] ? ` (${rows[0].name.replace(/^orgdir /, '')})` : '';
  throw new StartError(
    `DATA_DIR ${installation.dataDir} is in use by another orgdir${holder}; stop it first, or choose another folder, for example DATA_DIR=./data-2`,
  );
}

async function tryLock(client: pg.Client, lock: number): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>(
    'select pg_try_advisory_lock($1) as locked',
    [lock],
  );
  return rows[0]?.locked === true;
}

/**
 * The connection that holds the locks breaks when the server dies. If the server only restarted its backends, joins it
 * again.
 */
function watch(installation: Installation, options: EmbeddedOptions, membership: Membership): void {
  membership.client.once('end', () => {
    if (membership.leaving) return;
    void rejoin(installation, options, membership).then((reason) => {
      if (reason !== null && !membership.leaving) options.onLost?.(reason);
    });
  });
}

async function rejoin(
  installation: Installation,
  options: EmbeddedOptions,
  membership: Membership,
): Promise<string | null> {
  const deadline = Date.now() + rejoinDeadlineMs;
  try {
    while (!membership.leaving && (Date.now() < deadline || (await isStarting(installation)))) {
      if ((await findServer(installation)) === null)
        return `the embedded database has stopped; its log is ${logFile(installation)}`;
      const client = await connect(installation, options);
      if (client && (await enter(installation, options, client))) {
        membership.client = client;
        watch(installation, options, membership);
        return null;
      }
      await wait(pollMs);
    }
    return 'the embedded database accepts no connections';
  } catch (error) {
    return (error as Error).message;
  }
}

async function leave(
  installation: Installation,
  { purpose }: EmbeddedOptions,
  membership: Membership,
): Promise<void> {
  membership.leaving = true;
  // A service stops the database with it, so that the stop ends in time; running commands fail and keep nothing.
  const last = purpose === 'service' || (await isLast(membership.client).catch(() => false));
  const server = last ? await findServer(installation) : null;
  if (server) await stopServer(installation, server);
  await membership.client.end().catch(() => {});
}

/**
 * If several processes leave at once, only one gets the exclusive lock. A process that joins later finds the server
 * stopping, and waits.
 */
async function isLast(client: pg.Client): Promise<boolean> {
  await client.query('select pg_advisory_unlock_shared($1)', [presenceLock]);
  return tryLock(client, presenceLock);
}
