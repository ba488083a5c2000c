/** One service: sends a call, again where that is right, and resolves with what the answer holds. */
import { NetworkError } from './network-error.ts';
import {
  checkBaseUrl,
  checkKey,
  checkRequestOptions,
  type ClientOptions,
  type RequestOptions,
} from './options.ts';
import { readAnswer, type Answer } from './read-answer.ts';
import { retryWaitMs, type Failure, type Method } from './retry.ts';
import { TimeoutError } from './timeout-error.ts';
import { wait } from './wait.ts';
import { withDeadline, type Ending } from './with-deadline.ts';

export type Query = Record<string, string | number | boolean | Date | null | undefined>;
export type Call = {
  method?: Method;
  /** Below `/api/v1`. */
  path: readonly string[];
  query?: Query | undefined;
  body?: object | undefined;
  options?: RequestOptions | undefined;
};

export type Connection = {
  /** Resolves with what a 2xx answer holds, unchecked: the service keeps to its description. */
  send: <T>(call: Call) => Promise<T>;
  /** The signals that end a call. */
  signals: (options?: RequestOptions) => AbortSignal[];
};

type Request = { url: URL; init: RequestInit; timeoutMs: number; signals: AbortSignal[] };

const defaultTimeoutMs = 30_000;
const defaultRetries = 2;

/** Throws `TypeError` or `RangeError` where the options are wrong. Connects to nothing yet. */
export function openConnection(client: ClientOptions): Connection {
  const base = checkBaseUrl(client.baseUrl);
  const authorization = checkKey(client.apiKey);
  const fetch: typeof globalThis.fetch = client.fetch ?? ((...args) => globalThis.fetch(...args));
  checkRequestOptions(client);

  const signals = (options: RequestOptions = {}) =>
    [client.signal, options.signal].filter((signal) => signal !== undefined);

  async function send<T>(call: Call): Promise<T> {
    const { method = 'GET', options = {} } = call;
    checkRequestOptions(options);
    const retries = options.retries ?? client.retries ?? defaultRetries;
    const request = {
      url: addressOf(base, call),
      init: initOf(call, authorization),
      timeoutMs: options.timeoutMs ?? client.timeoutMs ?? defaultTimeoutMs,
      signals: signals(options),
    };
    for (let attempts = 1; ; attempts += 1) {
      const answer = await attempt(fetch, request);
      if (answer.kind === 'answered') return answer.content as T;
      const { failure } = answer;
      const waitMs = retryWaitMs({ method, failure, attempts, retries, random: Math.random() });
      if (waitMs === null) throw failure;
      await wait(waitMs, request.signals);
    }
  }

  return { send, signals };
}

function addressOf(base: URL, { path, query = {} }: Call): URL {
  // These would make another address; nothing in the directory has such a name.
  if (path.some((part) => ['', '.', '..'].includes(part)))
    throw new TypeError('an id or slug must not be empty');
  const url = new URL(base);
  const root = base.pathname.replace(/\/$/, '');
  url.pathname = `${root}/api/v1/${path.map(encodeURIComponent).join('/')}`;
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== null)
      url.searchParams.set(name, value instanceof Date ? value.toISOString() : String(value));
  return url;
}

function initOf({ method = 'GET', body }: Call, authorization: object): RequestInit {
  return {
    method,
    headers: {
      accept: 'application/json',
      ...authorization,
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
    // The API never redirects; what does is another server, and not to be shown the key.
    redirect: 'manual',
  };
}

async function attempt(
  fetch: typeof globalThis.fetch,
  { url, init, timeoutMs, signals }: Request,
): Promise<Answer | Failed> {
  const what = `${init.method} ${url.pathname}`;
  const ending = await withDeadline({ timeoutMs, signals }, async (signal) =>
    readAnswer(what, await fetch(url.href, { ...init, signal })),
  );
  if (ending.kind === 'done') return ending.value;
  if (ending.kind === 'aborted') throw ending.reason;
  return { kind: 'failed', failure: toError(what, timeoutMs, ending) };
}

type Failed = { kind: 'failed'; failure: Failure };

function toError(
  what: string,
  timeoutMs: number,
  ending: Extract<Ending<unknown>, { kind: 'timedOut' | 'failed' }>,
): TimeoutError | NetworkError {
  if (ending.kind === 'timedOut')
    return new TimeoutError(`${what}: no answer within ${timeoutMs} ms`, timeoutMs);
  const { cause } = ending;
  return new NetworkError(`${what}: no answer${codeOf(cause)}`, { cause });
}

/** ` (ECONNREFUSED)` and the like, where the runtime tells. */
function codeOf(cause: unknown): string {
  const { cause: inner } = Object(cause) as { cause?: { code?: unknown } };
  return typeof inner?.code === 'string' ? ` (${inner.code})` : '';
}
