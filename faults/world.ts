/** One scenario's world: a database, receivers, a publisher, and the workers that it starts and loses. */
import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { openDatabase, sql, type Database } from '../service/src/database/database.ts';
import { createSecretBox } from '../service/src/webhooks/sending/secrets.ts';
import type { Random } from '../bench/random.ts';
import { makeDataDir } from './data-dir.ts';
import { createDatabaseProcess, type DatabaseProcess } from './database-process.ts';
import { allianceSlug, layOut, loopbackAllowed } from './lay-out.ts';
import { readRecords, type Fault, type Ledger } from './ledger.ts';
import { createPublisher, type Publisher } from './publisher.ts';
import { startReceivers, type Receivers } from './receivers.ts';
import { removeFolder } from './remove-folder.ts';
import { noteProcess } from './run-folder.ts';
import { randomOf } from './seed.ts';
import { startWorkerProcess, type WorkerProcess } from './worker-process.ts';

export type World = {
  store: DatabaseProcess;
  /** A pool of the harness's own, past every proxy. */
  database: Database;
  receivers: Receivers;
  publisher: Publisher;
  random: Random;
  /** Every process of the service that was started, those that have ended too. */
  workers: WorkerProcess[];
  faults: Fault[];
  secretKey: string;
  /** A worker on this scenario's database, or on another address of it. Does not wait until it serves. */
  startWorker(url?: string): WorkerProcess;
  /** A service with its database embedded, in the place of a worker. */
  startService(): WorkerProcess;
  /** Marks the time that `act` takes as one in which something is broken. */
  fault<T>(act: () => Promise<T>): Promise<T>;
  /** Waits for up to so long, by chance. */
  moment(mostMs: number): Promise<void>;
  /** Resolves when nothing waits and nothing is under way. */
  drained(): Promise<void>;
  ledger(): Promise<Ledger>;
  close(): Promise<void>;
};

/** Short enough for a test, and long enough that a busy machine alone interrupts nothing. */
const timeoutMs = 500;
const leaseMarginMs = 4_000;
export const leaseMs = timeoutMs + leaseMarginMs;
/** What a process or a statement that was under way at a fault may still do after it. */
const aftermathMs = 1_000;
const drainDeadlineMs = 60_000;
const pollMs = 50;

const settings = {
  ...loopbackAllowed,
  PORT: '0',
  INTERNAL_PORT: '0',
  WEBHOOK_TIMEOUT_MS: String(timeoutMs),
  WEBHOOK_LEASE_MARGIN_MS: String(leaseMarginMs),
  WEBHOOK_RETRY_BASE_MS: '50',
  WEBHOOK_RETRY_FACTOR: '2',
  // Receivers that always fail go on getting deliveries: each must come to its sixth attempt.
  WEBHOOK_DEACTIVATE_AFTER: '1000000',
};

/** `mount` is called with the folder of the database's files before there are any. */
export async function openWorld(name: string, mount?: (path: string) => void): Promise<World> {
  noteProcess(process.pid);
  const key = randomBytes(32);
  const store = createDatabaseProcess(await makeDataDir(name, mount));
  await store.start();
  const database = openDatabase(store.connection, { applicationName: 'faults harness' });
  const receivers = await startReceivers();
  receivers.sendSecrets(await layOut(database, createSecretBox([key]), receivers.addresses));
  const publisher = createPublisher(database, allianceSlug);
  const random = randomOf(name);
  const workers: WorkerProcess[] = [];
  const faults: Fault[] = [];
  const secretKey = key.toString('base64');

  function start(args: string[], env: Record<string, string>): WorkerProcess {
    const worker = startWorkerProcess(args, { ...settings, SECRET_KEY: secretKey, ...env });
    workers.push(worker);
    return worker;
  }

  return {
    store,
    database,
    receivers,
    publisher,
    random,
    workers,
    faults,
    secretKey,
    startWorker: (url = store.url) => start([], { ROLES: 'worker', DATABASE_URL: url }),
    startService: () => start(['--no-demo'], { DATA_DIR: store.dataDir }),
    async fault(act) {
      const fault = { from: Date.now(), until: Infinity };
      faults.push(fault);
      const result = await act();
      fault.until = Date.now() + aftermathMs;
      return result;
    },
    moment: (mostMs) => wait(random.below(mostMs)),
    drained: () => drained(database),
    ledger: async () => ({
      ...(await readRecords(database)),
      committed: publisher.committed,
      uncertain: publisher.uncertain,
      received: await receivers.report(),
      faults,
    }),
    async close() {
      publisher.stop();
      for (const worker of workers) if (!worker.hasEnded()) await worker.kill();
      receivers.stop();
      await database.destroy();
      await store.kill();
      removeFolder(store.dataDir);
    },
  };
}

/** What is left to do, as the queue has it. */
async function leftToDo(database: Database) {
  const { rows } = await sql<{ unpositioned: number; pending: number; leased: number }>`
    select (select count(*) from events where position is null) as unpositioned,
      count(*) as pending, count(lease_token) as leased from pending_deliveries
  `.execute(database);
  return rows[0] ?? { unpositioned: 0, pending: 0, leased: 0 };
}

async function drained(database: Database): Promise<void> {
  const deadline = Date.now() + drainDeadlineMs;
  for (;;) {
    const left = await leftToDo(database);
    if (left.unpositioned === 0 && left.pending === 0) return;
    if (Date.now() > deadline)
      throw new Error(`after ${drainDeadlineMs} ms there is still ${JSON.stringify(left)}`);
    await wait(pollMs);
  }
}
