/**
 * Counts every request of a listener, those that no route sees included: bytes that are no request, requests that arrive
 * too late, unknown paths, connections that break.
 */
import { ServerResponse, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../access/keys.ts';
import type { Usage } from '../access/usage.ts';
import type { KeyKind, RequestCounts } from '../runtime/request-counts.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What its requests are counted as. Absent: they are unknown. */
    countedAs?: string;
  }
}

/** Of the process, and of each key. */
export type Counters = { requests: RequestCounts; usage: Usage };

const unknown = 'unknown';

/** A request without the end of its response. A connection reuses one, because each would be garbage after 50 µs. */
class Running {
  /** Null: it has ended. */
  response: ServerResponse | null = null;
  operation = unknown;
  caller: Caller | null = null;
  isSignedIn = false;
  startedAt = 0;
  readonly connection: Connection;

  constructor(connection: Connection) {
    this.connection = connection;
  }

  begin(response: ServerResponse): this {
    this.response = response;
    this.operation = unknown;
    this.caller = null;
    this.isSignedIn = false;
    this.startedAt = performance.now();
    return this;
  }
}

/** Counts the requests of one connection. */
class Connection {
  readonly #socket: Socket;
  readonly #counters: Counters;
  readonly #first = new Running(this);
  /** Requests that came before the response to the first one had ended. */
  readonly #pipelined = new Set<Running>();
  /** `bytesWritten` after what was counted last. */
  #written = 0;

  constructor(socket: Socket, counters: Counters) {
    this.#socket = socket;
    this.#counters = counters;
  }

  begin({ headers }: IncomingMessage, response: ServerResponse): Running {
    // Node.js has written that it may continue.
    if (headers.expect !== undefined) this.#takeBytes();
    this.#countOthers();
    if (this.#first.response === null) return this.#first.begin(response);
    const running = new Running(this).begin(response);
    this.#pipelined.add(running);
    return running;
  }

  end(running: Running, status: number | 'aborted'): void {
    if (running.response === null) return;
    running.response = null;
    if (running !== this.#first) this.#pipelined.delete(running);
    const { operation, caller, startedAt } = running;
    const bytes = this.#takeBytes();
    const { requests, usage } = this.#counters;
    if (caller) usage.addRequest(caller, { status, bytes });
    const durationMs = performance.now() - startedAt;
    requests.add({ operation, key: kindOf(running), status, durationMs, bytes });
  }

  /** Its end. Without a response, what was written then was that the request is malformed or too late. */
  close(): void {
    this.#countOthers();
    for (const running of [this.#first, ...this.#pipelined]) {
      const { response } = running;
      const isRefused =
        response?.headersSent === false && this.#socket.bytesWritten > this.#written;
      this.end(running, isRefused ? 400 : 'aborted');
    }
  }

  /** What Node.js has refused itself: no other bytes were written meanwhile. */
  #countOthers(): void {
    if (this.#first.response !== null || this.#pipelined.size > 0) return;
    if (this.#socket.bytesWritten === this.#written) return;
    const bytes = this.#takeBytes();
    const { requests } = this.#counters;
    requests.add({ operation: unknown, key: 'none', status: 400, durationMs: 0, bytes });
  }

  #takeBytes(): number {
    const { bytesWritten } = this.#socket;
    const bytes = bytesWritten - this.#written;
    this.#written = bytesWritten;
    return bytes;
  }
}

const ofSocket = Symbol('counts the requests of this connection');
const ofResponse = Symbol('is counted at the end of this response');
type Watched = Socket & { [ofSocket]?: Connection };
type Counted = ServerResponse & { [ofResponse]?: Running };

/** For the application that listens. */
export function countConnections(app: FastifyInstance, counters: Counters): void {
  app.server.on('connection', (socket: Watched) => {
    const connection = new Connection(socket, counters);
    socket[ofSocket] = connection;
    socket.once('close', () => connection.close());
  });
}

/**
 * Counts requests by their operation: its operationId, or the route of what is no operation. Before the routes, for each
 * application, also those that another one hands requests to (`defer.ts`).
 */
export function countByOperation(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const { schema, url } = route;
    route.config = { ...route.config, countedAs: schema?.operationId ?? url };
  });
  app.addHook('onRequest', (request, reply, done) => {
    const running = begin(request, reply);
    if (running) running.operation = request.routeOptions.config.countedAs ?? unknown;
    done();
  });
}

/** Counts a request that reaches no route, because its address is malformed. */
export function countUnrouted(request: FastifyRequest, reply: FastifyReply): void {
  begin(request, reply);
}

/** A listener for the end of each response would cost a cached page more, and so would a class of their own. */
function begin({ raw }: FastifyRequest, reply: FastifyReply): Running | undefined {
  const response: Counted = reply.raw;
  const begun = response[ofResponse];
  if (begun) return begun;
  const running = (raw.socket as Watched)[ofSocket]?.begin(raw, response);
  if (!running) return undefined;
  response[ofResponse] = running;
  response.detachSocket = detachSocket;
  return running;
}

/** Node.js calls it at the end of the response, also if the connection broke before everything was written. */
function detachSocket(this: Counted, socket: Socket): void {
  ServerResponse.prototype.detachSocket.call(this, socket);
  const running = runningOf(this);
  running?.connection.end(running, socket.destroyed ? 'aborted' : this.statusCode);
}

/** Undefined if the response has ended: the next request of the connection may have the same `Running`. */
function runningOf(response: Counted): Running | undefined {
  const running = response[ofResponse];
  return running?.response === response ? running : undefined;
}

/** Counts the request as one with this key. */
export function countCaller({ raw }: FastifyReply, caller: Caller): void {
  const running = runningOf(raw);
  if (running) running.caller = caller;
}

/** Counts the request as one of somebody who is signed in. */
export function countSession({ raw }: FastifyReply): void {
  const running = runningOf(raw);
  if (running) running.isSignedIn = true;
}

function kindOf({ caller, isSignedIn }: Running): KeyKind {
  if (caller) return caller.appId === null ? 'platform' : 'app';
  return isSignedIn ? 'session' : 'none';
}
