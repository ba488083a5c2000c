/**
 * One attempt: a POST with one deadline over DNS, connect, TLS, headers and body. It decides nothing and
 * stores nothing; `retry.ts` judges, `record.ts` stores. The only place that calls receivers.
 */
import { Agent, type Dispatcher } from 'undici';
import type { Config, Network } from '../config.ts';
import { createGuardedConnector, type Resolve } from './guard.ts';
import type { AttemptResult } from './retry.ts';

export type AttemptOutcome = AttemptResult & {
  startedAt: Date;
  durationMs: number;
  /** As JSON text in bytes: an object of strings. Null where no answer came. */
  responseHeaders: Buffer | null;
  /** The first 4 KiB, as bytes. */
  responseBody: Buffer | null;
};

export type Sender = {
  /** Never throws: whatever happens is an outcome. */
  attempt(request: {
    url: string;
    headers: Record<string, string>;
    body: Buffer;
  }): Promise<AttemptOutcome>;
  close(): Promise<void>;
};

/** SPEC 7: at most this much is read, and 4 KiB of it kept. */
const readBytesMax = 64 * 1024;
const keptBytesMax = 4 * 1024;
const keptHeaderBytesMax = 8 * 1024;
/** SPEC 7: no connection lives longer, so that a name that changes its address is checked again. */
const connectionLifeMs = 60_000;

export function createSender(
  config: Pick<Config['webhooks'], 'allowedNetworks' | 'timeoutMs'>,
  resolve?: Resolve,
): Sender {
  const agent = createAgent(config.allowedNetworks, config.timeoutMs, resolve);
  return {
    async attempt(request) {
      const startedAt = new Date();
      const start = performance.now();
      const answer = await post(agent, request, config.timeoutMs);
      return { startedAt, durationMs: Math.round(performance.now() - start), ...answer };
    },
    close: () => agent.destroy(),
  };
}

function createAgent(
  allowedNetworks: Network[],
  timeoutMs: number,
  resolve: Resolve | undefined,
): Agent {
  return new Agent({
    connect: createGuardedConnector(allowedNetworks, timeoutMs, resolve),
    // No bound on connections to one origin: attempts in flight are bounded, and a webhook that waited
    // there for a slow one of the same host would run out of time unsent.
    pipelining: 1,
    // Over HTTP/2 all webhooks of an origin would share one connection, and wait for its handshake.
    allowH2: false,
    clientTtl: connectionLifeMs,
    keepAliveTimeout: 10_000,
    keepAliveMaxTimeout: connectionLifeMs,
    // The deadline is ours, one for everything.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}

type Answer = Omit<AttemptOutcome, 'startedAt' | 'durationMs'>;

async function post(
  agent: Agent,
  request: { url: string; headers: Record<string, string>; body: Buffer },
  timeoutMs: number,
): Promise<Answer> {
  const deadline = AbortSignal.timeout(timeoutMs);
  const { origin, pathname, search } = new URL(request.url);
  try {
    const response = await agent.request({
      origin,
      path: pathname + search,
      method: 'POST',
      headers: request.headers,
      body: request.body,
      signal: deadline,
    });
    const responseBody = await readStart(response.body);
    return {
      statusCode: response.statusCode,
      error: null,
      ...keptHeaders(response.headers),
      responseBody,
    };
  } catch (error) {
    const kind = deadline.aborted ? 'timeout' : errorKind(error);
    return {
      statusCode: null,
      error: kind,
      retryAfter: null,
      responseHeaders: null,
      responseBody: null,
    };
  }
}

/** Reads as far as the bound and the deadline allow. What becomes of the body decides nothing. */
async function readStart(body: Dispatcher.ResponseData['body']): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let keptBytes = 0;
  let readBytes = 0;
  body.on('error', () => {});
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      readBytes += chunk.length;
      if (keptBytes < keptBytesMax) {
        chunks.push(chunk.subarray(0, keptBytesMax - keptBytes));
        keptBytes += Math.min(chunk.length, keptBytesMax - keptBytes);
      }
      if (readBytes >= readBytesMax) break;
    }
  } catch {
    // Cut off or out of time: the status had come.
  }
  body.destroy();
  return Buffer.concat(chunks);
}

function keptHeaders(
  headers: Record<string, string | string[] | undefined>,
): Pick<Answer, 'retryAfter' | 'responseHeaders'> {
  const kept: Record<string, string> = {};
  let bytes = 0;
  for (const [name, value] of Object.entries(headers)) {
    const text = [value ?? ''].flat().join(', ');
    bytes += name.length + text.length;
    if (bytes > keptHeaderBytesMax) break;
    kept[name] = text;
  }
  return {
    retryAfter: [headers['retry-after'] ?? []].flat().join(', ') || null,
    responseHeaders: Buffer.from(JSON.stringify(kept)),
  };
}

const connectCodes = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'ETIMEDOUT',
  'EHOSTDOWN',
  'ENETDOWN',
  'EACCES',
  'EPERM',
]);
const tlsCode =
  /^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|EPROTO|CRL_|ERR_OSSL|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE)/;

function errorKind(error: unknown): NonNullable<AttemptResult['error']> {
  const {
    code = '',
    cause,
    errors,
  } = error as { code?: string; cause?: unknown; errors?: unknown[] };
  if (code === 'ORGDIR_BLOCKED') return 'blocked';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN' || code === 'EAI_FAIL' || code === 'ENODATA')
    return 'dns';
  if (connectCodes.has(code)) return 'connect';
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return 'timeout';
  if (tlsCode.test(code)) return 'tls';
  if (cause !== undefined) return errorKind(cause);
  return Array.isArray(errors) && errors.length > 0 ? errorKind(errors[0]) : 'reset';
}
