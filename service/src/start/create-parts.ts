/** Creates every part of a process and gives each the parts it needs. Starts nothing; `main.ts` does. */
import { createKeyCache } from '../access/key-cache.ts';
import { httpAddress, type Config } from '../settings/config.ts';
import { openDatabase, type ConnectionSettings, type Database } from '../database/database.ts';
import { Replicas } from '../database/replicas.ts';
import { createDatabaseClock, type DatabaseClock } from '../database/clock.ts';
import { Revisions } from '../database/revisions.ts';
import { Session } from '../database/session.ts';
import { createChangesAnnouncer } from '../directory/announce-changes.ts';
import { dropOldEntryChanges, foldEntryChanges } from '../directory/fold-entry-changes.ts';
import { ingestPublished } from '../directory/ingest-published.ts';
import { onSetAside } from '../events/set-aside.ts';
import { Search } from '../directory/search/search.ts';
import { Publisher, publishingPool } from '../directory/publish-in-groups.ts';
import { createApp } from '../http/app.ts';
import { loadBrand } from '../http/site/brand.ts';
import { createInternalApp } from '../http/internal-app.ts';
import { createResponseCache } from '../http/responses/response-cache.ts';
import type { Logger } from '../runtime/log.ts';
import type { Mailer } from '../runtime/mail.ts';
import { createMetrics } from '../runtime/metrics.ts';
import type { PasswordHashing } from '../sign-in/hash-password.ts';
import { createSignIn, type SignIn } from '../sign-in/sign-in.ts';
import { createSyncs } from '../sync/syncs.ts';
import { createApiProcesses } from '../system/api-processes.ts';
import { createHealth } from '../system/health.ts';
import { createReadinessCheck } from '../system/readiness.ts';
import { startTracing } from '../runtime/tracing.ts';
import { version } from '../runtime/version.ts';
import type { FailureMail } from '../webhooks/notifications/failure-mail.ts';
import { leaseMs } from '../webhooks/queue/dispatch/dispatcher.ts';
import { Room } from '../webhooks/queue/dispatch/room.ts';
import { createQueueNotifier } from '../events/queue-channel.ts';
import { createQueueReader } from '../system/queue-state.ts';
import { createOverdueReader } from '../webhooks/history/retention.ts';
import { createWorker, type Worker } from '../webhooks/queue/worker.ts';
import { createSender, type SenderOptions } from '../webhooks/sending/attempt.ts';
import { createAttemptLog } from '../webhooks/sending/attempt-log.ts';
import { createSecretBox } from '../runtime/secret-box.ts';
import { createSigningKeys } from '../webhooks/sending/signing-keys.ts';
import type { WorkerProcesses } from './worker-processes.ts';

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
};
export type Parts = Awaited<ReturnType<typeof createParts>>;
type Shared = ReturnType<typeof createShared>;

/**
 * `app` and `signIn` are null without the role `api`; `mailer` and `failureMail` are null without mail settings; `workers`
 * is null with WORKERS=1.
 */
export async function createParts(options: PartsOptions) {
  const { config, log } = options;
  await startTracing(config, log);
  const shared = createShared(options);
  const mailer = await createConfiguredMailer(config);
  const signIn = config.roles.has('api') ? createConfiguredSignIn(shared, mailer) : null;
  const worker = createConfiguredWorker(shared);
  return {
    ...shared,
    ...createInternalParts(shared, worker),
    mailer,
    signIn,
    app: signIn && (await createPublicApp(shared, signIn)),
    worker,
    failureMail: mailer && (await createConfiguredFailureMail(shared, mailer)),
    workers: config.workers > 1 ? await createConfiguredWorkers(shared) : null,
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
  metrics.queue(createQueueReader(database, config.retentionDays));
  metrics.retention(createOverdueReader(database, config.retentionDays));
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
    responseCache: createResponseCache(revisions),
    clock,
    room,
    sender: createSender(webhooks, options.senderOptions),
    secretBox,
    signingKeys: createSigningKeys(secretBox),
    leaseMs: leaseMs(webhooks),
  };
}

/** The pool for writes of the internal API: they wait for each other, and a bulk write waits for its caller. */
const writesPool = {
  applicationName: `orgdir internal API, pid ${process.pid}`,
  poolSize: 4,
  // 100,000 rows take less on two idle cores.
  statementTimeoutMs: 60_000,
  idleInTransactionMs: 30_000,
};

function createConfiguredSignIn(shared: Shared, mailer: Mailer | null): SignIn {
  const { config, database, secretKeys, secretBox, hashing, print, log } = shared;
  const { publicUrl, serviceName, signIn } = config;
  return createSignIn({
    publicUrl,
    serviceName,
    signIn,
    database,
    secretKeys,
    secretBox,
    mailer,
    print,
    log,
    ...(hashing && { hashing }),
  });
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

async function createPublicApp(shared: Shared, signIn: SignIn): ReturnType<typeof createApp> {
  const { config, database, replicas, revisions, search, health, apiProcesses } = shared;
  const { publicUrl, serviceName, trustProxy, rateLimitPerMinute, webhooks } = config;
  return createApp({
    publicUrl,
    serviceName,
    trustProxy,
    rateLimitPerMinute,
    webhooks,
    version,
    brand: await loadBrand(config),
    directoryPages: config.directoryPages,
    directoryPagesImages: config.directoryPagesImages,
    database,
    replicas,
    revisions,
    search,
    health,
    apiProcesses,
    keyCache: shared.keyCache,
    responseCache: shared.responseCache,
    signIn,
    room: shared.room,
    sender: shared.sender,
    clock: shared.clock,
    leaseMs: shared.leaseMs,
    secretKeys: shared.secretKeys,
    secretBox: shared.secretBox,
    signingKeys: shared.signingKeys,
    metrics: shared.metrics,
    log: shared.log,
    attemptLog: shared.attemptLog,
  });
}

/** The internal listener's application, and the parts that only it uses. */
function createInternalParts(shared: Shared, worker: Worker) {
  const { config, database, connection } = shared;
  const { host, port, allowedHosts } = config.internal;
  const { session, search, keyCache, readiness, metrics, log } = shared;
  const { publicUrl, serviceName } = config;
  const syncs = createSyncs({ config, version, database, connection, session, metrics, log });
  const writes = openDatabase(connection, writesPool);
  const publishing = openDatabase(connection, publishingPool);
  const notifyWorkers = createQueueNotifier(database);
  const publisher = new Publisher(publishing, () => {
    if (!worker.wake()) notifyWorkers();
  });
  const api = {
    publicUrl,
    serviceName,
    version,
    internalUrl: httpAddress(host, port),
    database,
    writes,
    publisher,
    search,
    keyCache,
    syncs,
  };
  const internalApp = createInternalApp({
    metrics,
    readiness,
    log,
    allowedHosts,
    api: config.roles.has('api') ? api : null,
  });
  return { syncs, writes, publishing, publisher, internalApp };
}

/** Loaded only if mail is configured, because the library takes half a megabyte. */
async function createConfiguredMailer({ mail }: Config): Promise<Mailer | null> {
  if (!mail) return null;
  const { createMailer } = await import('../runtime/mail.ts');
  return createMailer(mail);
}

async function createConfiguredFailureMail(shared: Shared, mailer: Mailer): Promise<FailureMail> {
  const { createFailureMail } = await import('../webhooks/notifications/failure-mail.ts');
  const { config, database, session, log } = shared;
  const { publicUrl, serviceName, webhooks } = config;
  const { deactivateAfter } = webhooks;
  return createFailureMail({
    database,
    session,
    mailer,
    log,
    publicUrl,
    serviceName,
    deactivateAfter,
  });
}

async function createConfiguredWorkers(shared: Shared): Promise<WorkerProcesses> {
  const { createWorkerProcesses } = await import('./worker-processes.ts');
  const { config, connection, secretKeys, metrics, log } = shared;
  return createWorkerProcesses({ config, connection, secretKeys, metrics, log });
}
