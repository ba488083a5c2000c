/** 405 with `Allow`: every address that has an operation answers every other method so, before any key is asked for. */
import { METHODS } from 'node:http';
import type { FastifyInstance, RouteHandlerMethod, RouteOptions } from 'fastify';
import { ServiceError } from '../errors.ts';

/**
 * Call first; routes that are registered later, in this scope, are covered when it calls the returned function.
 * OPTIONS is CORS preflight; where no other origin is let in, it says what an address allows and no more.
 */
export function watchMethods(
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
      if (!url.includes('*')) refuseOthers(app, url, methods, crossOrigin);
  };
}

/** For one address, which may end in a wildcard. */
export function refuseOthers(
  app: FastifyInstance,
  fullUrl: string,
  known: Set<string>,
  crossOrigin: boolean,
): void {
  const allow = [...new Set([...known, 'OPTIONS'])].sort().join(', ');
  // CONNECT never reaches a router.
  const others = app.supportedMethods.filter(
    (method) => !known.has(method) && method !== 'OPTIONS',
  );
  if (!crossOrigin) answerOptions(app, fullUrl.slice(app.prefix.length), allow);
  app.route({
    method: others,
    url: fullUrl.slice(app.prefix.length),
    schema: { hide: true },
    // Before its body is read.
    onRequest: refuse,
    handler: refuse,
  });

  function refuse(): never {
    throw new ServiceError('method_not_allowed', undefined, {
      details: { allow: allow.split(', ') },
      headers: { allow },
    });
  }
}

function answerOptions(app: FastifyInstance, url: string, allow: string): void {
  const answer: RouteHandlerMethod = (_request, reply) => {
    void reply.code(204).header('allow', allow).send();
  };
  // Before its body is read.
  app.options(url, { schema: { hide: true }, onRequest: answer as never }, answer);
}

/** Node knows more methods than the router does by default; a strange one is refused like any other. */
export function supportAllMethods(app: FastifyInstance): void {
  for (const method of METHODS) {
    if (method !== 'CONNECT' && !app.supportedMethods.includes(method))
      app.addHttpMethod(method, { hasBody: true });
  }
}
