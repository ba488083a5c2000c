/** A PostgreSQL that tests can kill. It flushes to disk, so committed data must survive. */
import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import type { ConnectionSettings } from '../service/src/database/database.ts';
import type { Installation } from '../service/src/database/embedded-installation.ts';
import {
  findServer,
  logFile,
  startIfStopped,
  stopServer,
} from '../service/src/database/embedded-server.ts';
import { freezeTree, gone, killTree } from './processes.ts';
import { recordProcess } from './run-folder.ts';

export type DatabaseProcess = {
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

export function createDatabaseProcess(installation: Installation): DatabaseProcess {
  const connection = {
    host: `${installation.dataDir}/run`,
    port: 5432,
    user: 'orgdir',
    password: installation.password,
    database: 'orgdir',
  };
  const { host, user, password } = connection;
  const query = new URLSearchParams({ host, user, password });

  return {
    dataDir: installation.dataDir,
    clusterDir: installation.clusterDir,
    connection,
    url: `postgres:///orgdir?${query.toString()}`,
    start: () => start(installation),
    kill: () => kill(installation),
    async freeze() {
      const server = await findServer(installation);
      if (server) freezeTree(server.pid);
    },
    async stop() {
      const server = await findServer(installation);
      if (server) await stopServer(installation, server);
    },
    abort: () => abort(installation),
    isRunning: async () => (await findServer(installation)) !== null,
    crashes: () => readFileSync(logFile(installation), 'utf8').match(crash) ?? [],
  };
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

async function kill(installation: Installation): Promise<void> {
  const server = await findServer(installation);
  if (server) await killTree(server.pid);
}

async function abort(installation: Installation): Promise<void> {
  const server = await findServer(installation);
  if (!server) return;
  process.kill(server.pid, 'SIGQUIT');
  await gone([server.pid]);
}
