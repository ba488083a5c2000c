/** Who may use the internal API: whoever holds a key of the platform. A page in a browser has none, and gets no CORS. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { keyActor, type Actor } from '../../access/actor.ts';
import type { KeyCache } from '../../access/key-cache.ts';
import { ServiceError } from '../../errors.ts';
import { presentedKey, requireScope, unauthorized } from '../admit.ts';

export type AuthenticationDependencies = { keyCache: KeyCache };

export function registerAuthentication(
  v1: FastifyInstance,
  { keyCache }: AuthenticationDependencies,
): void {
  v1.decorateRequest('caller', null);
  v1.addHook('onRequest', async (request) => {
    // Before its body is read: an address that is not there has nothing to say of a body.
    if (request.is404) throw new ServiceError('not_found');
    const { scope } = request.routeOptions.config;
    if (scope === undefined || scope === null) return;
    const key = presentedKey(request);
    const caller = key === null ? null : await keyCache.authenticate(key);
    if (!caller) throw unauthorized();
    requireScope(caller, scope);
    request.caller = caller;
  });
}

/** Who changes something by this request. */
export function actorOf({ caller }: FastifyRequest): Actor {
  if (!caller) throw unauthorized();
  return keyActor(caller);
}
