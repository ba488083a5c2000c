/**
 * Makes one attempt: a POST with one deadline that covers DNS, connect, TLS, headers and body. Decides nothing and
 * stores nothing; `retry.ts` decides and `queue/record/record.ts` stores. This is the only file that calls receivers.
 */
import { LRUCache } from 'lru-cache';
import { Client, type Dispatcher } from 'undici';
import type { Attempt } from '../../contract/webhook.ts';
import type { Config, Network } from '../../settings/config.ts';
import { Connections } from './connections.ts';
import { ConnectError, createGuardedConnector, type GuardedConnector } from './guard.ts';
import { createResolve, type Resolve } from './resolve.ts';
import type { AttemptResult } from './retry.ts';
import { keptBytesMax } from '../../contract/delivery-rules.ts';

export type AttemptOutcome = AttemptResult & {
  durationMs: number;
  errorCause: Attempt['errorCause'];
  /** Bytes of JSON text: an object of strings. Null if no response came. */
  responseHeaders: Buffer | null;
  /** The first 4 KiB, as bytes. */
  responseBody: Buffer | null;
};

type AttemptRequest = { url: string; headers: Record<string, string>; body: Buffer };

export type Sender = {
  /**
   * Never throws: every result is an outcome. Sends one request, and a second time only if a reused connection closes
   * without a byte of a response: the receiver most likely closed it before the request arrived.
   */
  attempt(request: AttemptRequest): Promise<AttemptOutcome>;
  /**
   * Closes every connection, including those that are still opening: attempts in flight end as interrupted. May be called
   * twice.
   */
  close(): Promise<void>;
};

export type SenderOptions = {
  resolve?: Resolve;
  /** Name servers to use instead of the system's. */
  nameServers?: string[];
  /** Certificate authorities to trust instead of the system's, as PEM. */
  ca?: string;
  /** The longest life of a connection. It makes sure that a name that changes its address is checked again. */
  connectionLifeMs?: number;
  idleConnectionsMax?: number;
  /** Milliseconds since 1970, for the age of TLS sessions. */
  now?: () => number;
};

export const connectionLifeMs = 60_000;
/** An idle TLS connection holds some 100 KiB, so that these hold 50 MiB at most. */
const idleConnectionsMax = 512;
/** The share of the deadline that one silent address, or one silent address family, may use. */
const addressWaitShare = 1 / 8;
const addressWaitMsMax = 1_000;
const addressWaitMsMin = 10;
/** How long before the end that a receiver announces (`Keep-Alive: timeout=5`) an idle connection closes. */
const closeEarlierMs = 2_000;
/** Informational responses before the final one; two are usual. */
export const informationalMax = 32;
/** Node's own bound for a server, set here so that no process option changes it. */
export const headerBytesMax = 16 * 1024;
/** Attempts timed out per turn of the event loop, so that they do not delay those that get a response. */
const overduePerTurn = 4;
/** An attempt that is overdue for this long ends in any turn: a busy process has few turns, and a lease must outlast it. */
const overdueMaxMs = 1_000;
/** Parsed webhook URLs that are kept in memory. */
const targetsMax = 2_000;

export function createSender(
  config: Pick<Config['webhooks'], 'allowedNetworks' | 'timeoutMs'>,
  options: SenderOptions = {},
): Sender {
  const { timeoutMs } = config;
  const lifeMs = options.connectionLifeMs ?? connectionLifeMs;
  const connector = createConnector({ ...config, lifeMs }, options);
  const open = (origin: string, idleMs: number) => openClient(origin, idleMs, connector);
  const connections = new Connections(open, {
    // A connection must not reach its end during an attempt, and the last attempt on it may take the whole deadline.
    usableMs: Math.max(1, lifeMs - timeoutMs),
    idleMax: options.idleConnectionsMax ?? idleConnectionsMax,
  });
  const targetOf = createTargets();
  const queueTimeout = createTimeoutQueue();
  let closed = false;
  const limits = { timeoutMs, queueTimeout, isClosed: () => closed };
  return {
    attempt: (request) =>
      new Promise((resolve) => {
        const exchange = new Exchange(connections, limits, resolve);
        try {
          exchange.send(targetOf(request.url), request);
        } catch {
          // An invalid URL; registration rejects these.
          exchange.abandon('connect');
        }
      }),
    async close() {
      closed = true;
      connector.close();
      await connections.close();
    },
  };
}

/** Ends overdue attempts, a few per turn of the event loop. */
function createTimeoutQueue(): (exchange: Exchange) => void {
  const overdue: { exchange: Exchange; since: number }[] = [];

  function endSome(): void {
    const tooLate = performance.now() - overdueMaxMs;
    const firstToWait = overdue.findIndex(
      ({ since }, index) => index >= overduePerTurn && since > tooLate,
    );
    const ends = overdue.splice(0, firstToWait === -1 ? overdue.length : firstToWait);
    for (const { exchange } of ends) exchange.abandon('timeout');
    if (overdue.length > 0) setImmediate(endSome);
  }

  return (exchange) => {
    if (overdue.push({ exchange, since: performance.now() }) === 1) setImmediate(endSome);
  };
}

type Target = { origin: string; path: string };

function createTargets(): (url: string) => Target {
  const targets = new LRUCache<string, Target>({ max: targetsMax });
  return (url) => {
    const known = targets.get(url);
    if (known) return known;
    const { origin, pathname, search } = new URL(url);
    const target = { origin, path: pathname + search };
    targets.set(url, target);
    return target;
  };
}

function createConnector(
  limits: { allowedNetworks: Network[]; timeoutMs: number; lifeMs: number },
  { resolve, nameServers, ca, now = Date.now }: SenderOptions,
): GuardedConnector {
  const share = Math.min(addressWaitMsMax, Math.floor(limits.timeoutMs * addressWaitShare));
  const addressWaitMs = Math.max(addressWaitMsMin, share);
  return createGuardedConnector({
    ...limits,
    addressWaitMs,
    now,
    resolve:
      resolve ??
      createResolve({
        familyWaitMs: addressWaitMs,
        ...(nameServers === undefined ? {} : { servers: nameServers }),
      }),
    ...(ca === undefined ? {} : { ca }),
  });
}

function openClient(origin: string, idleMs: number, connector: GuardedConnector): Client {
  return new Client(origin, {
    connect: connector.connect,
    pipelining: 1,
    // Over HTTP/2 all webhooks of an origin would share one connection and wait for its handshake.
    allowH2: false,
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: idleMs,
    keepAliveTimeoutThreshold: closeEarlierMs,
    maxHeaderSize: headerBytesMax,
    // Our own deadline covers everything.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}

type AttemptError = NonNullable<AttemptResult['error']>;
type ErrorCause = Attempt['errorCause'];
type ExchangeLimits = {
  timeoutMs: number;
  queueTimeout: (exchange: Exchange) => void;
  isClosed: () => boolean;
};

/** One request and its outcome. The first of response, error and deadline ends it. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #start = performance.now();
  readonly #connections: Connections<Client>;
  readonly #resolve: (outcome: AttemptOutcome) => void;
  readonly #limits: ExchangeLimits;
  readonly #timer: NodeJS.Timeout;
  #overdue = false;
  #origin = '';
  #client: Client | null = null;
  /** Sends the request again, on a new connection. Null except on a reused connection, before a response. */
  #resend: (() => void) | null = null;
  #ended = false;
  #informational = 0;
  #statusCode: number | null = null;
  #headers: ResponseHeaders = {};
  readonly #body = new BodyCapture();

  constructor(
    connections: Connections<Client>,
    limits: ExchangeLimits,
    resolve: (outcome: AttemptOutcome) => void,
  ) {
    this.#connections = connections;
    this.#resolve = resolve;
    this.#limits = limits;
    this.#timer = setTimeout(reachDeadline, limits.timeoutMs, this);
  }

  /**
   * There is no limit on connections per origin: attempts in flight are already limited, and a webhook that waited for
   * a slow one on the same host would reach its deadline unsent.
   */
  send({ origin, path }: Target, { headers, body }: AttemptRequest): void {
    this.#origin = origin;
    const dispatch = (client: Client) => {
      this.#client = client;
      client.dispatch({ path, method: 'POST', headers, body }, this);
    };
    const idle = this.#connections.takeIdle(origin);
    if (idle) this.#resend = () => dispatch(this.#connections.open(origin));
    dispatch(idle ?? this.#connections.open(origin));
  }

  onRequestStart(): void {}

  /** Called at the first byte of a response. */
  onResponseStarted(): void {
    this.#resend = null;
  }

  onResponseStart(_: unknown, statusCode: number, headers: ResponseHeaders): void {
    if (this.#overdue) return;
    if (statusCode >= 200) {
      this.#statusCode = statusCode;
      this.#headers = headers;
      return;
    }
    this.#informational += 1;
    // No HTTP follows a 101, and we never ask for one.
    if (statusCode === 101 || this.#informational > informationalMax) this.abandon('reset');
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    if (!this.#body.add(chunk)) this.abandon('reset');
  }

  onResponseEnd(): void {
    if (this.#client && !this.#ended) this.#connections.release(this.#origin, this.#client);
    this.end('reset');
  }

  onResponseError(_: unknown, error: Error & { code?: string }): void {
    if (this.#limits.isClosed()) return this.abandon('interrupted');
    const resend = this.#resend;
    if (this.#ended || this.#overdue || !resend || !closedCodes.has(error.code ?? '')) {
      return this.abandon(errorKind(error), errorCause(error));
    }
    this.#resend = null;
    this.#connections.suspect(this.#origin);
    if (this.#client) this.#connections.drop(this.#client);
    resend();
  }

  /** From now on a response no longer counts. */
  reachDeadline(): void {
    this.#overdue = true;
    this.#limits.queueTimeout(this);
  }

  /** Ends without the rest of the response, so its connection cannot be reused. */
  abandon(error: AttemptError, cause: ErrorCause = null): void {
    if (this.#ended) return;
    this.end(error, cause);
    if (this.#resend) this.#connections.suspect(this.#origin);
    if (this.#client) this.#connections.drop(this.#client);
  }

  /** If a status came, it is the outcome, whatever happened to the body; otherwise the error is. */
  end(error: AttemptError, cause: ErrorCause = null): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#timer);
    const came = this.#statusCode !== null;
    this.#resolve({
      durationMs: Math.round(performance.now() - this.#start),
      statusCode: this.#statusCode,
      error: came ? null : this.#overdue ? 'timeout' : error,
      errorCause: came || this.#overdue ? null : cause,
      retryAfter: headerText(this.#headers['retry-after']) || null,
      responseHeaders: came ? captureHeaders(this.#headers) : null,
      responseBody: came ? this.#body.bytes() : null,
    });
  }
}

function reachDeadline(exchange: Exchange): void {
  exchange.reachDeadline();
}

/** The receiver closed the connection. */
const closedCodes = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

/** A server may reject the handshake late, for example if it requires a client certificate. */
const tlsCode = /^(ERR_SSL|EPROTO)/;

function errorKind(error: Error & { code?: string }): AttemptError {
  if (error instanceof ConnectError) return error.fault;
  return tlsCode.test(error.code ?? '') ? 'tls' : 'reset';
}

/** Codes of Node.js and OpenSSL. */
const causes: [code: RegExp, cause: NonNullable<ErrorCause>][] = [
  [/^ECONNREFUSED$/, 'refused'],
  [/^E(HOST|NET)UNREACH$/, 'unreachable'],
  [/^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$/, 'not_tls'],
  [/^ERR_SSL_.*(PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL)$/, 'tls_version'],
  [/^CERT_HAS_EXPIRED$/, 'certificate_expired'],
  [/^CERT_NOT_YET_VALID$/, 'certificate_not_yet_valid'],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, 'certificate_wrong_host'],
  // An issuer neither came nor is known.
  [/^UNABLE_TO_(VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT)/, 'certificate_incomplete'],
  [/SELF_SIGNED_CERT/, 'certificate_untrusted'],
  [/ALERT_CERTIFICATE_REQUIRED/, 'client_certificate_required'],
];

/** Null for one that says nothing of how the connection was made. */
function errorCause(error: Error & { code?: string }): ErrorCause {
  const isOfConnecting = error instanceof ConnectError;
  const origin = isOfConnecting ? (error.cause as typeof error | undefined) : error;
  const { code = '', message = '' } = origin ?? {};
  if (!isOfConnecting && !tlsCode.test(code)) return null;
  // A write that was in flight has the alert in its message only.
  const told = code === 'EPROTO' ? message.toUpperCase().replaceAll(' ', '_') : code;
  return causes.find(([pattern]) => pattern.test(told))?.[1] ?? null;
}

/** docs/reference/deliveries.md#delivery-records */
export const readBytesMax = 64 * 1024;
export const keptHeaderBytesMax = 8 * 1024;

type ResponseHeaders = Record<string, string | string[] | undefined>;

/** Collects the start of a body. */
class BodyCapture {
  #chunks: Buffer[] = [];
  #keptBytes = 0;
  #readBytes = 0;

  /** Returns whether to read on. Copies the chunk, because a slice would keep its whole buffer in memory. */
  add(chunk: Buffer): boolean {
    this.#readBytes += chunk.length;
    if (this.#keptBytes < keptBytesMax) {
      const kept = Buffer.from(chunk.subarray(0, keptBytesMax - this.#keptBytes));
      this.#chunks.push(kept);
      this.#keptBytes += kept.length;
    }
    return this.#readBytes < readBytesMax;
  }

  bytes(): Buffer {
    const [first, second] = this.#chunks;
    return first && !second ? first : Buffer.concat(this.#chunks);
  }
}

/** Returns bytes of JSON text: an object of strings, as many as fit the limit. */
function captureHeaders(headers: ResponseHeaders): Buffer {
  const kept: Record<string, string> = {};
  let bytes = 0;
  for (const name of Object.keys(headers)) {
    const text = headerText(headers[name]) ?? '';
    bytes += name.length + text.length;
    if (bytes > keptHeaderBytesMax) break;
    kept[name] = text;
  }
  return Buffer.from(JSON.stringify(kept));
}

function headerText(value: string | string[] | undefined): string | null {
  return Array.isArray(value) ? value.join(', ') : (value ?? null);
}
