/** The environment of a scenario: a database, receivers, a publisher, and workers. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { openDatabase, sql, type Database } from '../service/src/database/database.ts';
import { fullLookMs } from '../service/src/runtime/floor.ts';
import { createSecretBox } from '../service/src/runtime/secret-box.ts';
import type { Random } from '../bench/random.ts';
import { allianceSlug, type Kind } from './behaviours.ts';
import { makeDataDir } from './data-dir.ts';
import { createDatabaseProcess, type DatabaseProcess } from './database-process.ts';
import { createWebhooks, loopbackAllowed } from './create-webhooks.ts';
import { readRecords, type Fault, type Ledger } from './ledger.ts';
import { createPublisher, type Publisher } from './publisher.ts';
import { isProbe } from './received.ts';
import { startReceivers, tlsFolder, type Receivers } from './receivers.ts';
import { removeFolder } from './remove-folder.ts';
import { recordProcess } from './run-folder.ts';
import { randomOf } from './seed.ts';
import { startWorkerProcess, type WorkerProcess } from './worker-process.ts';

export type World = {
  openedAt: number;
  store: DatabaseProcess;
  /** The pool of the test, which bypasses proxies. */
  database: Database;
  receivers: Receivers;
  publisher: Publisher;
  random: Random;
  /** Every process of the service, including those that have ended. */
  workers: WorkerProcess[];
  faults: Fault[];
  secretKey: string;
  /** Starts a worker on the database, or on another address of it. Does not wait until it is ready. */
  startWorker(url?: string): WorkerProcess;
  /** Starts a process of the API on the database. */
  startApi(): WorkerProcess;
  /** Starts a service with an embedded database instead of a worker. */
  startService(): WorkerProcess;
  /** Records the duration of `act` as the time of a fault. */
  fault<T>(act: () => Promise<T>): Promise<T>;
  /** Waits for a random time up to this. */
  moment(mostMs: number): Promise<void>;
  /** Resolves when no delivery is pending. */
  drained(deadlineMs?: number): Promise<void>;
  ledger(): Promise<Ledger>;
  close(): Promise<void>;
};

/** Short enough for a test, and long enough for a busy machine. */
const timeoutMs = 500;
const leaseMarginMs = 4_000;
export const leaseMs = timeoutMs + leaseMarginMs;
/** How long after a fault a process or statement may still be affected. */
const aftermathMs = 1_000;
/** Nothing may be left to the looks at the whole queue, once a minute. */
const drainDeadlineMs = fullLookMs - 10_000;
const pollMs = 50;

/** Settings of the service with the times of all scenarios. */
export const shortTimes = {
  ...loopbackAllowed,
  NODE_EXTRA_CA_CERTS: join(tlsFolder, 'authority.pem'),
  PORT: '0',
  INTERNAL_PORT: '0',
  WEBHOOK_TIMEOUT_MS: String(timeoutMs),
  WEBHOOK_LEASE_MARGIN_MS: String(leaseMarginMs),
  WEBHOOK_RETRY_BASE_MS: '50',
  WEBHOOK_RETRY_FACTOR: '2',
  // No deactivation, so that deliveries to receivers that always fail get all six attempts.
  WEBHOOK_DEACTIVATE_AFTER: '1000000',
};

export type WorldOptions = {
  kinds: readonly Kind[];
  /** Settings of the service that differ from those of the large scenarios. */
  settings?: Record<string, string>;
  /** Called with the data folder before the database is created. */
  mount?: ((path: string) => void) | undefined;
};

export async function openWorld(
  name: string,
  { kinds, settings = {}, mount }: WorldOptions,
): Promise<World> {
  const openedAt = Date.now();
  recordProcess(process.pid);
  const key = randomBytes(32);
  const store = createDatabaseProcess(await makeDataDir(name, mount));
  await store.start();
  const database = openDatabase(store.connection, { applicationName: 'faults harness' });
  const receivers = await startReceivers(kinds);
  receivers.sendSecrets(
    await createWebhooks(database, createSecretBox([key]), receivers.addresses),
  );
  const publisher = createPublisher(database, allianceSlug);
  const random = randomOf(name);
  const workers: WorkerProcess[] = [];
  const faults: Fault[] = [];
  const secretKey = key.toString('base64');

  function start(args: string[], env: Record<string, string>): WorkerProcess {
    const worker = startWorkerProcess(args, {
      ...shortTimes,
      ...settings,
      SECRET_KEY: secretKey,
      ...env,
    });
    workers.push(worker);
    return worker;
  }

  return {
    openedAt,
    store,
    database,
    receivers,
    publisher,
    random,
    workers,
    faults,
    secretKey,
    startWorker: (url = store.url) => start([], { ROLES: 'worker', DATABASE_URL: url }),
    startApi: () => start([], { ROLES: 'api', DATABASE_URL: store.url }),
    startService: () => start(['--no-demo'], { DATA_DIR: store.dataDir }),
    async fault(act) {
      const fault = { from: Date.now(), until: Infinity };
      faults.push(fault);
      const result = await act();
      fault.until = Date.now() + aftermathMs;
      return result;
    },
    moment: (mostMs) => wait(random.below(mostMs)),
    drained: (deadlineMs) => drained(database, deadlineMs),
    ledger: async () => ({
      ...(await readRecords(database)),
      committed: publisher.committed,
      uncertain: publisher.uncertain,
      received: (await receivers.report()).filter((one) => !isProbe(one)),
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

/** Counts the pending work. */
async function countPending(database: Database) {
  const { rows } = await sql<{ published: number; pending: number; leased: number }>`
    select (select count(*) from outbox) + (select count(*) from broadcasts) as published,
      count(*) as pending, count(lease_token) as leased from pending_deliveries where trigger <> 'probe'
  `.execute(database);
  return rows[0] ?? { published: 0, pending: 0, leased: 0 };
}

/** Resolves when no event and no delivery is pending. */
export async function drained(database: Database, deadlineMs = drainDeadlineMs): Promise<void> {
  const deadline = Date.now() + deadlineMs;
  for (;;) {
    const left = await countPending(database);
    if (left.published === 0 && left.pending === 0) return;
    if (Date.now() > deadline)
      throw new Error(`after ${deadlineMs} ms there is still ${JSON.stringify(left)}`);
    await wait(pollMs);
  }
}
