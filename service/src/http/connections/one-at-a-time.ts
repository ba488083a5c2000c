/** Runs the requests of a connection one after another, on any listener. */
import { ServerResponse, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/**
 * A client may send hundreds of requests at once, and get their responses in that order. Node.js runs them all when they come,
 * and keeps their responses, whole, until it is their turn.
 */
export function runOneAtATime(app: FastifyInstance): void {
  const { server } = app;
  for (const run of server.listeners('request') as ((...args: Exchange) => void)[])
    server
      .off('request', run)
      .on('request', (...exchange: Exchange) => onTurn(exchange[1], () => run(...exchange)));
}

type Exchange = [request: IncomingMessage, response: ServerResponse];

/** Calls `run` when the responses before this one have been written and counted; never if the connection ends before. */
export function onTurn(response: ServerResponse, run: () => void): void {
  // Node.js gives a response its connection when it is its turn.
  if (response.socket !== null) return run();
  response.assignSocket = function assignSocket(socket: Socket): void {
    ServerResponse.prototype.assignSocket.call(this, socket);
    process.nextTick(() => {
      if (!socket.destroyed) run();
    });
  };
}
