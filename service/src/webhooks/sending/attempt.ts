/**
 * One attempt: a POST with one deadline over DNS, connect, TLS, headers and body. It decides nothing and
 * stores nothing; `retry.ts` judges, `queue/record.ts` stores. The only place that calls receivers.
 */
import { LRUCache } from 'lru-cache';
import { Client, type Dispatcher } from 'undici';
import type { Config, Network } from '../../config.ts';
import { createConnections, type Connections } from './connections.ts';
import { ConnectError, createGuardedConnector, type GuardedConnector } from './guard.ts';
import { type AnswerHeaders, headerText, KeptBody, keepHeaders } from './kept-answer.ts';
import { createResolve, type Resolve } from './resolve.ts';
import type { AttemptResult } from './retry.ts';

export type AttemptOutcome = AttemptResult & {
  startedAt: Date;
  durationMs: number;
  /** As JSON text in bytes: an object of strings. Null where no answer came. */
  responseHeaders: Buffer | null;
  /** The first 4 KiB, as bytes. */
  responseBody: Buffer | null;
};

type AttemptRequest = { url: string; headers: Record<string, string>; body: Buffer };

export type Sender = {
  /** Never throws: whatever happens is an outcome. At most one request goes out. */
  attempt(request: AttemptRequest): Promise<AttemptOutcome>;
  /** Ends every connection, those that are still being opened too. May be called twice. */
  close(): Promise<void>;
};

export type SenderOptions = {
  resolve?: Resolve;
  /** Name servers instead of the system's. */
  nameServers?: string[];
  /** Authorities to trust instead of the system's, as PEM. */
  ca?: string;
  /** No connection lives longer, so that a name that changes its address is checked again. */
  connectionLifeMs?: number;
};

const connectionLifeMs = 60_000;
/** Shorter than the five seconds after which many servers close a connection without saying so before. */
const idleMsMax = 4_000;
/** What one silent address, or one silent address family, may cost of the deadline. */
const addressWaitShare = 1 / 8;
const addressWaitMsMax = 1_000;
const addressWaitMsMin = 10;
/** Informational answers before the real one; two are usual. */
const informationalMax = 32;
/** Node's own bound for a server; said here so that no option of the process moves it. */
const headerBytesMax = 16 * 1024;
/** Ended at their deadline in one turn of the event loop: many that began together must not hold up those that answer. */
const overduePerTurn = 4;
/** Addresses of webhooks that are in use, taken apart. */
const targetsMax = 2_000;

export function createSender(
  config: Pick<Config['webhooks'], 'allowedNetworks' | 'timeoutMs'>,
  options: SenderOptions = {},
): Sender {
  const { timeoutMs } = config;
  const lifeMs = options.connectionLifeMs ?? connectionLifeMs;
  const connector = createConnector({ ...config, lifeMs }, options);
  const open = (origin: string) => openClient(origin, connector);
  // A connection's end must not fall into an attempt, and the last attempt on it may take its whole deadline.
  const connections = createConnections(open, Math.max(1, lifeMs - timeoutMs));
  const targetOf = createTargets();
  const endSoon = createEndings();
  let closed = false;
  return {
    attempt: (request) =>
      new Promise((resolve) => {
        const exchange = new Exchange(connections, { timeoutMs, endSoon }, resolve);
        if (closed) return exchange.end('reset');
        try {
          exchange.send(targetOf(request.url), request);
        } catch {
          // An address that is none: registration lets no such thing pass.
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

/** Ends what is overdue, a few a turn. */
function createEndings(): (exchange: Exchange) => void {
  const overdue: Exchange[] = [];

  function endSome(): void {
    for (const exchange of overdue.splice(0, overduePerTurn)) exchange.abandon('timeout');
    if (overdue.length > 0) setImmediate(endSome);
  }

  return (exchange) => {
    if (overdue.push(exchange) === 1) setImmediate(endSome);
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
  { resolve, nameServers, ca }: SenderOptions,
): GuardedConnector {
  const share = Math.min(addressWaitMsMax, Math.floor(limits.timeoutMs * addressWaitShare));
  const addressWaitMs = Math.max(addressWaitMsMin, share);
  return createGuardedConnector({
    ...limits,
    addressWaitMs,
    resolve:
      resolve ??
      createResolve({
        familyWaitMs: addressWaitMs,
        ...(nameServers === undefined ? {} : { servers: nameServers }),
      }),
    ...(ca === undefined ? {} : { ca }),
  });
}

function openClient(origin: string, connector: GuardedConnector): Client {
  return new Client(origin, {
    connect: connector.connect,
    pipelining: 1,
    // Over HTTP/2 all webhooks of an origin would share one connection, and wait for its handshake.
    allowH2: false,
    keepAliveTimeout: idleMsMax,
    keepAliveMaxTimeout: idleMsMax,
    maxHeaderSize: headerBytesMax,
    // The deadline is ours, one for everything.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}

type AttemptError = NonNullable<AttemptResult['error']>;

/** One request and what comes of it. Ends once, whichever comes first: the answer, an error or the deadline. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #startedAt = new Date();
  readonly #start = performance.now();
  readonly #connections: Connections<Client>;
  readonly #resolve: (outcome: AttemptOutcome) => void;
  readonly #endSoon: (exchange: Exchange) => void;
  readonly #timer: NodeJS.Timeout;
  #overdue = false;
  #origin = '';
  #client: Client | null = null;
  #ended = false;
  #informational = 0;
  #statusCode: number | null = null;
  #headers: AnswerHeaders = {};
  readonly #body = new KeptBody();

  constructor(
    connections: Connections<Client>,
    { timeoutMs, endSoon }: { timeoutMs: number; endSoon: (exchange: Exchange) => void },
    resolve: (outcome: AttemptOutcome) => void,
  ) {
    this.#connections = connections;
    this.#resolve = resolve;
    this.#endSoon = endSoon;
    this.#timer = setTimeout(reachDeadline, timeoutMs, this);
  }

  /**
   * No bound on connections to one origin: attempts in flight are bounded, and a webhook that waited there for a
   * slow one of the same host would run out of time unsent.
   */
  send({ origin, path }: Target, { headers, body }: AttemptRequest): void {
    this.#origin = origin;
    this.#client = this.#connections.take(origin);
    this.#client.dispatch({ path, method: 'POST', headers, body }, this);
  }

  onRequestStart(): void {}

  onResponseStart(_: unknown, statusCode: number, headers: AnswerHeaders): void {
    if (this.#overdue) return;
    if (statusCode >= 200) {
      this.#statusCode = statusCode;
      this.#headers = headers;
      return;
    }
    this.#informational += 1;
    // After 101 no HTTP follows, and nobody asked for it.
    if (statusCode === 101 || this.#informational > informationalMax) this.abandon('reset');
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    if (!this.#body.add(chunk)) this.abandon('reset');
  }

  onResponseEnd(): void {
    if (this.#client && !this.#ended) this.#connections.giveBack(this.#origin, this.#client);
    this.end('reset');
  }

  onResponseError(_: unknown, error: Error): void {
    this.abandon(errorKind(error));
  }

  /** From now on no answer counts. */
  reachDeadline(): void {
    this.#overdue = true;
    this.#endSoon(this);
  }

  /** What is left of the answer is not wanted, or not to be had: its connection cannot be used again. */
  abandon(error: AttemptError): void {
    if (this.#ended) return;
    this.end(error);
    if (this.#client) this.#connections.drop(this.#client);
  }

  /** A status that came is the outcome, whatever became of the body; else it is the error. */
  end(error: AttemptError): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#timer);
    const came = this.#statusCode !== null;
    this.#resolve({
      startedAt: this.#startedAt,
      durationMs: Math.round(performance.now() - this.#start),
      statusCode: this.#statusCode,
      error: came ? null : this.#overdue ? 'timeout' : error,
      retryAfter: headerText(this.#headers['retry-after']) || null,
      responseHeaders: came ? keepHeaders(this.#headers) : null,
      responseBody: came ? this.#body.bytes() : null,
    });
  }
}

function reachDeadline(exchange: Exchange): void {
  exchange.reachDeadline();
}

/** A server may refuse the handshake after the client has ended it: when it wants a certificate, for one. */
const tlsCode = /^(ERR_SSL|EPROTO)/;

function errorKind(error: Error & { code?: string }): AttemptError {
  if (error instanceof ConnectError) return error.fault;
  return tlsCode.test(error.code ?? '') ? 'tls' : 'reset';
}
