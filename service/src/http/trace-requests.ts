/** A span for each request, if tracing is on. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { RequestSpan } from '../runtime/tracing-types.ts';
import { activeTracing, readTraceparent } from '../runtime/tracing.ts';

/** `fromCaller`: whether the caller's trace goes on. Strangers could make it too large, or join traces of others. */
export function traceRequests(app: FastifyInstance, { fromCaller }: { fromCaller: boolean }): void {
  const tracing = activeTracing();
  if (!tracing) return;
  const spans = new WeakMap<FastifyRequest, RequestSpan>();
  app.addHook('onRequest', (request, reply, done) => {
    const { method, headers, routeOptions } = request;
    const span = tracing.startRequest({
      method,
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
