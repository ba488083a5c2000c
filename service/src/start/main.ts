/** Starts and stops the service: database, demo data and the parts that `create-parts.ts` creates. */
import type { ChildProcess } from 'node:child_process';
import { setTimeout as wait } from 'node:timers/promises';
import { httpAddress, type Config } from '../settings/config.ts';
import {
  createParts,
  createWorkerProcessParts,
  loadListeners,
  type Parts,
  type TaskParts,
  type WorkerProcessParts,
} from './create-parts.ts';
import { storePublicUrl } from '../database/public-url.ts';
import { hasDemo, loadDemoOnce, readDemoKey } from './demo.ts';
import { StartError } from '../errors.ts';
import type { Logger } from '../runtime/log.ts';
import type { ProcessMetrics } from '../runtime/metrics.ts';
import { openConfiguredDatabase, type OpenedDatabase } from './open-database.ts';
import { readSecretKeys, requireSecretKey } from '../database/read-secret-keys.ts';
import type { SignIn } from '../sign-in/sign-in.ts';
import { stopTracing } from '../runtime/tracing.ts';
import { version } from '../runtime/version.ts';

export type Service = {
  /** The public address; null without the role `api`. */
  address: string | null;
  /** The address of the internal listener. */
  internalAddress: string;
  demoKey: string | null;
  /** Creates the first account; null if there is one, or without the role `api`. */
  firstAccountLink: string | null;
  /** Where password links are sent; null if nowhere, or without the role `api`. */
  passwordLinks: SignIn['links'];
  /** Ends requests and attempts in flight, then everything else. May be called twice. */
  stop(): Promise<void>;
};

export type WorkerProcess = Pick<Service, 'stop'> & { metrics(): Promise<ProcessMetrics> };

export type ServeOptions = {
  /** Whether the first start on an embedded database loads the demo data. */
  demo: boolean;
  /** Aborted by a signal to stop: a start in progress then fails soon, and leaves nothing running. */
  signal?: AbortSignal;
  /** Called when the service cannot continue. */
  onFatal: (reason: string) => void;
};

const print = (line: string) => console.log(line);

/** If the start fails, everything that was started is stopped again. */
export async function startService(
  config: Config,
  log: Logger,
  options: ServeOptions,
): Promise<Service> {
  // Before the database is migrated.
  requireSecretKey(config);
  // Both are used once the database is open, and load their modules meanwhile.
  const firstWorker =
    config.workers > 1 ? await forkFirstWorker().catch(() => undefined) : undefined;
  loadListeners().catch(() => {});
  try {
    const opened = await openConfiguredDatabase(config, {
      ...options,
      purpose: 'service',
      applicationName: `orgdir serve, pid ${process.pid}`,
      onLost: options.onFatal,
      onMoved: (move) => log.warn(move, 'database.moved'),
    });
    try {
      return await startOn(opened, firstWorker, config, log, options);
    } catch (error) {
      await opened.close();
      throw error;
    }
  } catch (error) {
    firstWorker?.kill();
    throw error;
  }
}

async function forkFirstWorker(): Promise<ChildProcess> {
  const { forkWorkerProcess } = await import('./worker-processes.ts');
  return forkWorkerProcess(1);
}

async function startOn(
  opened: OpenedDatabase,
  firstWorker: ChildProcess | undefined,
  given: Config,
  log: Logger,
  options: ServeOptions,
): Promise<Service> {
  const { database, embedded } = opened;
  const { dataDir, publicUrl, roles, workers } = given;
  logWrongClock(opened, log);
  if (embedded) await loadDemoOnce(database, { dataDir, publicUrl, wanted: options.demo });
  const config = { ...given, directoryPages: given.directoryPages ?? (await hasDemo(database)) };
  const secretKeys = await readSecretKeys(config, database);
  options.signal?.throwIfAborted();
  const parts = await createParts({ ...opened, config, secretKeys, log, print, firstWorker });
  const { address, internalAddress, ...links } = await startParts(parts, embedded);
  log.info(
    {
      address,
      internalAddress,
      roles: [...roles],
      ...(parts.workers && { workers }),
      version,
      database: embedded ? 'embedded' : 'server',
    },
    'service.started',
  );
  let stopping: Promise<void> | undefined;
  return {
    address,
    internalAddress,
    ...links,
    passwordLinks: parts.signIn?.links ?? null,
    stop: () => (stopping ??= stop(parts, opened, log)),
  };
}

/** Only syncs and mail use these in a worker process: the other tasks have their own pool. */
const workerProcessPoolSize = 2;

/**
 * Starts worker process `number` of a service with WORKERS (`worker-processes.ts`). It has no listener: the service shows
 * its metrics.
 */
export async function startWorkerProcess(
  config: Config,
  log: Logger,
  number: number,
): Promise<WorkerProcess> {
  const opened = await openConfiguredDatabase(config, {
    purpose: 'service',
    applicationName: `orgdir serve, pid ${process.pid}`,
    poolSize: workerProcessPoolSize,
    onMoved: (move) => log.warn(move, 'database.moved'),
  });
  logWrongClock(opened, log);
  const secretKeys = await readSecretKeys(config, opened.database);
  const parts = await createWorkerProcessParts({ ...opened, config, secretKeys, log, print });
  startTasks(parts);
  log.info({ worker: number }, 'worker_process.started');
  return {
    metrics: () => parts.metrics.ofWorker(number),
    async stop() {
      await stopParts(parts);
      await opened.close();
    },
  };
}

function logWrongClock({ wrongByMs }: OpenedDatabase, log: Logger): void {
  if (wrongByMs !== 0) log.warn({ aheadMs: wrongByMs }, 'clock.wrong');
}

type Addresses = Pick<Service, 'address' | 'internalAddress'>;

async function startParts(
  parts: Parts,
  embedded: boolean,
): Promise<Addresses & Pick<Service, 'demoKey' | 'firstAccountLink'>> {
  const { config, database, signIn } = parts;
  try {
    const addresses = await startListening(parts);
    // Only now: a second process that finds its port taken must not replace the address.
    if (config.roles.has('api')) await sharePublicUrl(parts);
    const firstAccountLink = (await signIn?.offerFirstAccount()) ?? null;
    const demoKey = embedded ? await readDemoKey(database, config.dataDir) : null;
    if (config.roles.has('worker') && !parts.workers) startTasks(parts);
    else parts.mailSender?.start('accounts');
    return { ...addresses, demoKey, firstAccountLink };
  } catch (error) {
    await stopParts(parts);
    throw error;
  }
}

async function startListening(parts: Parts): Promise<Addresses> {
  const { app, internalApp, health, apiProcesses, revisions, replicas, search } = parts;
  const { keyCache, usage, signIn, config, workers } = parts;
  const internalAddress = await listen(internalApp, config.internal, 'INTERNAL_');
  // They take longer to start than the rest of this process. If that fails, they are stopped.
  workers?.start();
  if (app) await health.start();
  if (app) apiProcesses.start();
  if (app) await revisions.start();
  if (app) await replicas.start();
  if (app) search.start();
  const address = app ? await listen(app, config, '') : null;
  signIn?.start();
  keyCache.start();
  usage.start();
  return { address, internalAddress };
}

async function sharePublicUrl({ database, config, log }: Parts): Promise<void> {
  const { publicUrl, publicUrlIsSet } = config;
  const before = await storePublicUrl(database, publicUrl, { isDefault: !publicUrlIsSet });
  if (before !== null) log.warn({ publicUrl, before }, 'public_url.replaced');
}

function startTasks({ worker, mailSender, syncs }: TaskParts): void {
  worker.start();
  mailSender?.start();
  syncs.start();
}

async function stop(parts: Parts, opened: OpenedDatabase, log: Logger): Promise<void> {
  log.info('service.stopping');
  await stopParts(parts);
  await opened.close();
  log.info('service.stopped');
}

/**
 * Attempts that are still in flight after this are recorded as interrupted, as after a crash, but at once. With the rest of
 * a stop, this stays within its five seconds.
 */
const attemptsEndWithinMs = 2_500;
/** Together with closing the database, this stays within the five seconds that a stop may take. */
const requestsEndWithinMs = 3_500;
const idleCheckMs = 25;
/** Mails of accounts; those of the worker have ended by then. */
const mailsEndWithinMs = 1_000;
/** A scrape gets this long at least, after the worker has stopped. */
const scrapeTimeoutMs = 500;
/** Transactions that are still open after this roll back. */
const writeTimeoutMs = 500;
/** Spans that a collector has not accepted by then are lost. */
const traceTimeoutMs = 1_000;

/** Accepts no new requests and claims, waits for those in progress, and serves `/metrics` until they end. */
export async function stopParts(parts: Parts | WorkerProcessParts): Promise<void> {
  const { app, internalApp, watching, writes, publishing, consoleDatabase } = parts;
  const { readiness, worker, mailSender, syncs } = parts;
  const { apiProcesses, revisions, replicas, search, health, keyCache, sender, mailer } = parts;
  const { signIn, workers, usage } = parts;
  readiness.stop();
  const requestsEndAt = performance.now() + requestsEndWithinMs;
  const late = setTimeout(() => void sender.close(), attemptsEndWithinMs);
  await Promise.all([
    app && endRequests(app),
    worker.stop(),
    mailSender?.stop(),
    syncs.stop(),
    workers?.stop(),
  ]);
  clearTimeout(late);
  await mailer?.close(mailsEndWithinMs);
  await signIn?.stop();
  await Promise.all([
    internalApp &&
      endRequests(internalApp, Math.max(scrapeTimeoutMs, requestsEndAt - performance.now())),
    health.stop(),
    apiProcesses.stop(),
    revisions.stop(),
    replicas.stop(),
    search.stop(),
    sender.close(),
  ]);
  keyCache.stop();
  await Promise.race([
    Promise.all([
      usage.stop(),
      ...[watching, writes, publishing, consoleDatabase].map(async (pool) => pool?.destroy()),
    ]),
    wait(writeTimeoutMs, undefined, { ref: false }),
  ]);
  await Promise.race([stopTracing(), wait(traceTimeoutMs, undefined, { ref: false })]);
  parts.stopLoggingSetAside();
}

/**
 * Takes no new requests, waits for those in flight, and cuts those that exceed the grace period. May be called twice.
 */
export async function endRequests(
  app: NonNullable<Parts['app']>,
  withinMs = requestsEndWithinMs,
): Promise<void> {
  // Otherwise a connection that stays open after its response would delay the stop for over a minute.
  const idle = setInterval(() => app.server.closeIdleConnections(), idleCheckMs);
  const late = setTimeout(() => app.server.closeAllConnections(), withinMs);
  try {
    await app.close();
  } finally {
    clearInterval(idle);
    clearTimeout(late);
  }
}

type Listening = Pick<Config, 'host' | 'port'>;
/** The prefix of HOST and PORT in the names of the variables. */
type Prefix = '' | 'INTERNAL_';

async function listen(
  app: NonNullable<Parts['app']>,
  { host, port }: Listening,
  prefix: Prefix,
): Promise<string> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    throw listenError(error as NodeJS.ErrnoException, { host, port }, prefix);
  }
  // With port 0, the system has chosen one.
  const bound = app.addresses().find((each) => typeof each !== 'string');
  return httpAddress(host, bound?.port ?? port);
}

function listenError(
  error: NodeJS.ErrnoException,
  { host, port }: Listening,
  prefix: Prefix,
): Error {
  if (error.code === undefined) return error;
  const options = { cause: error };
  const fallback = prefix === '' ? 3000 : 3001;
  if (error.code === 'EADDRINUSE')
    return new StartError(
      `${prefix}PORT ${port} on ${host} is used by another program; choose another port, for example ${prefix}PORT=${port < 65_535 ? port + 1 : fallback}`,
      options,
    );
  if (error.code === 'EACCES')
    return new StartError(
      `${prefix}PORT ${port} may not be used by this user; choose a port above 1023, for example ${prefix}PORT=${fallback}`,
      options,
    );
  return new StartError(
    `${prefix}HOST ${host} is not an address of this machine (${error.code}); choose another, for example ${prefix}HOST=127.0.0.1`,
    options,
  );
}
