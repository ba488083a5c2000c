/** The real application over a database of its own, on a real socket. Every answer is held against openapi.json. */
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { randomBytes } from 'node:crypto';
import { createApp as createOwnedApp } from '../../src/access/apps.ts';
import { bindApp } from '../../src/access/bindings.ts';
import { createKey, scopes as allScopes } from '../../src/access/keys.ts';
import { addManager, type Subject } from '../../src/access/managers.ts';
import { loadConfig } from '../../src/settings/config.ts';
import { createParts, type Parts } from '../../src/start/create-parts.ts';
import type { PasswordHashing } from '../../src/sign-in/auth.ts';
import { createLogger, type Logger } from '../../src/runtime/log.ts';
import type { GuardOptions } from '../../src/webhooks/management/check-webhook-url.ts';
import { stopParts } from '../../src/start/main.ts';
import { openTestDatabase, type TestDatabase } from './database.ts';
import { cheapHashing } from './cheap-hashing.ts';
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

export type TestService = Parts & {
  app: NonNullable<Parts['app']>;
  signIn: NonNullable<Parts['signIn']>;
  url: string;
  /** The lines printed on the terminal, such as sign-in links. */
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
  /** Another process of the same installation: its database, and its SECRET_KEY unless the test does not need it. */
  beside?: TestDatabase & Partial<Pick<TestService, 'secretKeys'>>;
  log?: Logger;
  /** Servers that stand for the chat platforms. */
  chatOrigins?: GuardOptions['chatOrigins'];
  /** Cheap by default: real hashing takes 60 ms of a core per password. */
  hashing?: PasswordHashing;
  /** Name servers and certificate authorities of the test's own. */
  senderOptions?: NonNullable<Parameters<typeof createParts>[0]['senderOptions']>;
};

/** Browsers take such a name for secure without TLS: the clipboard and cryptography are for such pages only. */
export const testPublicUrl = 'http://directory.localhost';

export async function startTestService(options: TestServiceOptions = {}): Promise<TestService> {
  const { database, connection } = options.beside ?? (await openTestDatabase());
  const secretKeys = options.beside?.secretKeys ?? [randomBytes(32)];
  const printed: string[] = [];
  const config = loadConfig({
    PUBLIC_URL: testPublicUrl,
    RATE_LIMIT_PER_MINUTE: '0',
    ...options.env,
  });
  if (options.chatOrigins) Object.assign(config.webhooks, { chatOrigins: options.chatOrigins });
  const { app, signIn, ...parts } = await createParts({
    config,
    database,
    connection,
    secretKeys,
    log: options.log ?? createLogger('silent'),
    print: (line) => void printed.push(line),
    hashing: options.hashing ?? cheapHashing,
    ...(options.senderOptions && { senderOptions: options.senderOptions }),
  });
  if (!app || !signIn) throw new Error('a test service needs the role api');
  after(() => stopParts({ app, signIn, ...parts }));
  const { apiProcesses, revisions, health, worker } = parts;
  apiProcesses.start();
  await revisions.start();
  await health.start();
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  if (options.worker) worker.start();
  const { appId, key } = await makeKey(parts);
  return {
    ...parts,
    app,
    signIn,
    url,
    printed,
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
  if (response.status === 429 || response.status === 503)
    assert.match(response.headers.get('retry-after') ?? 'no Retry-After', /^\d+$/);
  const parsed = text === '' ? null : (JSON.parse(text) as unknown);
  if (text !== '') check(method, new URL(response.url).pathname, response.status, parsed);
  return { status: response.status, headers: response.headers, body: parsed, text };
}
