/** Sends one request to the portal API of the service. Errors are those of the client, with code and request id. */
import { ApiError, NetworkError, TimeoutError, UnexpectedResponseError } from '@orgdir/client';
import { repeatableMinutes } from '../../../service/src/contract/periods.ts';
import { pageData } from '../page-data.ts';
import { askForProof } from './ask-for-proof.ts';
import { escapeNames } from './escape-names.ts';
import type { Pagination } from './types.ts';

export type Query = Record<string, string | number | boolean | null | undefined>;
export type Call = {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Relative to `/portal/api`, with encoded parts (see `path`). */
  path: string;
  query?: Query;
  body?: object;
  signal?: AbortSignal;
  /** Texts of the response are edited and sent back, so they stay as they are, and the response has its `etag`. */
  isEdited?: boolean;
  /** The version that was read: another one is not overwritten. */
  ifMatch?: string | null;
  /** The same for each try to make the same thing, which is then made once. */
  idempotencyKey?: string;
};
export type Envelope<T> = { data: T; pagination?: Pagination };
export type EditedEnvelope<T> = Envelope<T> & { etag: string | null };

/** The service itself stops a request after 30 s. */
const timeoutMs = 40_000;

/**
 * Resolves with the body of a 2xx response. Rejects with an `OrgdirError`, or with the reason of `signal`. If the service
 * requires a proof first, asks the user for it and sends the request again.
 */
export async function call<T>(request: Call): Promise<T> {
  try {
    return await callOnce<T>(request);
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'proof_required') throw error;
    if (!(await askForProof())) throw error;
    return callOnce<T>(request);
  }
}

async function callOnce<T>(request: Call): Promise<T> {
  const response = await send(request);
  const content = await readJson(response, request.isEdited ?? false);
  const etag = response.headers.get('etag');
  if (response.ok && content !== undefined)
    return (request.isEdited ? { ...(content as object), etag } : content) as T;
  // For whoever has no session there is no console: then the answer of this call, 401, is the one that counts.
  if (response.status === 404 && request.path.startsWith('/operator/'))
    await callOnce({ path: '/session', ...(request.signal && { signal: request.signal }) }).catch(
      (error: unknown) => {
        if (isUnauthorized(error) || request.signal?.aborted) throw error;
      },
    );
  throw toError(request, response, content);
}

/** `/apps/1/keys` from `['apps', id, 'keys']`. */
export function path(...parts: string[]): string {
  return parts.map((part) => `/${encodeURIComponent(part)}`).join('');
}

/** What to do without an answer. Only a read has a signal, one by POST too. */
function adviceOn({ method = 'GET', signal, idempotencyKey }: Call): string {
  if (method === 'GET' || signal) return 'Check your connection and try again.';
  return idempotencyKey
    ? `It may have been done: try again here within ${repeatableMinutes} minutes, and it is done only once.`
    : 'It is unknown whether this was done: look before you try again.';
}

async function send(request: Call): Promise<Response> {
  const {
    method = 'GET',
    path: below,
    query = {},
    body,
    signal,
    ifMatch,
    idempotencyKey,
  } = request;
  const url = new URL(`${pageData.basePath}/portal/api${below}`, window.location.origin);
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== null && value !== '')
      url.searchParams.set(name, String(value));
  const deadline = AbortSignal.timeout(timeoutMs);
  try {
    return await fetch(url, {
      method,
      headers: {
        accept: 'application/json',
        ...(body && { 'content-type': 'application/json' }),
        ...(ifMatch && { 'if-match': ifMatch }),
        ...(idempotencyKey && { 'idempotency-key': idempotencyKey }),
      },
      ...(body && { body: JSON.stringify(body) }),
      signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
    });
  } catch (cause) {
    if (signal?.aborted) throw cause;
    const advice = adviceOn(request);
    if (deadline.aborted)
      throw new TimeoutError(`The service did not respond in time. ${advice}`, timeoutMs);
    throw new NetworkError(`The service cannot be reached. ${advice}`, { cause });
  }
}

async function readJson(response: Response, isEdited: boolean): Promise<unknown> {
  try {
    const text = await response.text();
    return text === '' ? {} : (JSON.parse(text, isEdited ? undefined : escapeNames) as unknown);
  } catch {
    return undefined;
  }
}

type Refusal = {
  error?: { code?: string; message?: string; details?: Record<string, unknown> };
};

function toError(
  request: Call,
  { status, headers }: Response,
  content: unknown,
): ApiError | UnexpectedResponseError {
  const seen = {
    status,
    requestId: headers.get('x-request-id'),
    retryAfter: retryAfterOf(headers),
  };
  const { code, message, details = {} } = (content as Refusal | undefined)?.error ?? {};
  if (typeof code === 'string')
    return new ApiError({ ...seen, code, message: message ?? code, details });
  return new UnexpectedResponseError({
    ...seen,
    message: `The response did not come from the service (status ${status}). ${adviceOn(request)}`,
  });
}

export function isUnauthorized(error: unknown): boolean {
  return error instanceof ApiError && error.status === 401;
}

/** Whether the service did not respond at all: it is down, restarting or without its database, or the connection is. */
export function isUnreachable(error: unknown): boolean {
  if (error instanceof ApiError) return error.code === 'unavailable';
  return (
    error instanceof NetworkError ||
    error instanceof TimeoutError ||
    (error instanceof UnexpectedResponseError && error.status >= 500)
  );
}

/** Whether a write may have been done all the same. */
export function isAnswerLost(error: unknown): boolean {
  return isUnreachable(error) || error instanceof UnexpectedResponseError;
}

export function isForbidden(error: unknown): boolean {
  return error instanceof ApiError && error.status === 403;
}

function retryAfterOf(headers: Headers): number | null {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) ? seconds : null;
}
