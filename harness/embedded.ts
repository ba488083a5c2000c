/** The embedded PostgreSQL, for tests to kill. It flushes to disk, so committed data must survive. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { openDatabase, type ConnectionSettings } from '../service/src/database/database.ts';
import {
  prepareInstallation,
  type Installation,
} from '../service/src/database/embedded-installation.ts';
import {
  findServer,
  logFile,
  startIfStopped,
  stopServer,
  type Server,
} from '../service/src/database/embedded-server.ts';
import { openEmbedded } from '../service/src/database/embedded.ts';
import { migrate } from '../service/src/database/migrate.ts';
import { freezeTree, gone, killTree } from './processes.ts';
import { recordProcess, runFolder } from './run.ts';

export type EmbeddedServer = {
  dataDir: string;
  clusterDir: string;
  connection: ConnectionSettings;
  /** The connection as DATABASE_URL. */
  url: string;
  /** Resolves when it accepts connections. */
  start: () => Promise<void>;
  /** Ends the server and all its processes with SIGKILL. */
  kill: () => Promise<void>;
  /** Stops the server and all its processes until they are killed. */
  freeze: () => Promise<void>;
  /** PostgreSQL's fast shutdown, which ends all connections. */
  stop: () => Promise<void>;
  /** PostgreSQL's immediate shutdown, so that the next start recovers. */
  abort: () => Promise<void>;
  isRunning: () => Promise<boolean>;
  /** Log lines about crashed server processes, with their statements. No scenario causes any. */
  crashes: () => string[];
};

/** Illegal instruction, bus error, arithmetic error, segmentation fault: a bug of PostgreSQL. */
const crash = /^.*was terminated by signal (?:4|7|8|11):.*(?:\n.*DETAIL:.*(?:\n\t.*)*)?/gm;
const startDeadlineMs = 30_000;
const pollMs = 10;

/** Returns a server with a migrated database, copied from the template of the run. `mount` comes before the files. */
export async function createEmbedded(
  name: string,
  mount?: (path: string) => void,
): Promise<EmbeddedServer> {
  const installation = await copyTemplate(join(runFolder(), name), mount);
  const { dataDir, clusterDir, password } = installation;
  const connection = {
    host: `${dataDir}/run`,
    port: 5432,
    user: 'orgdir',
    password,
    database: 'orgdir',
  };
  const query = new URLSearchParams({ host: connection.host, user: connection.user, password });
  const withServer = async (act: (server: Server) => unknown) => {
    const server = await findServer(installation);
    if (server) await act(server);
  };
  return {
    dataDir,
    clusterDir,
    connection,
    url: `postgres:///orgdir?${query.toString()}`,
    start: () => start(installation),
    kill: () => withServer(({ pid }) => killTree(pid)),
    freeze: () => withServer(({ pid }) => freezeTree(pid)),
    stop: () => withServer((server) => stopServer(installation, server)),
    abort: () =>
      withServer(async ({ pid }) => {
        process.kill(pid, 'SIGQUIT');
        await gone([pid]);
      }),
    isRunning: async () => (await findServer(installation)) !== null,
    crashes: () => readFileSync(logFile(installation), 'utf8').match(crash) ?? [],
  };
}

/** The database that all others of the run are copies of. */
export async function makeTemplate(): Promise<void> {
  const server = await openEmbedded({ dataDir: templateOf(runFolder()), purpose: 'tool' });
  const options = { applicationName: 'harness', statementTimeoutMs: 0 };
  const database = openDatabase(server.connection, options);
  await migrate(database);
  await database.destroy();
  await server.close();
}

async function copyTemplate(
  dataDir: string,
  mount: ((path: string) => void) | undefined,
): Promise<Installation> {
  const template = templateOf(runFolder());
  const clusterDir = join(dataDir, 'postgres');
  mkdirSync(clusterDir, { recursive: true });
  chmodSync(dataDir, 0o711);
  mount?.(clusterDir);
  // Keeps owner and modes: PostgreSQL rejects a folder that others may read.
  execFileSync('cp', ['-a', `${join(template, 'postgres')}/.`, clusterDir]);
  copyFileSync(join(template, 'database-password'), join(dataDir, 'database-password'));
  for (const programs of readdirSync(template).filter((each) => each.startsWith('programs-')))
    symlinkSync(join(template, programs), join(dataDir, programs));
  return prepareInstallation(dataDir, []);
}

function templateOf(folder: string): string {
  return join(folder, 'template');
}

async function start(installation: Installation): Promise<void> {
  const deadline = Date.now() + startDeadlineMs;
  let failure = await startIfStopped(installation, deadline);
  // Right after a crash, a process that is still ending may hold the server's memory.
  while (failure !== null && Date.now() < deadline) {
    await wait(pollMs);
    failure = await startIfStopped(installation, deadline);
  }
  const server = await findServer(installation);
  if (!server) throw new Error(`the database does not start: ${failure?.reason}`);
  recordProcess(server.pid);
}
