/** Responds with 405 and `Allow` to every other method on a known address, before any key is checked. */
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest, RouteHandlerMethod, RouteOptions } from 'fastify';
import { ServiceError } from '../errors.ts';

/**
 * Call it before the routes are registered, and the returned function after them. OPTIONS is the CORS preflight; where
 * no other origin is allowed, it only returns the allowed methods.
 */
export function trackMethods(
  app: FastifyInstance,
  { crossOrigin }: { crossOrigin: boolean },
): () => void {
  const methodsByUrl = new Map<string, Set<string>>();
  app.addHook('onRoute', (route: RouteOptions) => {
    const url = route.url;
    const methods = methodsByUrl.get(url) ?? new Set<string>();
    for (const method of [route.method].flat()) methods.add(method);
    methodsByUrl.set(url, methods);
  });
  return () => {
    for (const [url, methods] of methodsByUrl)
      if (!url.includes('*')) rejectOtherMethods(app, url, methods, crossOrigin);
  };
}

/** Handles one address, which may end in a wildcard. */
export function rejectOtherMethods(
  app: FastifyInstance,
  fullUrl: string,
  known: Set<string>,
  crossOrigin: boolean,
): void {
  const allow = [...new Set([...known, 'OPTIONS'])].sort().join(', ');
  const others = app.supportedMethods.filter(
    (method) => !known.has(method) && method !== 'OPTIONS',
  );
  if (!crossOrigin) handleOptions(app, fullUrl.slice(app.prefix.length), allow);
  app.route({
    method: others,
    url: fullUrl.slice(app.prefix.length),
    schema: { hide: true },
    // Runs before the body is read.
    onRequest: reject,
    handler: reject,
  });

  function reject(): never {
    throw new ServiceError('method_not_allowed', undefined, {
      details: { allow: allow.split(', ') },
      headers: { allow },
    });
  }
}

function handleOptions(app: FastifyInstance, url: string, allow: string): void {
  const respond: RouteHandlerMethod = (_request, reply) => {
    void reply.code(204).header('allow', allow).send();
  };
  // Runs before the body is read.
  app.options(url, { schema: { hide: true }, onRequest: respond as never }, respond);
}

/** Those that Fastify routes by default. It keeps all addresses for each method, so further ones would slow down every start. */
const routed = new Set(['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'TRACE']);

const others = new WeakMap<IncomingMessage, string>();

/** Lets the router see every other method as TRACE, which no address allows: they get the same 405. */
export function toRoutedMethod(request: IncomingMessage): void {
  const { method = '' } = request;
  if (routed.has(method)) return;
  others.set(request, method);
  request.method = 'TRACE';
}

/** The method of a request that the router sees as TRACE, or null. */
export function otherMethodOf({ raw }: FastifyRequest): string | null {
  return others.get(raw) ?? null;
}
