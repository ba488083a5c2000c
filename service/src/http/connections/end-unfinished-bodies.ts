/**
 * Ends requests of the internal listener whose bodies do not arrive: Node has one time-out for all requests of a listener,
 * and a bulk write may take much longer than any other.
 */
import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route itself ends requests whose bodies do not arrive. */
    endsUnfinishedBodies?: boolean;
  }
}

/** docs/reference/errors-and-limits.md#internal-api-sql-and-imports */
export const bodyArrivesWithinMs = 60_000;

export function endUnfinishedBodies(app: FastifyInstance, withinMs = bodyArrivesWithinMs): void {
  app.addHook('onRequest', (request, { raw: response }, done) => {
    const watch = () => endUnfinishedBody(request, response, withinMs);
    // It may respond before it has read the body.
    if (request.routeOptions.config.endsUnfinishedBodies) response.once('finish', watch);
    else watch();
    done();
  });
}

export function endUnfinishedBody(
  { raw: request, server: { server } }: FastifyRequest,
  response: ServerResponse,
  withinMs = bodyArrivesWithinMs,
): void {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers;
  if (request.complete || (length === '0' && encoding === undefined)) return;
  const timer = setTimeout(end, withinMs).unref();
  request.once('close', () => clearTimeout(timer));

  function end(): void {
    const { socket, complete } = request;
    if (complete) return;
    if (response.headersSent) socket.destroy();
    // As Node does at its own time-out.
    else server.emit('clientError', { code: 'ERR_HTTP_REQUEST_TIMEOUT' }, socket);
  }
}
