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

type Running = {
  response: ServerResponse;
  operation: string;
  caller: Caller | null;
  isSignedIn: boolean;
  startedAt: number;
};

/** Counts the requests of one connection. */
class Connection {
  readonly #socket: Socket;
  readonly #counters: Counters;
  /** Requests without the end of a response. */
  readonly #running = new Set<Running>();
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
    const running = {
      response,
      operation: unknown,
      caller: null,
      isSignedIn: false,
      startedAt: performance.now(),
    };
    this.#running.add(running);
    return running;
  }

  end(running: Running, status: number | 'aborted'): void {
    if (!this.#running.delete(running)) return;
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
    for (const running of this.#running) {
      const isRefused = !running.response.headersSent && this.#socket.bytesWritten > this.#written;
      this.end(running, isRefused ? 400 : 'aborted');
    }
  }

  /** What Node.js has refused itself: no other bytes were written meanwhile. */
  #countOthers(): void {
    if (this.#running.size > 0 || this.#socket.bytesWritten === this.#written) return;
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
  const connection = (raw.socket as Watched)[ofSocket];
  const running = response[ofResponse] ?? connection?.begin(raw, response);
  if (!running || response[ofResponse]) return running;
  response[ofResponse] = running;
  // Node.js calls it at the end of the response, also if the connection broke before everything was written.
  response.detachSocket = (socket) => {
    ServerResponse.prototype.detachSocket.call(response, socket);
    connection?.end(running, socket.destroyed ? 'aborted' : response.statusCode);
  };
  return running;
}

/** Counts the request as one with this key. */
export function countCaller({ raw }: FastifyReply, caller: Caller): void {
  const running = (raw as Counted)[ofResponse];
  if (running) running.caller = caller;
}

/** Counts the request as one of somebody who is signed in. */
export function countSession({ raw }: FastifyReply): void {
  const running = (raw as Counted)[ofResponse];
  if (running) running.isSignedIn = true;
}

function kindOf({ caller, isSignedIn }: Running): KeyKind {
  if (caller) return caller.appId === null ? 'platform' : 'app';
  return isSignedIn ? 'session' : 'none';
}
