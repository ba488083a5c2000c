/** Sends calls to a service, retries them, and returns the content of the response. */
import { NetworkError } from './network-error.ts';
import {
  checkBaseUrl,
  checkIdempotencyKey,
  checkKey,
  checkRequestOptions,
  clientOptions,
  requireOptions,
  timerMsMax,
  type ClientOptions,
  type RequestOptions,
  type RetryDetails,
} from './options.ts';
import { readResponse, type Result } from './read-response.ts';
import { retryWaitMs, type Failure } from './retry.ts';
import { TimeoutError } from './timeout-error.ts';
import { wait } from './wait.ts';
import { withDeadline, type Ending } from './with-deadline.ts';

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';
type QueryValue = string | number | boolean | Date;
/** Several values are a repeated parameter. */
export type Query = Record<string, QueryValue | readonly QueryValue[] | null | undefined>;
export type Call = {
  method?: Method;
  /** Below `/api/v1`. */
  path: readonly string[];
  query?: Query | undefined;
  body?: object | undefined;
  /** Default: JSON. */
  accept?: string;
  /** Makes a write idempotent. */
  idempotencyKey?: string | undefined;
  options?: RequestOptions | undefined;
};

export type Connection = {
  /** Returns the content of a 2xx response. It is not validated. */
  send: <T>(call: Call) => Promise<T>;
  /** Returns a 2xx response whose body is not read yet, and the time limit that applies. */
  open: (call: Call) => Promise<{ response: Response; timeoutMs: number }>;
  /** Must not be in errors. */
  apiKey: string | null;
  /** The signals that abort a call. */
  signals: (options?: RequestOptions) => AbortSignal[];
};

type Request = {
  url: URL;
  init: RequestInit;
  apiKey: string | null;
  timeoutMs: number;
  totalTimeoutMs: number;
  signals: AbortSignal[];
};

export const defaultTimeoutMs = 30_000;
export const defaultRetries = 2;

/** Throws `TypeError` or `RangeError` for invalid options. Does not connect yet. */
export function openConnection(client: ClientOptions): Connection {
  requireOptions(client, "{ baseUrl: 'https://directory.example.org' }");
  const base = checkBaseUrl(client.baseUrl);
  const authorization = checkKey(client.apiKey);
  const fetch: typeof globalThis.fetch = client.fetch ?? ((...args) => globalThis.fetch(...args));
  checkRequestOptions(client, clientOptions);

  const signals = (options: RequestOptions = {}) =>
    [client.signal, options.signal].filter((signal) => signal !== undefined);

  async function request<T>(call: Call, read: Read): Promise<{ content: T; timeoutMs: number }> {
    const { method = 'GET', idempotencyKey, options = {} } = call;
    const isIdempotent = method === 'GET' || method === 'DELETE' || idempotencyKey !== undefined;
    checkRequestOptions(options);
    const retries = options.retries ?? client.retries ?? defaultRetries;
    const beforeRetry = options.beforeRetry ?? client.beforeRetry;
    const sent: Request = {
      url: buildUrl(base, call),
      init: buildInit(call, authorization),
      apiKey: client.apiKey ?? null,
      timeoutMs: options.timeoutMs ?? client.timeoutMs ?? defaultTimeoutMs,
      totalTimeoutMs: options.totalTimeoutMs ?? client.totalTimeoutMs ?? timerMsMax,
      signals: signals(options),
    };
    const endsAt = performance.now() + sent.totalTimeoutMs;
    const leftMs = () => endsAt - performance.now();
    for (let attempts = 1; ; attempts += 1) {
      const result = await attempt(fetch, sent, leftMs(), read);
      if (result.kind === 'content')
        return { content: result.content as T, timeoutMs: sent.timeoutMs };
      const { failure } = result;
      const waitMs = retryWaitMs({
        isIdempotent,
        failure,
        attempts,
        retries,
        random: Math.random(),
      });
      if (waitMs === null || waitMs >= leftMs()) throw failure;
      if (beforeRetry) {
        const path = sent.url.pathname;
        const details = { error: failure, retry: attempts, waitMs, method, path };
        await callHook(beforeRetry, details, { timeoutMs: leftMs(), signals: sent.signals });
        // The hook may have taken long.
        if (waitMs >= leftMs()) throw failure;
      }
      await wait(waitMs, sent.signals);
    }
  }

  return {
    send: async <T>(call: Call) => (await request<T>(call, readResponse)).content,
    async open(call) {
      const { content, timeoutMs } = await request<Response>(call, readFailure);
      return { response: content, timeoutMs };
    },
    apiKey: client.apiKey ?? null,
    signals,
  };
}

type Read = typeof readResponse;

/** Leaves the body of a 2xx response to the caller. */
async function readFailure(...[operation, response, secret]: Parameters<Read>): ReturnType<Read> {
  if (response.ok) return { kind: 'content', content: response };
  return readResponse(operation, response, secret);
}

function buildUrl(base: URL, { path, query = {} }: Call): URL {
  // These would change the path. No slug or id has such a value.
  for (const part of path as readonly unknown[])
    // In JavaScript it may be anything.
    if (typeof part !== 'string' || ['', '.', '..'].includes(part))
      throw new TypeError(
        `an id or slug must be a text that is not empty, . or .., not ${String(part)}`,
      );
  const url = new URL(base);
  const root = base.pathname.replace(/\/$/, '');
  url.pathname = `${root}/api/v1/${path.map(encodeURIComponent).join('/')}`;
  for (const [name, values] of Object.entries(query))
    for (const value of [values].flat())
      if (value !== undefined && value !== null)
        url.searchParams.append(name, value instanceof Date ? value.toISOString() : String(value));
  return url;
}

function buildInit(
  { method = 'GET', body, accept = 'application/json', idempotencyKey }: Call,
  authorization: object,
): RequestInit {
  return {
    method,
    headers: {
      accept,
      ...authorization,
      ...checkIdempotencyKey(idempotencyKey),
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
    // The API never redirects, so a redirect comes from another server, which must not get the key.
    redirect: 'manual',
  };
}

async function attempt(
  fetch: typeof globalThis.fetch,
  { url, init, apiKey, timeoutMs, totalTimeoutMs, signals }: Request,
  leftMs: number,
  read: Read,
): Promise<Result | Failed> {
  const operation = `${init.method} ${url.pathname}`;
  const limits = { timeoutMs: Math.min(timeoutMs, leftMs), signals };
  const ending = await withDeadline(limits, async (signal) =>
    read(operation, await fetch(url.href, { ...init, signal }), apiKey),
  );
  if (ending.kind === 'done') return ending.value;
  if (ending.kind === 'aborted') throw ending.reason;
  return {
    kind: 'failed',
    failure: toError(operation, leftMs < timeoutMs ? totalTimeoutMs : timeoutMs, ending),
  };
}

/** Returns when the hook has ended, or its time is over. */
async function callHook(
  beforeRetry: NonNullable<RequestOptions['beforeRetry']>,
  details: RetryDetails,
  limits: { timeoutMs: number; signals: AbortSignal[] },
): Promise<void> {
  const ending = await withDeadline(limits, async () => beforeRetry(details));
  if (ending.kind === 'failed') throw ending.cause;
  if (ending.kind === 'aborted') throw ending.reason;
}

type Failed = { kind: 'failed'; failure: Failure };

function toError(
  operation: string,
  timeoutMs: number,
  ending: Extract<Ending<unknown>, { kind: 'timedOut' | 'failed' }>,
): TimeoutError | NetworkError {
  if (ending.kind === 'timedOut')
    return new TimeoutError(`${operation}: no response within ${timeoutMs} ms`, timeoutMs);
  const { cause } = ending;
  return new NetworkError(`${operation}: no response${formatCode(cause)}`, { cause });
}

/** Returns the error code, such as ` (ECONNREFUSED)`, if the runtime has one. */
function formatCode(cause: unknown): string {
  const { cause: inner } = Object(cause) as { cause?: { code?: unknown } };
  return typeof inner?.code === 'string' ? ` (${inner.code})` : '';
}
