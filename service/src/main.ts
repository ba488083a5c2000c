/** Runs the service: configuration, database, roles, and a graceful end. `http/app.ts` builds what it serves. */
import { join } from 'node:path';
import { createKeyCache } from './access/key-cache.ts';
import { httpAddress, type Config } from './config.ts';
import { readOrCreateSecret } from './database/secret-file.ts';
import { createRevisions } from './database/revisions.ts';
import { decideDemo, readDemoKey } from './demo.ts';
import { StartError } from './errors.ts';
import { createApp } from './http/app.ts';
import { endRequests } from './http/end-requests.ts';
import { createResponseCache } from './http/response-cache.ts';
import type { Logger } from './log.ts';
import { openConfiguredDatabase, type OpenedDatabase } from './open-database.ts';
import { createHealth } from './system/health.ts';
import { version } from './version.ts';
import { createSender } from './webhooks/attempt.ts';
import { createInFlight } from './webhooks/in-flight.ts';
import { createSecretBox } from './webhooks/secrets.ts';
import { createWorker, leaseMs } from './webhooks/worker.ts';

export type Service = {
  /** Where it listens; null without the role `api`. */
  address: string | null;
  demoKey: string | null;
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
  const address = await startParts(parts, config).catch(async (error: unknown) => {
    await stopParts(parts);
    throw error;
  });
  const demoKey = opened.embedded ? await readDemoKey(database, config.dataDir) : null;
  log.info(
    {
      address,
      roles: [...config.roles],
      version,
      database: opened.embedded ? 'embedded' : 'server',
    },
    'service.started',
  );
  let stopping: Promise<void> | undefined;
  return { address, demoKey, stop: () => (stopping ??= stop(parts, opened, log)) };

  async function createParts(
    { embedded }: OpenedDatabase,
    { webhooks, ...settings }: Config,
    logger: Logger,
  ) {
    const secretBox = createSecretBox(
      settings.secretKeys ?? (await generatedKeys(settings.dataDir, embedded)),
    );
    const revisions = createRevisions(database, connection);
    const health = createHealth(database, revisions);
    const keyCache = createKeyCache(database, revisions);
    const sender = createSender(webhooks);
    const inFlight = createInFlight();
    const delivery = {
      database,
      sender,
      secretBox,
      inFlight,
      webhooks,
      serviceName: settings.serviceName,
      version,
      log: logger,
    };
    const server = settings.roles.has('api')
      ? await createApp({
          ...settings,
          ...delivery,
          health,
          keyCache,
          responseCache: createResponseCache(revisions),
          leaseMs: leaseMs(webhooks),
          deactivateAfter: webhooks.deactivateAfter,
        })
      : null;
    const loop = createWorker({ ...delivery, connection, retentionDays: settings.retentionDays });
    return { app: server, worker: loop, revisions, health, keyCache, sender };
  }
}

type Parts = {
  app: Awaited<ReturnType<typeof createApp>> | null;
  worker: ReturnType<typeof createWorker>;
  revisions: ReturnType<typeof createRevisions>;
  health: ReturnType<typeof createHealth>;
  keyCache: ReturnType<typeof createKeyCache>;
  sender: ReturnType<typeof createSender>;
};

async function startParts(parts: Parts, config: Config): Promise<string | null> {
  const { app, worker, health, revisions, keyCache } = parts;
  if (app) await health.start();
  if (app) await revisions.start();
  const address = app ? await listen(app, config) : null;
  keyCache.start();
  if (config.roles.has('worker')) worker.start();
  return address;
}

async function stop(parts: Parts, opened: OpenedDatabase, log: Logger): Promise<void> {
  log.info('service.stopping');
  await stopParts(parts);
  await opened.close();
  log.info('service.stopped');
}

/** No new requests, no new claims; what is in flight ends first. */
async function stopParts(parts: Parts): Promise<void> {
  const { app, worker, revisions, health, keyCache, sender } = parts;
  await Promise.all([app && endRequests(app), worker.stop()]);
  await Promise.all([health.stop(), revisions.stop(), keyCache.stop(), sender.close()]);
}

async function generatedKeys(dataDir: string, embedded: boolean): Promise<Buffer[]> {
  if (embedded)
    return [Buffer.from(await readOrCreateSecret(join(dataDir, 'secret-key')), 'base64')];
  throw new StartError(
    'SECRET_KEY is required with DATABASE_URL: 32 bytes in base64, for example the output of: openssl rand -base64 32',
  );
}

async function listen(app: NonNullable<Parts['app']>, { host, port }: Config): Promise<string> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    throw explainListening(error as NodeJS.ErrnoException, host, port);
  }
  // With PORT=0 the system chose one.
  const bound = app.addresses().find((each) => typeof each !== 'string');
  return httpAddress(host, bound?.port ?? port);
}

function explainListening(error: NodeJS.ErrnoException, host: string, port: number): Error {
  if (error.code === undefined) return error;
  const options = { cause: error };
  if (error.code === 'EADDRINUSE')
    return new StartError(
      `PORT ${port} on ${host} is taken by another program; choose another, for example PORT=${port < 65_535 ? port + 1 : 3000}`,
      options,
    );
  if (error.code === 'EACCES')
    return new StartError(
      `PORT ${port} needs rights that this user lacks; choose one above 1023, for example PORT=3000`,
      options,
    );
  return new StartError(
    `HOST ${host} is no address of this machine (${error.code}); for example HOST=127.0.0.1`,
    options,
  );
}
