/** Runs the service: database, demo, parts, and a graceful end. `create-parts.ts` says what it consists of. */
import { setTimeout as wait } from 'node:timers/promises';
import { httpAddress, type Config } from './config.ts';
import { createParts, type Parts } from './create-parts.ts';
import { storePublicUrl } from './database/public-url.ts';
import { decideDemo, readDemoKey } from './demo.ts';
import { StartError } from './errors.ts';
import { endRequests } from './http/end-requests.ts';
import type { Logger } from './log.ts';
import { openConfiguredDatabase, type OpenedDatabase } from './open-database.ts';
import { readSecretKeys } from './read-secret-keys.ts';
import type { SignIn } from './sign-in/sign-in.ts';
import { version } from './version.ts';

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
  const { database, connection, embedded } = opened;
  const { dataDir, publicUrl, roles } = config;
  if (embedded) await decideDemo(database, { dataDir, publicUrl, wanted: options.demo });
  const secretKeys = await readSecretKeys(config, embedded);
  const print = (line: string) => console.log(line);
  const parts = await createParts({ config, database, connection, secretKeys, log, print });
  const addresses = await startParts(parts);
  const firstAccountLink = (await parts.signIn?.offerFirstAccount()) ?? null;
  const demoKey = embedded ? await readDemoKey(database, dataDir) : null;
  log.info(
    { ...addresses, roles: [...roles], version, database: embedded ? 'embedded' : 'server' },
    'service.started',
  );
  let stopping: Promise<void> | undefined;
  return {
    ...addresses,
    demoKey,
    firstAccountLink,
    passwordLinks: parts.signIn?.links ?? null,
    stop: () => (stopping ??= stop(parts, opened, log)),
  };
}

type Addresses = Pick<Service, 'address' | 'internalAddress'>;

/** Stops what was started where not everything can be. */
async function startParts(parts: Parts): Promise<Addresses> {
  try {
    const addresses = await listenAndAnswer(parts);
    // Only now: a second process that finds its port taken must not replace the address.
    if (parts.config.roles.has('api')) await sharePublicUrl(parts);
    if (parts.config.roles.has('worker')) startWork(parts);
    return addresses;
  } catch (error) {
    await stopParts(parts);
    throw error;
  }
}

async function listenAndAnswer(parts: Parts): Promise<Addresses> {
  const { app, internalApp, health, revisions, keyCache, config } = parts;
  const internalAddress = await listen(internalApp, config.internal, 'INTERNAL_');
  if (app) await health.start();
  if (app) await revisions.start();
  const address = app ? await listen(app, config, '') : null;
  keyCache.start();
  return { address, internalAddress };
}

async function sharePublicUrl({ database, config: { publicUrl }, log }: Parts): Promise<void> {
  const before = await storePublicUrl(database, publicUrl);
  if (before !== null) log.warn({ publicUrl, before }, 'public_url.replaced');
}

function startWork({ worker, ownerMail, syncs }: Parts): void {
  worker.start();
  ownerMail?.start();
  syncs.start();
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

/** Takes no new requests and no new claims; what is in flight ends first, and `/metrics` answers until then. */
export async function stopParts(parts: Parts): Promise<void> {
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
