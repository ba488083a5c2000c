/** The real application over a database of its own, on a real socket. Every answer is held against openapi.json. */
import { after } from 'node:test';
import { randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { createApp as createOwnedApp } from '../../src/access/apps.ts';
import { bindApp } from '../../src/access/bindings.ts';
import { createKeyCache } from '../../src/access/key-cache.ts';
import { createKey, scopes as allScopes } from '../../src/access/keys.ts';
import { addManager, type Subject } from '../../src/access/managers.ts';
import { loadConfig, type Config } from '../../src/config.ts';
import { createRevisions, type Revisions } from '../../src/database/revisions.ts';
import { takePublished } from '../../src/directory/take-published.ts';
import { createApp } from '../../src/http/app.ts';
import { createResponseCache } from '../../src/http/response-cache.ts';
import { createLogger, type Logger } from '../../src/log.ts';
import { createMetrics, type Metrics } from '../../src/metrics.ts';
import { createMailer } from '../../src/mail.ts';
import type { PasswordHashing } from '../../src/sign-in/hash-password.ts';
import { createSignIn, type SignIn } from '../../src/sign-in/sign-in.ts';
import { createHealth } from '../../src/system/health.ts';
import { createSender } from '../../src/webhooks/sending/attempt.ts';
import { createInFlight } from '../../src/webhooks/queue/in-flight.ts';
import { createSecretBox, type SecretBox } from '../../src/webhooks/sending/secrets.ts';
import { systemClock } from '../../src/webhooks/sending/clock.ts';
import { leaseMs } from '../../src/webhooks/queue/dispatcher.ts';
import { createSigningKeys } from '../../src/webhooks/sending/signing-keys.ts';
import { createWorker, type Worker } from '../../src/webhooks/queue/worker.ts';
import { openTestDatabase, type TestDatabase } from './database.ts';
import { checkAnswer, type AnswerCheck } from './openapi-check.ts';
import { testActor } from './actor.ts';

export type Answer = { status: number; headers: Headers; body: any; text: string };
export type CallOptions = {
  method?: string;
  key?: string | null;
  headers?: Record<string, string>;
  json?: unknown;
  body?: string | Buffer;
};

export type TestService = TestDatabase & {
  app: FastifyInstance;
  revisions: Revisions;
  worker: Worker;
  secretBox: SecretBox;
  secretKeys: Buffer[];
  metrics: Metrics;
  url: string;
  signIn: SignIn;
  /** What was printed on the terminal, such as links that would else be mailed. */
  printed: string[];
  /** A key with every scope, of an app without a binding. */
  key: string;
  appId: string;
  /** `path` is below `/api/v1`. Sends `key` unless told otherwise. */
  call(path: string, options?: CallOptions): Promise<Answer>;
  /** Resolves when this process has seen everything committed so far. */
  settled(): Promise<void>;
};

export type TestServiceOptions = {
  /** As in the environment. */
  env?: Record<string, string>;
  /** Starts the worker too. */
  worker?: boolean;
  /** Another process of the same installation: its database and its SECRET_KEY. */
  beside?: TestDatabase & Pick<TestService, 'secretBox'> & Partial<Pick<TestService, 'secretKeys'>>;
  log?: Logger;
  /** In the place of the real hashing of passwords, which takes 60 ms of a core. */
  hashing?: PasswordHashing;
};

/** Browsers take such a name for secure without TLS: the clipboard and cryptography are for such pages only. */
export const testPublicUrl = 'http://directory.localhost';

export async function startTestService(options: TestServiceOptions = {}): Promise<TestService> {
  const opened = options.beside ?? (await openTestDatabase());
  const { database, connection } = opened;
  const config: Config = loadConfig({
    PUBLIC_URL: testPublicUrl,
    RATE_LIMIT_PER_MINUTE: '0',
    ...options.env,
  });
  const log = options.log ?? createLogger('silent');
  const secretKeys = options.beside?.secretKeys ?? [randomBytes(32)];
  const secretBox = options.beside?.secretBox ?? createSecretBox(secretKeys);
  const revisions = createRevisions(database, connection);
  const health = createHealth(database, revisions);
  const keyCache = createKeyCache(database, revisions);
  const sender = createSender(config.webhooks);
  const inFlight = createInFlight();
  const metrics = createMetrics();
  const delivery = {
    database,
    sender,
    secretBox,
    signingKeys: createSigningKeys(secretBox),
    clock: systemClock,
    inFlight,
    webhooks: config.webhooks,
    serviceName: config.serviceName,
    version: '0.0.0-test',
    metrics,
    log,
  };
  const printed: string[] = [];
  const mailer = config.mail ? createMailer(config.mail) : null;
  const print = (line: string) => void printed.push(line);
  const hashing = options.hashing && { hashing: options.hashing };
  const signIn = createSignIn({ ...config, database, secretKeys, mailer, print, log, ...hashing });
  const app = await createApp({
    ...config,
    signIn,
    ...delivery,
    health,
    keyCache,
    responseCache: createResponseCache(revisions),
    leaseMs: leaseMs(config.webhooks),
    deactivateAfter: config.webhooks.deactivateAfter,
  });
  const worker = createWorker({
    ...delivery,
    connection,
    retentionDays: config.retentionDays,
    takePublished: (on) => takePublished(on, config.publicUrl),
  });
  await revisions.start();
  await health.start();
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  if (options.worker) worker.start();
  const { appId, key } = await makeKey(opened);
  after(async () => {
    await Promise.all([app.close(), worker.stop(), signIn.stop()]);
    mailer?.close();
    await Promise.all([revisions.stop(), health.stop(), keyCache.stop(), sender.close()]);
  });
  return {
    ...opened,
    app,
    revisions,
    worker,
    secretBox,
    secretKeys,
    signIn,
    printed,
    metrics,
    url,
    key,
    appId,
    call: (path, callOptions = {}) =>
      send(`${url}/api/v1`, path, { key, ...callOptions }, checkAnswer),
    settled: async () => {
      await revisions.stop();
      await revisions.start();
    },
  };
}

/** An app and a key of it, bound where asked: its owner is made a manager first. */
export async function makeKey(
  { database }: Pick<TestDatabase, 'database'>,
  options: { scopes?: readonly string[]; bindTo?: Subject; owner?: string; expiresAt?: Date } = {},
): Promise<{ appId: string; keyId: string; key: string; owner: string }> {
  const owner = options.owner ?? `owner-${randomBytes(6).toString('hex')}@example.org`;
  return database.transaction().execute(async (tx) => {
    const appId = await createOwnedApp(tx, testActor, { name: 'Test app', owner });
    if (options.bindTo) {
      await addManager(tx, testActor, options.bindTo, owner);
      await bindApp(tx, testActor, appId, options.bindTo);
    }
    const { id: keyId, key } = await createKey(tx, testActor, {
      appId,
      name: 'Test key',
      scopes: options.scopes ?? allScopes,
      expiresAt: options.expiresAt ?? null,
    });
    return { appId, keyId, key, owner };
  });
}

/** Sends a request below `base`, and holds the answer against what the API says of itself. */
export async function send(
  base: string,
  path: string,
  options: CallOptions,
  check: AnswerCheck,
): Promise<Answer> {
  const method = options.method ?? 'GET';
  const headers: Record<string, string> = { ...options.headers };
  if (options.key) headers['authorization'] ??= `Bearer ${options.key}`;
  if (options.json !== undefined) headers['content-type'] ??= 'application/json';
  const body = options.json === undefined ? options.body : JSON.stringify(options.json);
  const response = await fetch(`${base}${path}`, {
    method,
    headers,
    redirect: 'manual',
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  const parsed = text === '' ? null : (JSON.parse(text) as unknown);
  if (text !== '') check(method, new URL(response.url).pathname, response.status, parsed);
  return { status: response.status, headers: response.headers, body: parsed, text };
}
