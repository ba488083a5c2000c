/**
 * Who may come in, in the order of SPEC 2: maintenance, key, rate, scope. Routes say in `config` what they
 * ask for; 404 and 405 were decided before, bodies are read after.
 */
import { isIPv6 } from 'node:net';
import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';
import type { KeyCache } from '../access/key-cache.ts';
import type { Caller, KeyScope } from '../access/keys.ts';
import { ServiceError } from '../errors.ts';
import type { Health } from '../system/health.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Absent: not an operation, let through. Null: open to all. */
    scope?: KeyScope | null;
    /** Whether it answers during maintenance. */
    duringMaintenance?: boolean;
  }
  interface FastifyRequest {
    caller: Caller | null;
  }
}

export type AdmitDependencies = { keyCache: KeyCache; health: Health; rateLimitPerMinute: number };

const windowMs = 60_000;

export async function registerAdmission(
  app: FastifyInstance,
  { keyCache, health, rateLimitPerMinute }: AdmitDependencies,
): Promise<void> {
  await app.register(rateLimit, { global: false });
  app.decorateRequest('caller', null);
  const countRequest = rateLimitPerMinute > 0 ? createCounter(app, rateLimitPerMinute) : null;

  app.addHook('onRequest', async (request, reply) => {
    const { scope, duringMaintenance } = request.routeOptions.config;
    if (request.is404) throw new ServiceError('not_found');
    if (scope === undefined) return;
    if (!duringMaintenance) refuseDuringMaintenance(health);
    const key = presentedKey(request);
    const caller = key === null ? null : keyCache.authenticate(key);
    request.caller =
      caller instanceof Promise
        ? await (scope === null ? caller.catch(() => null) : caller)
        : caller;
    const exceeded = countRequest ? await countRequest(request, reply) : null;
    if (scope !== null && request.caller === null) throw unauthorized();
    if (exceeded) throw exceeded;
    if (scope !== null && !request.caller?.scopes.has(scope)) {
      throw new ServiceError('forbidden', `The API key lacks the scope ${scope}.`, {
        details: { requiredScope: scope },
      });
    }
  });
}

/** The caller of a route that asks for a scope. */
export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === null) throw unauthorized();
  return request.caller;
}

function refuseDuringMaintenance(health: Health): void {
  const { maintenance } = health.snapshot();
  if (!maintenance) return;
  const leftMs =
    maintenance.expectedEnd === null ? 0 : Date.parse(maintenance.expectedEnd) - Date.now();
  // Between half a minute and an hour, whatever was announced.
  const retryAfter = Math.ceil(Math.min(Math.max(leftMs / 1000, 30), 3600));
  throw new ServiceError('maintenance', maintenance.message ?? undefined, {
    details: { since: maintenance.since, expectedEnd: maintenance.expectedEnd },
    headers: { 'retry-after': String(retryAfter) },
  });
}

function presentedKey(request: FastifyRequest): string | null {
  const { authorization } = request.headers;
  if (authorization !== undefined) return /^bearer +(\S+)$/i.exec(authorization)?.[1] ?? null;
  const alias = request.headers['x-api-key'];
  return typeof alias === 'string' ? alias.trim() : null;
}

function unauthorized(): ServiceError {
  return new ServiceError('unauthorized', undefined, { headers: { 'www-authenticate': 'Bearer' } });
}

/** Counts a request against its key, or its address without a valid one, and says so in the headers. */
function createCounter(app: FastifyInstance, perMinute: number) {
  const count = app.createRateLimit({
    max: perMinute,
    timeWindow: windowMs,
    keyGenerator: (request) => request.caller?.keyId ?? addressBucket(request.ip),
  });
  return async (request: FastifyRequest, reply: FastifyReply): Promise<ServiceError | null> => {
    const usage = await count(request);
    if (usage.isAllowed) return null;
    reply.header('x-ratelimit-limit', perMinute);
    reply.header('x-ratelimit-remaining', Math.max(0, usage.remaining));
    // Seconds since 1970, as GitHub's API has it.
    reply.header('x-ratelimit-reset', Math.ceil((Date.now() + usage.ttl) / 1000));
    if (!usage.isExceeded) return null;
    return new ServiceError('rate_limited', `More than ${perMinute} requests in a minute.`, {
      headers: { 'retry-after': String(Math.max(1, usage.ttlInSeconds)) },
    });
  };
}

/** One subscriber has a whole /64 of IPv6 addresses; they count as one. */
function addressBucket(address: string): string {
  if (!isIPv6(address)) return address;
  const parsed = ipaddr.parse(address) as ipaddr.IPv6;
  if (parsed.isIPv4MappedAddress()) return parsed.toIPv4Address().toString();
  return parsed.parts.slice(0, 4).join(':');
}
