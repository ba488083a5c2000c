/**
 * Counts every request of a listener, those that no route sees included: bytes that are no request, requests that arrive
 * too late, unknown paths, connections that break.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import {
  LogController,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';
import type { Usage } from '../access/usage.ts';
import type { KeyKind, RequestCounts } from '../runtime/request-counts.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether its responses end when their callers like, so that their duration says nothing. */
    isStream?: boolean;
  }
}

/** Of the process, and of each key. */
type Counters = { requests: RequestCounts; usage: Usage };

const unknown = 'unknown';

/** Counts the requests of one connection, which run one after another (`connections/one-at-a-time.ts`). */
class Connection {
  readonly #socket: Socket;
  readonly #counters: Counters;
  /** The request without the end of its response. */
  #running: FastifyReply | null = null;
  /** `bytesWritten` after what was counted last. */
  #written = 0;

  constructor(socket: Socket, counters: Counters) {
    this.#socket = socket;
    this.#counters = counters;
  }

  begin(reply: FastifyReply): void {
    // Node.js has written that it may continue. Another application may have handed the request on (`app.ts`).
    if (reply.request.raw.headers.expect !== undefined && this.#running === null) this.#takeBytes();
    this.#running = reply;
  }

  /** May be called again for the same response. */
  end(response: ServerResponse, status: number | 'aborted'): void {
    const reply = this.#running;
    if (reply?.raw !== response) return;
    this.#running = null;
    const { request, elapsedTime } = reply;
    const bytes = this.#takeBytes();
    const { requests, usage } = this.#counters;
    if (request.caller) usage.addRequest(request.caller, status, bytes);
    const { schema, url, config } = request.routeOptions;
    const operation = schema?.operationId ?? url ?? unknown;
    requests.add(operation, kindOf(request), status, config.isStream ? null : elapsedTime, bytes);
  }

  /** Its end. Without a response, what was written then was that the request is malformed or too late. */
  close(): void {
    if (this.#running) {
      const { raw, request } = this.#running;
      const { headersSent, statusCode } = raw;
      const isRefused = !headersSent && this.#socket.bytesWritten > this.#written;
      // Whoever leaves a stream has got all of it.
      const isStreamed = headersSent && request.routeOptions.config.isStream;
      this.end(raw, isStreamed ? statusCode : isRefused ? 400 : 'aborted');
    }
    // What Node.js refused before there was a request.
    if (this.#socket.bytesWritten > this.#written)
      this.#counters.requests.add(unknown, 'none', 400, 0, this.#takeBytes());
  }

  #takeBytes(): number {
    const { bytesWritten } = this.#socket;
    const bytes = bytesWritten - this.#written;
    this.#written = bytesWritten;
    return bytes;
  }
}

const counts = Symbol('counts the requests of this connection');
type Counted = Socket & { [counts]?: Connection };

/** For the application that listens. */
export function countConnections(
  app: FastifyInstance,
  { metrics: { requests }, usage }: { metrics: { requests: RequestCounts }; usage: Usage },
): void {
  app.server.on('connection', (socket: Counted) => {
    const connection = new Connection(socket, { requests, usage });
    socket[counts] = connection;
    socket.once('close', () => connection.close());
  });
}

/**
 * Fastify tells it of every request and of its end, also of those that no hook sees.
 * It logs nothing: a failed request is logged where it fails.
 */
export class RequestCounter extends LogController {
  constructor() {
    super({ disableRequestLogging: true });
  }

  override incomingRequest(request: FastifyRequest, reply: FastifyReply): void {
    connectionOf(request)?.begin(reply);
  }

  /** Also called if the connection broke before everything was written. */
  override requestCompleted(_error: unknown, request: FastifyRequest, { raw }: FastifyReply): void {
    connectionOf(request)?.end(raw, statusOf(raw, request.raw.socket));
  }
}

/** Counts a request that reaches no route, because its address is malformed: Fastify does not tell of its end. */
export function countUnrouted(request: FastifyRequest, { raw }: FastifyReply): void {
  raw.once('finish', () => connectionOf(request)?.end(raw, raw.statusCode));
}

function connectionOf({ raw }: FastifyRequest): Connection | undefined {
  return (raw.socket as Counted)[counts];
}

function statusOf({ statusCode }: ServerResponse, { destroyed }: Socket): number | 'aborted' {
  return destroyed ? 'aborted' : statusCode;
}

/** What an application does not know, its requests do not have. */
function kindOf({ caller, signedIn }: Partial<FastifyRequest>): KeyKind {
  if (caller) return caller.appId === null ? 'platform' : 'app';
  return signedIn ? 'session' : 'none';
}
