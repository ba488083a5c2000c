/** A PostgreSQL that can be killed, on files of its own that it flushes to disk: what it has committed must stand. */
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
import { childrenOf, isRunning, killAll } from './processes.ts';
import { noteProcess } from './run-folder.ts';

export type DatabaseProcess = {
  dataDir: string;
  clusterDir: string;
  connection: ConnectionSettings;
  /** The same for a process that is given DATABASE_URL. */
  url: string;
  /** Resolves when it takes connections. */
  start: () => Promise<void>;
  /** Ends the server and all its processes with SIGKILL. */
  kill: () => Promise<void>;
  /** PostgreSQL's fast shutdown: who is connected is thrown out. */
  stop: () => Promise<void>;
  /** Its immediate shutdown: nothing is tidied, so that the next start recovers. */
  abort: () => Promise<void>;
  isRunning: () => Promise<boolean>;
  /** What its log says of processes of its own that crashed, which no scenario makes happen; with their statements. */
  crashes: () => string[];
};

/** Illegal instruction, bus error, arithmetic error, segmentation fault: a fault of PostgreSQL itself. */
const crash = /^.*was terminated by signal (?:4|7|8|11):.*(?:\n.*DETAIL:.*(?:\n\t.*)*)?/gm;
const startDeadlineMs = 30_000;
const endDeadlineMs = 15_000;
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
  // Right after a crash the memory of the killed server may still be held by a process that is ending.
  while (failure !== null && Date.now() < deadline) {
    await wait(pollMs);
    failure = await startIfStopped(installation, deadline);
  }
  const server = await findServer(installation);
  if (!server) throw new Error(`the database does not start: ${failure}`);
  noteProcess(server.pid);
}

async function kill(installation: Installation): Promise<void> {
  const server = await findServer(installation);
  if (!server) return;
  // Stopped first, so that it starts no process while the list of them is read.
  process.kill(server.pid, 'SIGSTOP');
  const pids = [server.pid, ...childrenOf(server.pid)];
  killAll(pids);
  await gone(pids);
}

async function abort(installation: Installation): Promise<void> {
  const server = await findServer(installation);
  if (!server) return;
  process.kill(server.pid, 'SIGQUIT');
  await gone([server.pid]);
}

async function gone(pids: number[]): Promise<void> {
  const deadline = Date.now() + endDeadlineMs;
  while (pids.some(isRunning)) {
    if (Date.now() > deadline) throw new Error('the database does not end');
    await wait(pollMs);
  }
}
