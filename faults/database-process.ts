/** A PostgreSQL that can be killed, on files of its own that it flushes to disk: what it has committed must stand. */
import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import type { ConnectionSettings } from '../service/src/database/database.ts';
import type { Place } from '../service/src/database/embedded-place.ts';
import {
  findServer,
  logFile,
  startWhereStopped,
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

export function createDatabaseProcess(place: Place): DatabaseProcess {
  const connection = {
    host: `${place.dataDir}/run`,
    port: 5432,
    user: 'orgdir',
    password: place.password,
    database: 'orgdir',
  };
  const { host, user, password } = connection;
  const query = new URLSearchParams({ host, user, password });

  return {
    dataDir: place.dataDir,
    clusterDir: place.clusterDir,
    connection,
    url: `postgres:///orgdir?${query.toString()}`,
    start: () => start(place),
    kill: () => kill(place),
    async stop() {
      const server = await findServer(place);
      if (server) await stopServer(place, server);
    },
    abort: () => abort(place),
    isRunning: async () => (await findServer(place)) !== null,
    crashes: () => readFileSync(logFile(place), 'utf8').match(crash) ?? [],
  };
}

async function start(place: Place): Promise<void> {
  const deadline = Date.now() + startDeadlineMs;
  let failure = await startWhereStopped(place, deadline);
  // Right after a crash the memory of the killed server may still be held by a process that is ending.
  while (failure !== null && Date.now() < deadline) {
    await wait(pollMs);
    failure = await startWhereStopped(place, deadline);
  }
  const server = await findServer(place);
  if (!server) throw new Error(`the database does not start: ${failure}`);
  noteProcess(server.pid);
}

async function kill(place: Place): Promise<void> {
  const server = await findServer(place);
  if (!server) return;
  // Stopped first, so that it starts no process while the list of them is read.
  process.kill(server.pid, 'SIGSTOP');
  const pids = [server.pid, ...childrenOf(server.pid)];
  killAll(pids);
  await gone(pids);
}

async function abort(place: Place): Promise<void> {
  const server = await findServer(place);
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
