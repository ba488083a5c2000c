/** GET over HTTP(S), for both syncs: the only place of `sync` that reaches outside. It follows nothing and retries nothing. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { Agent } from 'undici';

export type HttpAnswer = { status: number; headers: IncomingHttpHeaders; body: Readable };
export type HttpClient = {
  /** Throws an `HttpFault`. `signal` ends the body too. */
  get(url: URL, headers: Record<string, string>, signal: AbortSignal): Promise<HttpAnswer>;
  close(): Promise<void>;
};

/** What came in the way, without the words of a server or an address. */
export class HttpFault extends Error {
  override readonly name = 'HttpFault';
  readonly kind: 'unreachable' | 'cut_off' | 'too_slow';

  constructor(kind: HttpFault['kind'], message: string, cause: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}

const connectTimeoutMs = 10_000;
/** Between the request and the answer's head, and between two pieces of its body. */
const silenceMsMax = 30_000;
const headerBytesMax = 16 * 1024;

export function createHttpClient(): HttpClient {
  const agent = new Agent({
    connect: { timeout: connectTimeoutMs },
    headersTimeout: silenceMsMax,
    bodyTimeout: silenceMsMax,
    maxHeaderSize: headerBytesMax,
    // Of HTTP/1.1 it is known whether a body came whole.
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

/** Ends an answer whose body nobody wants, and its connection. */
export function abandon({ body }: HttpAnswer): void {
  // It says that it was ended, which is no news.
  body.on('error', () => {});
  body.destroy();
}

/** Takes an error of a request or of its body apart. What is none of theirs is passed on. */
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

/** Whether a signal's time was up. What was reading then may say so itself, or name it as the cause. */
export function isTimeout(error: unknown): boolean {
  const { name, cause } = error as { name?: string; cause?: unknown };
  return name === 'TimeoutError' || (cause instanceof Error && cause.name === 'TimeoutError');
}
