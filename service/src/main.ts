/** Runs the service: configuration, database, roles, and a graceful end. `http/app.ts` builds what it serves. */
import { setTimeout as wait } from 'node:timers/promises';
import { createKeyCache } from './access/key-cache.ts';
import { httpAddress, type Config, type MailSettings } from './config.ts';
import { openDatabase } from './database/database.ts';
import { createRevisions } from './database/revisions.ts';
import { decideDemo, readDemoKey } from './demo.ts';
import { takePublished } from './directory/take-published.ts';
import { StartError } from './errors.ts';
import { createApp } from './http/app.ts';
import { endRequests } from './http/end-requests.ts';
import { createInternalApp } from './http/internal-app.ts';
import { createResponseCache } from './http/response-cache.ts';
import type { Logger } from './log.ts';
import type { Mailer } from './mail.ts';
import { createMetrics } from './metrics.ts';
import { openConfiguredDatabase, type OpenedDatabase } from './open-database.ts';
import { createSyncs } from './sync/syncs.ts';
import { readSecretKeys } from './read-secret-keys.ts';
import { createSignIn, type SignIn } from './sign-in/sign-in.ts';
import { createHealth } from './system/health.ts';
import { createReadinessCheck } from './system/readiness.ts';
import { version } from './version.ts';
import { createSender } from './webhooks/sending/attempt.ts';
import { createInFlight } from './webhooks/queue/in-flight.ts';
import type { OwnerMail, OwnerMailDependencies } from './webhooks/notifications/mail-owners.ts';
import { createQueueReader } from './webhooks/queue/queue-state.ts';
import { createSecretBox } from './webhooks/sending/secrets.ts';
import { systemClock } from './webhooks/sending/clock.ts';
import { leaseMs } from './webhooks/queue/dispatcher.ts';
import { createSigningKeys } from './webhooks/sending/signing-keys.ts';
import { createWorker } from './webhooks/queue/worker.ts';

export type Service = {
  /** Where it listens; null without the role `api`. */
  address: string | null;
  /** Where it tells of itself, whatever its roles. */
  internalAddress: string;
  demoKey: string | null;
  /** Makes the first account; null where there is one, or without the role `api`. */
  firstAccountLink: string | null;
  /** Where links that set a password go; null: nowhere, or without the role `api`. */
  passwordLinks: SignIn['links'];
  /** Ends requests and attempts in flight, then everything else. May be called twice. */
  stop(): Promise<void>;
};

export type ServeOptions = {
  /** Whether a first start of the embedded database loads the demo. */
  demo: boolean;
  /** Called when the service cannot go on. */
  onFatal: (reason: string) => void;
};

/** Starts the service. What was begun is undone where it cannot start. */
export async function startService(
  config: Config,
  log: Logger,
  options: ServeOptions,
): Promise<Service> {
  const opened = await openConfiguredDatabase(config, {
    purpose: 'service',
    applicationName: `orgdir serve, pid ${process.pid}`,
    onLost: options.onFatal,
  });
  try {
    return await startOn(opened, config, log, options);
  } catch (error) {
    await opened.close();
    throw error;
  }
}

async function startOn(
  opened: OpenedDatabase,
  config: Config,
  log: Logger,
  options: ServeOptions,
): Promise<Service> {
  const { database, connection } = opened;
  if (opened.embedded)
    await decideDemo(database, {
      dataDir: config.dataDir,
      wanted: options.demo,
      publicUrl: config.publicUrl,
    });
  const parts = await createParts(opened, config, log);
  const { address, internalAddress } = await startParts(parts, config).catch(
    async (error: unknown) => {
      await stopParts(parts);
      throw error;
    },
  );
  const firstAccountLink = (await parts.signIn?.offerFirstAccount()) ?? null;
  const demoKey = opened.embedded ? await readDemoKey(database, config.dataDir) : null;
  log.info(
    {
      address,
      internalAddress,
      roles: [...config.roles],
      version,
      database: opened.embedded ? 'embedded' : 'server',
    },
    'service.started',
  );
  let stopping: Promise<void> | undefined;
  return {
    address,
    internalAddress,
    demoKey,
    firstAccountLink,
    passwordLinks: parts.signIn?.links ?? null,
    stop: () => (stopping ??= stop(parts, opened, log)),
  };

  async function createParts(
    { embedded }: OpenedDatabase,
    { webhooks, ...settings }: Config,
    logger: Logger,
  ) {
    const secretKeys = await readSecretKeys(settings, embedded);
    const secretBox = createSecretBox(secretKeys);
    const revisions = createRevisions(database, connection);
    const health = createHealth(database, revisions);
    const keyCache = createKeyCache(database, revisions);
    const sender = createSender(webhooks);
    const inFlight = createInFlight();
    const metrics = createMetrics();
    metrics.inFlight(() => inFlight.total());
    metrics.queue(createQueueReader(database));
    const readiness = createReadinessCheck(database);
    const delivery = {
      database,
      sender,
      secretBox,
      signingKeys: createSigningKeys(secretBox),
      clock: systemClock,
      inFlight,
      webhooks,
      serviceName: settings.serviceName,
      version,
      metrics,
      log: logger,
    };
    const mailer = settings.mail ? await openMailer(settings.mail) : null;
    const signIn = settings.roles.has('api')
      ? createSignIn({
          ...settings,
          database,
          secretKeys,
          mailer,
          print: (line) => console.log(line),
          log: logger,
        })
      : null;
    const server = signIn
      ? await createApp({
          ...settings,
          ...delivery,
          signIn,
          health,
          keyCache,
          responseCache: createResponseCache(revisions),
          leaseMs: leaseMs(webhooks),
          deactivateAfter: webhooks.deactivateAfter,
        })
      : null;
    const loop = createWorker({
      ...delivery,
      connection,
      retentionDays: settings.retentionDays,
      takePublished: (on) => takePublished(on, settings.publicUrl),
    });
    const ownerMail = mailer
      ? await createMail({
          ...settings,
          database,
          connection,
          mailer,
          deactivateAfter: webhooks.deactivateAfter,
          log: logger,
        })
      : null;
    const syncs = createSyncs({
      config: settings,
      version,
      database,
      connection,
      metrics,
      log: logger,
    });
    const writes = openDatabase(connection, writesPool);
    const api = settings.roles.has('api')
      ? {
          ...settings,
          database,
          writes,
          keyCache,
          syncs,
          version,
          internalUrl: httpAddress(settings.internal.host, settings.internal.port),
        }
      : null;
    const { allowedHosts } = settings.internal;
    const internalApp = createInternalApp({ metrics, readiness, log: logger, allowedHosts, api });
    return {
      app: server,
      signIn,
      mailer,
      internalApp,
      writes,
      readiness,
      worker: loop,
      ownerMail,
      syncs,
      revisions,
      health,
      keyCache,
      sender,
    };
  }
}

/** Where the internal API writes. Writers wait for each other, and a bulk write waits in its transaction for its caller. */
const writesPool = {
  applicationName: `orgdir internal API, pid ${process.pid}`,
  poolSize: 4,
  // 100,000 rows take less on two quiet cores.
  statementTimeoutMs: 60_000,
  settings: { idle_in_transaction_session_timeout: '30000' },
};

type Parts = {
  app: Awaited<ReturnType<typeof createApp>> | null;
  signIn: ReturnType<typeof createSignIn> | null;
  /** Null where no mail is sent. */
  mailer: Mailer | null;
  internalApp: ReturnType<typeof createInternalApp>;
  writes: ReturnType<typeof openDatabase>;
  readiness: ReturnType<typeof createReadinessCheck>;
  worker: ReturnType<typeof createWorker>;
  /** Null where no mail is sent. */
  ownerMail: OwnerMail | null;
  syncs: ReturnType<typeof createSyncs>;
  revisions: ReturnType<typeof createRevisions>;
  health: ReturnType<typeof createHealth>;
  keyCache: ReturnType<typeof createKeyCache>;
  sender: ReturnType<typeof createSender>;
};

async function startParts(parts: Parts, config: Config) {
  const { app, internalApp, worker, ownerMail, syncs, health, revisions, keyCache } = parts;
  const internalAddress = await listen(internalApp, config.internal, 'INTERNAL_');
  if (app) await health.start();
  if (app) await revisions.start();
  const address = app ? await listen(app, config, '') : null;
  keyCache.start();
  if (config.roles.has('worker')) {
    worker.start();
    ownerMail?.start();
    syncs.start();
  }
  return { address, internalAddress };
}

async function stop(parts: Parts, opened: OpenedDatabase, log: Logger): Promise<void> {
  log.info('service.stopping');
  await stopParts(parts);
  await opened.close();
  log.info('service.stopped');
}

/** A scrape is short; together with what ends before it, it stays within the time that a stop may take. */
const scrapesEndWithinMs = 500;
/** What is written by then stands, and what is not is undone. */
const writesEndWithinMs = 500;

/** No new requests, no new claims; what is in flight ends first. It tells of itself until then. */
async function stopParts(parts: Parts): Promise<void> {
  const { app, internalApp, writes, readiness, worker, ownerMail, syncs } = parts;
  const { revisions, health, keyCache, sender, mailer, signIn } = parts;
  readiness.stop();
  await Promise.all([app && endRequests(app), worker.stop(), ownerMail?.stop(), syncs.stop()]);
  mailer?.close();
  await signIn?.stop();
  await Promise.all([
    endRequests(internalApp, scrapesEndWithinMs),
    health.stop(),
    revisions.stop(),
    keyCache.stop(),
    sender.close(),
  ]);
  await Promise.race([writes.destroy(), wait(writesEndWithinMs, undefined, { ref: false })]);
}

/** Loaded only where mail is sent: a library of half a megabyte. */
async function openMailer(settings: MailSettings): Promise<Mailer> {
  const { createMailer } = await import('./mail.ts');
  return createMailer(settings);
}

async function createMail(dependencies: OwnerMailDependencies): Promise<OwnerMail> {
  const { createOwnerMail } = await import('./webhooks/notifications/mail-owners.ts');
  return createOwnerMail(dependencies);
}

type Listening = Pick<Config, 'host' | 'port'>;
/** What comes before HOST and PORT in the names of the variables. */
type Prefix = '' | 'INTERNAL_';

async function listen(
  app: NonNullable<Parts['app']>,
  { host, port }: Listening,
  prefix: Prefix,
): Promise<string> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    throw explainListening(error as NodeJS.ErrnoException, { host, port }, prefix);
  }
  // With 0 the system chose one.
  const bound = app.addresses().find((each) => typeof each !== 'string');
  return httpAddress(host, bound?.port ?? port);
}

function explainListening(
  error: NodeJS.ErrnoException,
  { host, port }: Listening,
  prefix: Prefix,
): Error {
  if (error.code === undefined) return error;
  const options = { cause: error };
  const fallback = prefix === '' ? 3000 : 3001;
  if (error.code === 'EADDRINUSE')
    return new StartError(
      `${prefix}PORT ${port} on ${host} is taken by another program; choose another, for example ${prefix}PORT=${port < 65_535 ? port + 1 : fallback}`,
      options,
    );
  if (error.code === 'EACCES')
    return new StartError(
      `${prefix}PORT ${port} needs rights that this user lacks; choose one above 1023, for example ${prefix}PORT=${fallback}`,
      options,
    );
  return new StartError(
    `${prefix}HOST ${host} is no address of this machine (${error.code}); for example ${prefix}HOST=127.0.0.1`,
    options,
  );
}
