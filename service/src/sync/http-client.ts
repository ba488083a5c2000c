/**
 * GET over HTTP(S) for both syncs, and the only file of `sync` that makes requests. Follows no redirects and retries
 * nothing.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { Agent } from 'undici';

export type HttpAnswer = { status: number; headers: IncomingHttpHeaders; body: Readable };
export type HttpClient = {
  /** Throws an `HttpFault`. `signal` ends the body too. */
  get(url: URL, headers: Record<string, string>, signal: AbortSignal): Promise<HttpAnswer>;
  close(): Promise<void>;
};

/** Why a request failed, without a server's message or a URL. */
export class HttpFault extends Error {
  override readonly name = 'HttpFault';
  readonly kind: 'unreachable' | 'cut_off' | 'too_slow';

  constructor(kind: HttpFault['kind'], message: string, cause: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}

const connectTimeoutMs = 10_000;
/** The longest wait for the response's headers, and between two chunks of its body. */
const silenceMsMax = 30_000;
const headerBytesMax = 16 * 1024;

export function createHttpClient(): HttpClient {
  const agent = new Agent({
    connect: { timeout: connectTimeoutMs },
    headersTimeout: silenceMsMax,
    bodyTimeout: silenceMsMax,
    maxHeaderSize: headerBytesMax,
    // HTTP/1.1 shows whether a body is complete.
    allowH2: false,
  });
  return {
    async get(url, headers, signal) {
      try {
        const { origin, pathname, search } = url;
        const path = pathname + search;
        const answer = await agent.request({ origin, path, method: 'GET', headers, signal });
        return { status: answer.statusCode, headers: answer.headers, body: answer.body };
      } catch (error) {
        throw httpFault(error);
      }
    },
    close: () => agent.destroy(),
  };
}

/** Discards a response and closes its connection. */
export function abandon({ body }: HttpAnswer): void {
  // The error only says that we closed it.
  body.on('error', () => {});
  body.destroy();
}

/** Classifies an error of a request or its body. Passes other errors on. */
export function httpFault(error: unknown): unknown {
  if (isTimeout(error)) return new HttpFault('too_slow', 'took too long', error);
  const { name, code } = error as { name?: string; code?: unknown };
  if (name === 'HTTPParserError') return new HttpFault('cut_off', 'sent no valid HTTP', error);
  if (name === 'AbortError' || typeof code !== 'string') return error;
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT')
    return new HttpFault('too_slow', `was silent for ${silenceMsMax / 1000} s`, error);
  if (
    code === 'UND_ERR_SOCKET' ||
    code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH' ||
    code === 'ECONNRESET' ||
    code === 'EPIPE'
  )
    return new HttpFault('cut_off', 'ended before its end', error);
  if (code.startsWith('HPE_'))
    return new HttpFault('cut_off', `sent no valid HTTP (${code})`, error);
  return new HttpFault('unreachable', `could not be reached (${code})`, error);
}

/** Whether a signal timed out. The reader may throw the timeout itself or name it as the cause. */
export function isTimeout(error: unknown): boolean {
  const { name, cause } = error as { name?: string; cause?: unknown };
  return name === 'TimeoutError' || (cause instanceof Error && cause.name === 'TimeoutError');
}
