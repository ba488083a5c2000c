/** The settings that the applications of all listeners share. */
import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { FastifyBaseLogger, FastifyInstance, FastifyRequest } from 'fastify';
import type { Usage } from '../access/usage.ts';
import { ServiceError } from '../errors.ts';
import type { Logger } from '../runtime/log.ts';
import type { Metrics } from '../runtime/metrics.ts';
import type { RequestSpan } from '../runtime/tracing-types.ts';
import { activeTracing, readTraceparent } from '../runtime/tracing.ts';
import { RequestCounter } from './count-requests.ts';
import { otherMethodOf, toRoutedMethod } from './methods.ts';
import { askForBodies } from './connections/expect.ts';
import { requireDecodableQuery, toOriginForm } from './connections/request-target.ts';
import { sendError } from './responses/send-error.ts';
import { validatorCompiler } from './validate.ts';

export type ServerDependencies = { log: Logger; metrics: Metrics; usage: Usage };

export function serverOptions({ log }: ServerDependencies) {
  const loggerInstance: FastifyBaseLogger = log;
  return {
    loggerInstance,
    logController: new RequestCounter(),
    // Log lines carry the request id themselves; a logger per request would cost more than the key check.
    childLoggerFactory: (logger: FastifyBaseLogger) => logger,
    genReqId: requestIdOf,
    http: { requireHostHeader: false },
    rewriteUrl(request: IncomingMessage) {
      toRoutedMethod(request);
      return toOriginForm(request);
    },
    // Requests in flight finish before their connections close; idle connections close at once.
    forceCloseConnections: 'idle',
    return503OnClosing: false,
  } as const;
}

export function applyDefaults(app: FastifyInstance): void {
  app.setValidatorCompiler(validatorCompiler as never);
  app.setSerializerCompiler(() => JSON.stringify);
  app.setErrorHandler(sendError);
  app.setNotFoundHandler(() => {
    throw new ServiceError('not_found');
  });
  askForBodies(app);
  app.addHook('preValidation', (request, _reply, done) => {
    // Pages and redirects of providers have no schema: a query that they cannot read changes nothing for them.
    if (request.routeOptions.schema?.querystring) requireDecodableQuery(request);
    done();
  });
}

/** A span for each request, if tracing is on. `fromCaller`: whether the caller's trace goes on. Strangers could make it too large, or join traces of others. */
export function traceRequests(app: FastifyInstance, { fromCaller }: { fromCaller: boolean }): void {
  const tracing = activeTracing();
  if (!tracing) return;
  const spans = new WeakMap<FastifyRequest, RequestSpan>();
  app.addHook('onRequest', (request, reply, done) => {
    const { method, headers, routeOptions } = request;
    const span = tracing.startRequest({
      method,
      otherMethod: otherMethodOf(request),
      route: routeOptions.url ?? 'unknown',
      traceparent: fromCaller ? readTraceparent(headers) : null,
    });
    spans.set(request, span);
    // Also emitted if the caller leaves.
    reply.raw.once('close', () => span.end(reply.statusCode));
    done();
  });
  // The body has arrived by now: its events run outside of what `onRequest` started.
  app.addHook('preHandler', (request, _reply, done) => {
    const span = spans.get(request);
    if (span) span.run(done);
    else done();
  });
}

const wellFormed = /^[A-Za-z0-9._:-]{1,128}$/;

/** Keeps a well-formed id from the caller, so that logs on both sides can be matched. */
function requestIdOf({ headers }: { headers: IncomingHttpHeaders }): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && wellFormed.test(given) ? given : randomUUID();
}
