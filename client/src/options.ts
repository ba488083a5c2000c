/** The options of clients and calls, and their checks. No message quotes a URL or key, because they may be mixed up. */
import type { OrgdirError } from './orgdir-error.ts';

export type ClientOptions = {
  /** The URL of the service, such as `https://directory.example.org`. `/api/v1` is added. */
  baseUrl: string;
  /** `odk_…`. Only `status` and `openApi` work without a key. */
  apiKey?: string | undefined;
  /** Replaces the global `fetch`, for example to use a proxy. */
  fetch?: typeof globalThis.fetch | undefined;
  /** The time limit of each attempt, including the response body. Default: 30,000. */
  timeoutMs?: number | undefined;
  /** How often a failed request is retried. Default: 2. */
  retries?: number | undefined;
  /**
   * The time limit of a call with all its attempts and the waits between them, in addition to `timeoutMs`. Default: none.
   * A retry that could not begin before it is not waited for: the call rejects with the error of the last attempt.
   */
  totalTimeoutMs?: number | undefined;
  /**
   * Called before each retry, and before the wait for it. The retry waits for a promise that it returns. If it throws, there
   * is no retry, and the call rejects with what it threw.
   */
  beforeRetry?: ((retry: RetryDetails) => void | Promise<void>) | undefined;
  /** Aborts all calls of this client. */
  signal?: AbortSignal | undefined;
};

/** The options of one call. Its signal applies in addition to the client's. */
export type RequestOptions = Pick<
  ClientOptions,
  'timeoutMs' | 'retries' | 'totalTimeoutMs' | 'beforeRetry' | 'signal'
>;

/** A retry that is about to happen. */
export type RetryDetails = {
  /** Why the last attempt failed. */
  error: OrgdirError;
  /** The number of the retry, from 1. */
  retry: number;
  /** The wait before the retry, in milliseconds. */
  waitMs: number;
  method: string;
  /** The path of the request, such as `/api/v1/orgs`. */
  path: string;
};

/** More would burden a service that is down. */
const retriesMax = 10;
/** The longest time of a timer. */
export const timerMsMax = 2 ** 31 - 1;

const requestOptions = ['timeoutMs', 'retries', 'totalTimeoutMs', 'beforeRetry', 'signal'];
export const clientOptions = ['baseUrl', 'apiKey', 'fetch', ...requestOptions];

/** A misspelt option would be ignored. Names that resemble none may be in an object that has more than options. */
export function checkNames(options: object, known: readonly string[]): void {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || known.includes(name)) continue;
    const near = known.find((other) => isMisspelt(name.toLowerCase(), other.toLowerCase()));
    if (near !== undefined) throw new TypeError(`${name} is not an option: did you mean ${near}?`);
  }
}

function isMisspelt(name: string, known: string): boolean {
  return countEdits(name.slice(0, 40), known) <= Math.min(2, known.length / 3);
}

/** Levenshtein's distance. */
function countEdits(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const letter of from) {
    const [first = 0] = row;
    const next = [first + 1];
    for (const [index, other] of to.split('').entries()) {
      const [left = 0, corner = 0, above = 0] = [next[index], row[index], row[index + 1]];
      next.push(Math.min(left + 1, above + 1, corner + Number(letter !== other)));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

/** In JavaScript they may be anything. */
export function requireOptions(options: unknown, example: string): void {
  if (typeof options !== 'object' || options === null)
    throw new TypeError(`pass options, such as ${example}`);
}

/** Returns the URL without `/api/v1` and without a trailing slash. */
export function checkBaseUrl(baseUrl: string): URL {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
  if (!url || !/^https?:$/.test(url.protocol))
    throw new TypeError('baseUrl must be the http or https address of the service');
  if (url.username || url.password || url.search || url.hash)
    throw new TypeError('baseUrl must have no user, password, query or fragment');
  url.pathname = url.pathname.replace(/\/+$/, '').replace(/\/api\/v1$/, '');
  return url;
}

/** `fetch` would also reject other characters, but quote the key in its error. */
export function checkKey(apiKey: string | undefined): { authorization?: string } {
  if (apiKey === undefined) return {};
  if (!/^[\x21-\x7e]+$/.test(apiKey))
    throw new TypeError('apiKey must be an API key, without spaces or line ends');
  return { authorization: `Bearer ${apiKey}` };
}

/** `fetch` would take an invalid header for a network error. */
export function checkIdempotencyKey(key: string | undefined): { 'idempotency-key'?: string } {
  if (key === undefined) return {};
  if (!/^[\x21-\x7e]{1,255}$/.test(key))
    throw new TypeError('idempotencyKey must have 1 to 255 visible ASCII characters');
  return { 'idempotency-key': key };
}

export function checkRequestOptions(options: RequestOptions, known = requestOptions): void {
  checkNames(options, known);
  const { timeoutMs = 1, retries = 0, totalTimeoutMs = 1, beforeRetry } = options;
  checkDuration('timeoutMs', timeoutMs, 1);
  checkDuration('totalTimeoutMs', totalTimeoutMs, 1);
  if (beforeRetry !== undefined && typeof beforeRetry !== 'function')
    throw new TypeError('beforeRetry must be a function');
  if (!(Number.isInteger(retries) && retries >= 0 && retries <= retriesMax))
    throw new RangeError(`retries must be a whole number from 0 to ${retriesMax}`);
}

export function checkDuration(name: string, durationMs: number, minMs: number): void {
  const isNumber = typeof durationMs === 'number';
  if (!(isNumber && durationMs >= minMs && durationMs <= timerMsMax))
    throw new RangeError(`${name} must be a number of milliseconds, at least ${minMs}`);
}
