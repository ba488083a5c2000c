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

/** What a request that waits counts as. Without headers and body it takes less than half of this. */
const waitingBytes = 4_096;

/** Calls `run` when the responses before this one have been written and counted; never if the connection ends before. */
function onTurn(response: ServerResponse, run: () => void): void {
  // Node.js gives a response its connection when it is its turn.
  if (response.socket !== null) return run();
  countAsOutput(response, waitingBytes);
  response.assignSocket = function assignSocket(socket: Socket): void {
    countAsOutput(response, -waitingBytes);
    ServerResponse.prototype.assignSocket.call(this, socket);
    process.nextTick(() => {
      if (!socket.destroyed) run();
    });
  };
}

/**
 * Node.js reads no more from a connection while there is enough output behind its first response (`lib/_http_server.js`,
 * `updateOutgoingData`; it has no public name). Requests that wait have none, and a client could send them for ever.
 */
function countAsOutput(response: ServerResponse, bytes: number): void {
  // oxlint-disable-next-line no-underscore-dangle -- as above
  (response as unknown as { _onPendingData(bytes: number): void })._onPendingData(bytes);
}
