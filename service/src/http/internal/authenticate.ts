/** Admits callers with a platform key to the internal API. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { keyActor, type Actor } from '../../access/actor.ts';
import type { Caller } from '../../access/keys.ts';
import type { KeyCache } from '../../access/key-cache.ts';
import { ServiceError } from '../../errors.ts';
import { presentedKey, requireRights, unauthorized } from '../admission/admit.ts';

export type AuthenticationDependencies = { keyCache: KeyCache };

export function registerAuthentication(
  v1: FastifyInstance,
  { keyCache }: AuthenticationDependencies,
): void {
  v1.decorateRequest('caller', null);
  v1.addHook('onRequest', async (request) => {
    // Runs before the body is read: an unknown address gets a 404 whatever its body is.
    if (request.is404) throw new ServiceError('not_found');
    const { scope } = request.routeOptions.config;
    if (scope === undefined || scope === null) return;
    const key = presentedKey(request);
    const caller = key === null ? null : await keyCache.authenticate(key);
    if (!caller) throw unauthorized();
    request.caller = caller;
    requireRights(caller, scope);
  });
}

/** Throws `unauthorized`. */
export function callerOf({ caller }: FastifyRequest): Caller {
  if (!caller) throw unauthorized();
  return caller;
}

/** The actor of this request, for the audit log. */
export function actorOf(request: FastifyRequest): Actor {
  return keyActor(callerOf(request));
}
