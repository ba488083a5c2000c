/**
 * Ends connections so that their clients can read the last response while they still send: closing a socket with unread
 * bytes resets it, and the client's system then drops what it has received (RFC 9112, 9.6).
 */
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** Most clients stop sending and close as soon as they have read the response. */
const lingerMs = 2_000;

/** Node.js ends a connection with `destroySoon` after its last response, on any listener. */
export function lingerAfterLastResponse(app: FastifyInstance): void {
  app.server.on('connection', (socket) => {
    socket.destroySoon = () => endGently(socket);
  });
}

/** Sends what was written, then drops what comes until the client closes, or for `lingerMs`. */
export function endGently(socket: Socket): void {
  // Otherwise Node.js would go on reading requests.
  socket.removeAllListeners('data').on('data', () => {});
  // It stopped reading if a body was too much for its request; `resume` does not know.
  // oxlint-disable-next-line no-underscore-dangle -- there is no other way to start again
  socket._read(0);
  socket.resume().end(() => {
    const timer = setTimeout(() => socket.destroy(), lingerMs).unref();
    socket.once('close', () => clearTimeout(timer));
  });
}
