/** Opens the source of a blueprint sync, and names it: a file, or an HTTP(S) URL with the state of the last run. Reads no rows. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  abandon,
  HttpFault,
  httpFault,
  isTimeout,
  type HttpAnswer,
  type HttpClient,
} from './http-client.ts';
import { SyncFailure } from './sync-failure.ts';

export type SourceState = { etag: string | null; lastModified: string | null };
export type OpenedSource =
  /** The source is unchanged. */
  | { kind: 'unchanged' }
  | {
      kind: 'content';
      /** Throws a `SyncFailure` if it is incomplete. */
      bytes: AsyncIterable<Buffer>;
      /** Whether the transport shows where the source ends. */
      tellsItsEnd: boolean;
      state: SourceState;
    };

type OpenOptions = {
  client: HttpClient;
  userAgent: string;
  /** The source's state at the last run, if it still applies. */
  known: SourceState | null;
  signal: AbortSignal;
};

/** Room for a hundred thousand blueprints of five times the usual size. */
export const sourceBytesMax = 512 * 1024 * 1024;
export const redirectsMax = 5;
const redirects = new Set([301, 302, 303, 307, 308]);

export async function openSource(
  location: SourceLocation,
  options: OpenOptions,
): Promise<OpenedSource> {
  return location.kind === 'file' ? openFile(location.path, options) : openUrl(location, options);
}

async function openFile(path: string, { signal }: OpenOptions): Promise<OpenedSource> {
  const found = await stat(path).catch((error: unknown) => {
    throw fileFailure(error);
  });
  // A pipe without a writer would block the run for ever.
  if (!found.isFile()) throw new SyncFailure('unreachable', 'the source is not a file');
  refuseSize(found.size);
  const bytes = explained(createReadStream(path, { signal }), fileFailure);
  return { kind: 'content', bytes, tellsItsEnd: true, state: noState };
}

const noState: SourceState = { etag: null, lastModified: null };

function fileFailure(error: unknown): unknown {
  if (isTimeout(error)) return urlFailure(httpFault(error));
  const { name, code } = error as { name?: string; code?: string };
  if (code === undefined || name === 'AbortError') return error;
  return new SyncFailure('unreachable', `the source cannot be read (${code})`, { cause: error });
}

type UrlLocation = Extract<SourceLocation, { kind: 'url' }>;

async function openUrl(location: UrlLocation, options: OpenOptions): Promise<OpenedSource> {
  const answer = await follow(location, options).catch((error: unknown) => {
    throw urlFailure(error);
  });
  if (answer.status === 304 && options.known) {
    abandon(answer);
    return { kind: 'unchanged' };
  }
  if (answer.status !== 200) throw refused(answer, `answered ${answer.status}`);
  const encoding = header(answer, 'content-encoding') ?? 'identity';
  if (encoding !== 'identity' && encoding !== 'gzip' && encoding !== 'x-gzip')
    throw refused(answer, 'sent an encoding that was not asked for');
  const sizeBytes = contentLength(answer);
  refuseSize(sizeBytes, answer);
  return {
    kind: 'content',
    bytes: explained(answer.body, (error) => urlFailure(httpFault(error))),
    tellsItsEnd: sizeBytes !== null || header(answer, 'transfer-encoding') === 'chunked',
    state: { etag: header(answer, 'etag'), lastModified: header(answer, 'last-modified') },
  };
}

/** Follows a few redirects, to HTTP(S) only and never from HTTPS to HTTP; credentials go only to their own host. */
async function follow(
  { url: first, credentials }: UrlLocation,
  options: OpenOptions,
): Promise<HttpAnswer> {
  let url = first;
  for (let followed = 0; ; followed += 1) {
    const own = credentials !== null && url.origin === first.origin;
    const headers = { ...requestHeaders(options), ...(own ? { authorization: credentials } : {}) };
    const answer = await options.client.get(url, headers, options.signal);
    if (!redirects.has(answer.status)) return answer;
    if (followed === redirectsMax)
      throw refused(answer, `redirected more than ${redirectsMax} times`);
    url = nextUrl(url, answer);
    abandon(answer);
  }
}

function requestHeaders({ known, userAgent }: OpenOptions): Record<string, string> {
  return {
    'user-agent': userAgent,
    accept: 'application/x-ndjson, application/json;q=0.9, */*;q=0.1',
    'accept-encoding': 'gzip',
    // One request per connection: a reused connection that the server closes while we are slow looks like a cut-off
    // source.
    connection: 'close',
    ...(known?.etag == null ? {} : { 'if-none-match': known.etag }),
    ...(known?.lastModified == null ? {} : { 'if-modified-since': known.lastModified }),
  };
}

function nextUrl(from: URL, answer: HttpAnswer): URL {
  const location = header(answer, 'location');
  const to = location === null ? null : URL.parse(location, from.href);
  if (!to || !/^https?:$/.test(to.protocol) || to.username !== '' || to.password !== '')
    throw refused(answer, 'redirected to no plain HTTP(S) address');
  if (from.protocol === 'https:' && to.protocol === 'http:')
    throw refused(answer, 'redirected from https: to http:');
  return to;
}

function header({ headers }: HttpAnswer, name: string): string | null {
  const value = headers[name];
  return typeof value === 'string' && value !== '' ? value.trim() : null;
}

function contentLength(answer: HttpAnswer): number | null {
  const text = header(answer, 'content-length');
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

function refuseSize(sizeBytes: number | null, answer?: HttpAnswer): void {
  if (sizeBytes === null || sizeBytes <= sourceBytesMax) return;
  if (answer) abandon(answer);
  throw tooLarge();
}

export function tooLarge(): SyncFailure {
  return new SyncFailure(
    'too_large',
    `the source is larger than ${sourceBytesMax / 1024 / 1024} MiB`,
  );
}

function refused(answer: HttpAnswer, what: string): SyncFailure {
  abandon(answer);
  return new SyncFailure('refused', `the source ${what}`);
}

function urlFailure(error: unknown): unknown {
  return error instanceof HttpFault
    ? new SyncFailure(error.kind, `the source ${error.message}`, { cause: error })
    : error;
}

async function* explained(
  body: Readable,
  toSyncFailure: (error: unknown) => unknown,
): AsyncGenerator<Buffer> {
  try {
    yield* body as AsyncIterable<Buffer>;
  } catch (error) {
    throw toSyncFailure(error);
  }
}

export type SourceLocation =
  | { kind: 'file'; path: string }
  | { kind: 'url'; url: URL; credentials: string | null };

/** Null for an invalid URL. Text that does not start like a URL is a path. */
export function readLocation(text: string): SourceLocation | null {
  if (/^file:/i.test(text)) return fileLocation(text);
  if (!/^https?:/i.test(text)) return isPath(text) ? { kind: 'file', path: text } : null;
  const url = URL.parse(text);
  if (!url || url.hostname === '') return null;
  const credentials = readCredentials(url);
  if (credentials === undefined) return null;
  url.username = '';
  url.password = '';
  url.hash = '';
  return { kind: 'url', url, credentials };
}

/** Any other scheme is meant as a URL and must not be taken for a file. */
function isPath(text: string): boolean {
  return text !== '' && !text.includes('\0') && !/^[a-z][a-z0-9+.-]*:\/\//i.test(text);
}

function fileLocation(text: string): SourceLocation | null {
  try {
    return { kind: 'file', path: fileURLToPath(text) };
  } catch {
    return null;
  }
}

/** Credentials for HTTP basic authentication; undefined if they cannot be decoded. */
function readCredentials({ username, password }: URL): string | null | undefined {
  if (username === '' && password === '') return null;
  try {
    const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    return `Basic ${Buffer.from(pair).toString('base64')}`;
  } catch {
    return undefined;
  }
}

/** The source as operators see it, without credentials and query, which may contain a token. */
export function locationName(location: SourceLocation): string {
  return location.kind === 'file' ? location.path : location.url.origin + location.url.pathname;
}

/** The source as everyone sees it: a file's name or a URL's host. Paths may be private or contain a token. */
export function publicLocationName(location: SourceLocation): string {
  return location.kind === 'file' ? basename(location.path) : location.url.hostname;
}

/** Distinguishes URLs without storing them. */
export function locationFingerprint(url: URL): string {
  return createHash('sha256').update(url.href).digest('hex');
}
