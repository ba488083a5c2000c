/** Creates every part of a process and gives each the parts it needs; `create-listeners.ts` those of HTTP. Starts nothing; `main.ts` does. */
import type { ChildProcess } from 'node:child_process';
import { createKeyCache } from '../access/key-cache.ts';
import { createExpiringKeysReader } from '../access/keys.ts';
import { Usage } from '../access/usage.ts';
import type { Config } from '../settings/config.ts';
import {
  directConnection,
  openDatabase,
  type ConnectionSettings,
  type Database,
} from '../database/database.ts';
import { Replicas } from '../database/replicas.ts';
import { createDatabaseClock, type DatabaseClock } from '../database/clock.ts';
import { Revisions } from '../database/revisions.ts';
import { Session } from '../database/session.ts';
import { createChangesAnnouncer } from '../directory/announce.ts';
import { dropOldEntryChanges, foldEntryChanges } from '../directory/fold-entry-changes.ts';
import { ingestPublished } from '../directory/ingest-published.ts';
import { onSetAside } from '../events/set-aside.ts';
import { Search } from '../directory/search/search.ts';
import { createResponseCache } from '../http/responses/response-cache.ts';
import type { Logger } from '../runtime/log.ts';
import type { Mailer } from '../runtime/mail.ts';
import { createMetrics } from '../runtime/metrics.ts';
import type { PasswordHashing } from '../sign-in/auth.ts';
import { createSyncs } from '../sync/syncs.ts';
import { createApiProcesses } from '../system/api-processes.ts';
import { createHealth, createReadinessCheck } from '../system/health.ts';
import { startTracing } from '../runtime/tracing.ts';
import { version } from '../runtime/version.ts';
import type { MailSender } from '../webhooks/notifications/mail-sender.ts';
import { createExpiringSecretsReader } from '../webhooks/management/rotate-secret.ts';
import { leaseMs } from '../webhooks/queue/dispatch/dispatcher.ts';
import { Room } from '../webhooks/queue/dispatch/room.ts';
import { createPing, createQueueReader } from '../system/queue-state.ts';
import { createOverdueReader } from '../webhooks/history/retention.ts';
import { createWorker, type Worker } from '../webhooks/queue/worker.ts';
import { createSender, type SenderOptions } from '../webhooks/sending/attempt.ts';
import { createAttemptLog } from '../webhooks/sending/deliver.ts';
import { createSecretBox } from '../runtime/secret-box.ts';
import { createSigningKeys } from '../webhooks/sending/signing-keys.ts';

export type PartsOptions = {
  config: Config;
  database: Database;
  connection: ConnectionSettings;
  /** As in SECRET_KEY, newest first. */
  secretKeys: Buffer[];
  log: Logger;
  /** Prints a line on the terminal, such as a sign-in link if no mail is sent. */
  print: (line: string) => void;
  /** Tests replace it with a fast one. */
  hashing?: PasswordHashing;
  /** Tests replace the name servers and the certificate authorities. */
  senderOptions?: SenderOptions;
  /** Without it, a new one. */
  clock?: DatabaseClock;
  /** Of WORKERS: it waits for its settings (`worker-processes.ts`). */
  firstWorker?: ChildProcess | undefined;
};
export type Parts = Awaited<ReturnType<typeof createParts>>;
export type WorkerProcessParts = Awaited<ReturnType<typeof createWorkerProcessParts>>;
export type TaskParts = Awaited<ReturnType<typeof createTaskParts>>;
type Shared = ReturnType<typeof createShared>;

/**
 * `app` and `signIn` are null without the role `api`; `mailer` and `mailSender` are null without mail settings; `workers`
 * is null with WORKERS=1.
 */
export async function createParts(options: PartsOptions) {
  const parts = await createTaskParts(options);
  const { createListeners } = await loadListeners();
  return {
    ...parts,
    ...(await createListeners(parts)),
    workers: options.config.workers > 1 ? await createConfiguredWorkers(parts) : null,
  };
}

/** The modules of HTTP. They take a quarter of the time that all modules take, so a process without listeners leaves them out. */
export const loadListeners = () => import('./create-listeners.ts');

/** The parts of a process of WORKERS, which has no listeners. */
export async function createWorkerProcessParts(options: PartsOptions) {
  const parts = await createTaskParts(options);
  return {
    ...parts,
    app: null,
    internalApp: null,
    signIn: null,
    writes: null,
    publishing: null,
    consoleDatabase: null,
    workers: null,
  };
}

async function createTaskParts(options: PartsOptions) {
  const { config, log } = options;
  await startTracing(config, log);
  const shared = createShared(options);
  const mailer = await createConfiguredMailer(config);
  return {
    ...shared,
    mailer,
    worker: createConfiguredWorker(shared),
    syncs: createSyncs(shared),
    mailSender: mailer && (await createConfiguredMailSender(shared, mailer)),
  };
}

/**
 * The pool on which a process watches its database: revisions, health, readiness. Requests that wait for a connection
 * must not delay it: without a revision confirmed within a second, each request would read its key and page again.
 */
const watchingPool = {
  applicationName: `orgdir watching, pid ${process.pid}`,
  poolSize: 2,
  // As long as a connection may take.
  responseTimeoutMs: 5_000,
};

/** The parts that several others use. */
function createShared(options: PartsOptions) {
  const { database, connection, config, secretKeys, log, clock = createDatabaseClock() } = options;
  const { webhooks } = config;
  const session = new Session(connection);
  const watching = openDatabase(connection, watchingPool);
  const revisions = new Revisions(watching, session, clock);
  const secretBox = createSecretBox(secretKeys);
  const room = new Room(webhooks);
  const search = new Search(database, revisions, log);
  const metrics = createMetrics();
  metrics.inFlight(() => room.total());
  const readQueue = createQueueReader(database, config.retentionDays);
  metrics.queue(readQueue, createPing(watching));
  metrics.retention(createOverdueReader(database, config.retentionDays));
  metrics.expiringKeys(createExpiringKeysReader(database));
  metrics.expiringSecrets(createExpiringSecretsReader(database));
  const { primary } = directConnection(connection);
  if (primary) metrics.primary(() => primary);
  const responseCache = createResponseCache(revisions);
  metrics.responseCache(() => responseCache.lookups);
  return {
    ...options,
    version,
    session,
    watching,
    readiness: createReadinessCheck(
      watching,
      config.roles.has('api') ? () => search.loading() : undefined,
    ),
    metrics,
    readQueue,
    attemptLog: createAttemptLog(log),
    stopLoggingSetAside: onSetAside((row) => log.error(row, 'row.set_aside')),
    revisions,
    apiProcesses: createApiProcesses(watching, revisions),
    replicas: new Replicas({
      urls: config.databaseReadUrls,
      primary: database,
      revisions,
      onChange: (replica, reason) =>
        reason === null
          ? log.info({ replica }, 'replica.used_again')
          : log.warn({ replica, reason }, 'replica.left_out'),
    }),
    search,
    health: createHealth(watching, revisions),
    keyCache: createKeyCache(database, revisions),
    usage: new Usage(database, log),
    responseCache,
    clock,
    room,
    sender: createSender(webhooks, options.senderOptions),
    secretBox,
    signingKeys: createSigningKeys(secretBox),
    leaseMs: leaseMs(webhooks),
  };
}

function createConfiguredWorker(shared: Shared): Worker {
  const { config, session, clock, room, sender, signingKeys, metrics, log, attemptLog } = shared;
  const { publicUrl, serviceName, webhooks, retentionDays } = config;
  return createWorker({
    connection: shared.connection,
    session,
    clock,
    room,
    sender,
    signingKeys,
    metrics,
    log,
    attemptLog,
    version,
    serviceName,
    webhooks,
    leaseMs: shared.leaseMs,
    retentionDays,
    ingestPublished: (on, floor) => ingestPublished(on, publicUrl, floor),
    entryChanges: {
      fold: foldEntryChanges,
      announce: createChangesAnnouncer(publicUrl, log),
      dropOld: dropOldEntryChanges,
    },
  });
}

/** Loaded only if mail is configured, because the library takes half a megabyte. */
async function createConfiguredMailer({ mail }: Config): Promise<Mailer | null> {
  if (!mail) return null;
  const { createMailer } = await import('../runtime/mail.ts');
  return createMailer(mail);
}

async function createConfiguredMailSender(shared: Shared, mailer: Mailer): Promise<MailSender> {
  const { createMailSender } = await import('../webhooks/notifications/mail-sender.ts');
  const { config, database, session, log } = shared;
  const { publicUrl, serviceName, webhooks } = config;
  const { deactivateAfter } = webhooks;
  return createMailSender({
    database,
    session,
    mailer,
    log,
    publicUrl,
    serviceName,
    deactivateAfter,
  });
}

async function createConfiguredWorkers(shared: Shared) {
  const { createWorkerProcesses } = await import('./worker-processes.ts');
  const { config, connection, secretKeys, metrics, log, firstWorker } = shared;
  return createWorkerProcesses({
    config,
    connection,
    secretKeys,
    metrics,
    log,
    first: firstWorker,
  });
}
