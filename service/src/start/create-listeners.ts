/** Creates the applications of both listeners, and the parts that only they use. */
import { httpAddress } from '../settings/config.ts';
import { openDatabase } from '../database/database.ts';
import { Publisher, publishingPool } from '../directory/publish-in-groups.ts';
import { EventFeed } from '../events/event-feed.ts';
import { createQueueNotifier } from '../events/queue-channel.ts';
import { createApp } from '../http/app.ts';
import { createInternalApp } from '../http/internal-app.ts';
import { loadBrand } from '../http/site/brand.ts';
import { version } from '../runtime/version.ts';
import { createSignIn, type SignIn } from '../sign-in/sign-in.ts';
import type { TaskParts } from './create-parts.ts';

/** `app` and `signIn` are null without the role `api`. */
export async function createListeners(parts: TaskParts) {
  const signIn = parts.config.roles.has('api') ? createConfiguredSignIn(parts) : null;
  const internal = createInternalParts(parts);
  const ofConsole = { ...createConsoleParts(parts), publisher: internal.publisher };
  const feed = new EventFeed(parts.database, parts.session, parts.log);
  return {
    signIn,
    feed,
    app: signIn && (await createPublicApp(parts, signIn, feed, ofConsole)),
    ...internal,
    ...ofConsole,
  };
}

function createConfiguredSignIn(parts: TaskParts): SignIn {
  const { config, database, secretKeys, secretBox, mailer, hashing, metrics, print, log } = parts;
  const { publicUrl, serviceName, signIn } = config;
  return createSignIn({
    publicUrl,
    serviceName,
    signIn,
    database,
    secretKeys,
    secretBox,
    mailer,
    metrics,
    print,
    log,
    ...(hashing && { hashing }),
  });
}

async function createPublicApp(
  parts: TaskParts,
  signIn: SignIn,
  feed: EventFeed,
  ofConsole: ReturnType<typeof createConsoleParts> & { publisher: Publisher },
): ReturnType<typeof createApp> {
  const { config, database, replicas, revisions, search, health, apiProcesses } = parts;
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
    feed,
    keyCache: parts.keyCache,
    usage: parts.usage,
    responseCache: parts.responseCache,
    signIn,
    room: parts.room,
    sender: parts.sender,
    clock: parts.clock,
    leaseMs: parts.leaseMs,
    secretKeys: parts.secretKeys,
    secretBox: parts.secretBox,
    signingKeys: parts.signingKeys,
    metrics: parts.metrics,
    readQueue: parts.readQueue,
    syncs: parts.syncs,
    ...ofConsole,
    settingsInForce: config.settingsInForce,
    log: parts.log,
    attemptLog: parts.attemptLog,
  });
}

/** The pool for writes of the internal API: they wait for each other, and a bulk write waits for its caller. */
const writesPool = {
  applicationName: `orgdir internal API, pid ${process.pid}`,
  poolSize: 4,
  // 100,000 rows take less on two idle cores.
  statementTimeoutMs: 60_000,
  idleInTransactionMs: 30_000,
};

/** The pool of the console: its lists may be slow, and its writes wait for locks, behind which nobody else must wait. */
const consolePool = {
  applicationName: `orgdir console, pid ${process.pid}`,
  poolSize: 2,
  // The portal's pages wait longer, so nobody is told that a write has failed that has not.
  statementTimeoutMs: 10_000,
};

function createConsoleParts({ config, connection }: TaskParts) {
  const consoleDatabase = openDatabase(connection, consolePool);
  return {
    consoleDatabase,
    readChecks: async () => {
      // Loaded when somebody looks at the console.
      const { runLiveChecks } = await import('../doctor/doctor.ts');
      return runLiveChecks(consoleDatabase, connection, config);
    },
  };
}

/** The internal listener's application, and the parts that only it uses. */
function createInternalParts(parts: TaskParts) {
  const { config, database, connection } = parts;
  const { host, port, allowedHosts } = config.internal;
  const { search, keyCache, readiness, metrics, usage, syncs, worker, log } = parts;
  const { publicUrl, serviceName } = config;
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
    usage,
    readiness,
    log,
    allowedHosts,
    api: config.roles.has('api') ? api : null,
  });
  return { writes, publishing, publisher, internalApp };
}
