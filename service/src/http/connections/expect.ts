/** Asks for a body only when it is to be read: after the route, the key and the length are checked (RFC 9110, 10.1.1). */
import type { FastifyInstance } from 'fastify';

/**
 * Without these listeners, Node.js asks for the body before it runs the request, and refuses other expectations itself, with
 * no body. Others are ignored.
 */
export function meetExpectations({ server }: FastifyInstance): void {
  server.on('checkContinue', (request, response) => {
    // If the body is not asked for, nobody knows where the next request begins.
    response.setHeader('connection', 'close');
    server.emit('request', request, response);
  });
  server.on('checkExpectation', (request, response) => {
    server.emit('request', request, response);
  });
}

/** A hook for every application whose server meets expectations, and those to which it passes requests on. */
export function askForBodies(app: FastifyInstance): void {
  app.addHook('preParsing', (request, { raw: response }, payload, done) => {
    const { expect, 'content-length': length = 0 } = request.headers;
    const isAwaited = expect !== undefined && response.getHeader('connection') === 'close';
    if (isAwaited && Number(length) <= request.routeOptions.bodyLimit) {
      response.removeHeader('connection');
      response.writeContinue();
    }
    done(null, payload);
  });
}
