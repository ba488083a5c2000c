/**
 * Counts every request of a listener, those that no route sees included: bytes that are no request, requests that arrive
 * too late, unknown paths, connections that break.
 */
import { ServerResponse, type IncomingMessage } from 'node:http';
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
export type Counters = { requests: RequestCounts; usage: Usage };

const unknown = 'unknown';
/** RFC 9110, 15.5.18: to an `Expect` that is not `100-continue`. */
const expectationFailed = 417;

/** Counts the requests of one connection. */
class Connection {
  readonly #socket: Socket;
  readonly #counters: Counters;
  /** The request without the end of its response. */
  #running: FastifyReply | null = null;
  /** Requests that came meanwhile. */
  readonly #pipelined = new Set<FastifyReply>();
  /** `bytesWritten` after what was counted last. */
  #written = 0;

  constructor(socket: Socket, counters: Counters) {
    this.#socket = socket;
    this.#counters = counters;
  }

  begin(reply: FastifyReply): void {
    const { raw, request } = reply;
    // Node.js has written that it may continue.
    if (request.raw.headers.expect !== undefined && this.#running === null) this.#takeBytes();
    // Another application may have handed it on (`defer.ts`).
    this.#take(raw);
    if (this.#running === null) {
      this.#running = reply;
      return;
    }
    this.#pipelined.add(reply);
    this.expectNext();
    endBeforeTheNext(raw);
  }

  /** Call before another response follows on the running one. */
  expectNext(): void {
    if (this.#running) endBeforeTheNext(this.#running.raw);
  }

  /** May be called again for the same response. */
  end(response: ServerResponse, status: number | 'aborted'): void {
    const reply = this.#take(response);
    if (reply === null) return;
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
    for (const reply of [this.#running, ...this.#pipelined]) {
      if (reply === null) continue;
      const { headersSent, statusCode } = reply.raw;
      const isRefused = !headersSent && this.#socket.bytesWritten > this.#written;
      // Whoever leaves a stream has got all of it.
      const isStreamed = headersSent && reply.request.routeOptions.config.isStream;
      this.end(reply.raw, isStreamed ? statusCode : isRefused ? 400 : 'aborted');
    }
    // What Node.js refused before there was a request.
    if (this.#socket.bytesWritten > this.#written) this.countUnread(400);
  }

  /** Counts a request that Fastify does not see. */
  countUnread(status: number): void {
    this.#counters.requests.add(unknown, 'none', status, 0, this.#takeBytes());
  }

  #take(response: ServerResponse): FastifyReply | null {
    const running = this.#running;
    if (running?.raw === response) {
      this.#running = null;
      return running;
    }
    if (this.#pipelined.size === 0) return null;
    for (const reply of this.#pipelined) {
      if (reply.raw !== response) continue;
      this.#pipelined.delete(reply);
      return reply;
    }
    return null;
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
export function countConnections(app: FastifyInstance, counters: Counters): void {
  app.server.on('connection', (socket: Counted) => {
    const connection = new Connection(socket, counters);
    socket[counts] = connection;
    socket.once('close', () => connection.close());
  });
  // As Node.js responds itself, which nobody would count.
  app.server.on('checkExpectation', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const connection = (socket as Counted)[counts];
    connection?.expectNext();
    onDetach(response, () => connection?.countUnread(expectationFailed));
    response.writeHead(expectationFailed).end();
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

function endBeforeTheNext(response: ServerResponse): void {
  onDetach(response, (socket) =>
    (socket as Counted)[counts]?.end(response, statusOf(response, socket)),
  );
}

/** With requests that came together, the next response is written before Fastify tells of the end of this one. */
function onDetach(response: ServerResponse, act: (socket: Socket) => void): void {
  response.detachSocket = function detachSocket(socket: Socket): void {
    ServerResponse.prototype.detachSocket.call(this, socket);
    act(socket);
  };
}

function statusOf({ statusCode }: ServerResponse, { destroyed }: Socket): number | 'aborted' {
  return destroyed ? 'aborted' : statusCode;
}

/** What an application does not know, its requests do not have. */
function kindOf({ caller, signedIn }: Partial<FastifyRequest>): KeyKind {
  if (caller) return caller.appId === null ? 'platform' : 'app';
  return signedIn ? 'session' : 'none';
}
