/**
 * Admits requests: maintenance, key, rate limit, scope, in the order of docs/reference/errors-and-limits.md#order-of-checks.
 * Routes declare their scope in `config`. 404 and 405 are decided before this, bodies are read after it.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { KeyCache } from '../../access/key-cache.ts';
import type { Caller, KeyScope } from '../../access/keys.ts';
import { refuseSuspended } from '../../access/suspensions.ts';
import { ServiceError } from '../../errors.ts';
import type { Health } from '../../system/health.ts';
import {
  addressBucket,
  createRequestCounter,
  minuteMs,
  secondsUntil,
  type Usage,
} from './rate-limit.ts';
import { within } from '../within.ts';
import { patienceMs, type KeyCounterDependencies, KeyCounter } from './key-counter.ts';
import { isNear, RateNotices } from '../../access/quotas.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Absent: not an operation, always admitted. Null: no key needed. */
    scope?: KeyScope | null;
    /** Whether it works during maintenance. */
    duringMaintenance?: boolean;
  }
  interface FastifyRequest {
    caller: Caller | null;
  }
}

export type AdmitDependencies = KeyCounterDependencies & {
  keyCache: KeyCache;
  health: Health;
  rateLimitPerMinute: number;
};

export function registerAdmission(app: FastifyInstance, dependencies: AdmitDependencies): void {
  const { keyCache, health, rateLimitPerMinute } = dependencies;
  app.decorateRequest('caller', null);
  const count = createCallerCounter(rateLimitPerMinute, dependencies);

  // Callbacks instead of promises: a request with a known key waits for nothing, and each promise would cost it a
  // microsecond.
  app.addHook('onRequest', (request, reply, done) => {
    const { scope, duringMaintenance } = request.routeOptions.config;
    // Runs before the body is read: an unknown address gets a 404 whatever its body is.
    if (request.is404) throw new ServiceError('not_found');
    if (scope === undefined) return done();
    if (!duringMaintenance) rejectDuringMaintenance(health);
    const key = presentedKey(request);
    const found = key === null ? null : keyCache.authenticate(key);
    if (!(found instanceof Promise)) return admit(request, reply, scope, found, done);
    // Operations without a key work while the database is away or silent, even if the caller sends a key.
    const known = scope === null ? within(patienceMs, found) : found;
    // oxlint-disable-next-line promise/no-callback-in-promise -- a Fastify hook uses one callback for both cases
    known.then((caller) => admit(request, reply, scope, caller ?? null, done)).catch(done);
  });

  function admit(
    request: FastifyRequest,
    reply: FastifyReply,
    scope: KeyScope | null,
    caller: Caller | null,
    done: () => void,
  ): void {
    request.caller = caller;
    const usage = count(request, caller);
    if (!(usage instanceof Promise)) return check(request, reply, scope, usage, done);
    // oxlint-disable-next-line promise/no-callback-in-promise -- as above
    usage.then((counted) => check(request, reply, scope, counted, done)).catch(done);
  }

  function check(
    request: FastifyRequest,
    reply: FastifyReply,
    scope: KeyScope | null,
    usage: CallerUsage | null,
    done: () => void,
  ): void {
    const exceeded = usage && applyUsage(reply, usage);
    if (scope !== null && request.caller === null) throw unauthorized();
    if (exceeded) throw exceeded;
    if (scope !== null) requireRights(request.caller, scope);
    done();
  }
}

/** Returns the caller of a route that requires a scope. */
export function callerOf({ caller }: FastifyRequest): Caller & { appId: string } {
  if (!caller || caller.appId === null) throw unauthorized();
  return { ...caller, appId: caller.appId };
}

/** Throws `suspended` and `forbidden`. */
export function requireRights(caller: Caller | null, scope: KeyScope): void {
  if (caller?.suspension) refuseSuspended(caller.suspension.kind, caller.suspension);
  if (caller?.scopes.has(scope)) return;
  throw new ServiceError('forbidden', `The API key lacks the scope ${scope}.`, {
    details: { requiredScope: scope },
  });
}

/** The bounds of `Retry-After`, whatever end was announced. */
export const maintenanceRetrySeconds = { least: 30, most: 3_600 };

export function rejectDuringMaintenance(health: Health): void {
  const { maintenance } = health.snapshot();
  if (!maintenance) return;
  const leftMs =
    maintenance.expectedEnd === null ? 0 : Date.parse(maintenance.expectedEnd) - Date.now();
  const { least, most } = maintenanceRetrySeconds;
  const retryAfter = Math.ceil(Math.min(Math.max(leftMs / 1000, least), most));
  throw new ServiceError('maintenance', maintenance.message ?? undefined, {
    details: { since: maintenance.since, expectedEnd: maintenance.expectedEnd },
    headers: { 'retry-after': String(retryAfter) },
  });
}

export function presentedKey(request: FastifyRequest): string | null {
  const { authorization } = request.headers;
  if (authorization !== undefined) return /^bearer +(\S+)$/i.exec(authorization)?.[1] ?? null;
  const alias = request.headers['x-api-key'];
  return typeof alias === 'string' ? alias.trim() : null;
}

/** The `security` of an operation that requires a key. */
export const keySecurity = [{ bearer: [] }, { apiKey: [] }];

export function unauthorized(): ServiceError {
  return new ServiceError('unauthorized', undefined, { headers: { 'www-authenticate': 'Bearer' } });
}

export type Limit = ReturnType<typeof createLimit>;

/** Counts a request of the site for its user, or else for its address, in this process. `perMinute` 0: requests are not limited. */
export function createLimit(perMinute: number) {
  const countUser = createRequestCounter(perMinute, minuteMs, { bucketsMax: Infinity });
  const countAddress = createRequestCounter(perMinute);
  return (request: FastifyRequest, reply: FastifyReply, userId: string | null) => {
    if (perMinute === 0) return null;
    const usage = userId === null ? countAddress(addressBucket(request.ip)) : countUser(userId);
    return applyUsage(reply, { ...usage, perMinute, scope: null });
  };
}

/** Sets the rate limit headers. */
function applyUsage(reply: FastifyReply, usage: CallerUsage): ServiceError | null {
  const { perMinute, scope } = usage;
  reply.header('x-ratelimit-limit', perMinute);
  reply.header('x-ratelimit-remaining', usage.remaining);
  // Seconds since 1970, as in GitHub's API.
  reply.header('x-ratelimit-reset', Math.ceil(usage.resetAt / 1000));
  if (scope !== null) reply.header('x-ratelimit-scope', scope);
  if (!usage.exceeded) return null;
  const whose = scope === 'app' ? ' with all keys of the app' : '';
  const message = `Rate limit exceeded: ${perMinute} requests per minute${whose}.`;
  return new ServiceError('rate_limited', message, {
    headers: { 'retry-after': String(secondsUntil(usage.resetAt)) },
  });
}

/** The limit that has fewer requests left, or that is exceeded. */
type CallerUsage = Usage & {
  perMinute: number;
  /** Null: that of an address. */
  scope: 'key' | 'app' | null;
};
/** Null: the request is not limited. */
type Count = (
  request: FastifyRequest,
  caller: Caller | null,
) => CallerUsage | Promise<CallerUsage> | null;

/** How many keys an app can use fully. */
const keysPerApp = 2;

/**
 * Counts a request for its key and for the app of the key, or for the app alone if it has a rate of its own, or else for its
 * address. `perMinute` 0: only apps are limited whose rate the operator has set.
 */
function createCallerCounter(perMinute: number, dependencies: KeyCounterDependencies): Count {
  const keys = new KeyCounter(perMinute, dependencies);
  const appsByRate = new Map<number, KeyCounter>();
  const countAddress = createRequestCounter(perMinute);
  const notices = new RateNotices(dependencies.database);

  return ({ ip }, caller) => {
    if (caller !== null && caller.appId !== null && caller.rate !== null) {
      const { appId, rate } = caller;
      return later(appsOf(rate).count(appId), (usage) => ofApp(appId, usage, rate));
    }
    if (perMinute === 0) return null;
    if (caller === null) return { ...countAddress(addressBucket(ip)), perMinute, scope: null };
    const { keyId, appId } = caller;
    const byKey = keys.count(keyId);
    // A key of the platform.
    if (appId === null) return later(byKey, ofKey);
    const byApp = appsOf(keysPerApp * perMinute).count(appId);
    if (!(byKey instanceof Promise) && !(byApp instanceof Promise))
      return choose(keyId, byKey, appId, byApp);
    return Promise.all([byKey, byApp]).then(([key, app]) => choose(keyId, key, appId, app));
  };

  function appsOf(rate: number): KeyCounter {
    let apps = appsByRate.get(rate);
    if (!apps) appsByRate.set(rate, (apps = new KeyCounter(rate, dependencies)));
    return apps;
  }

  /** A request that one limit refuses counts towards neither. */
  function choose(keyId: string, byKey: Usage, appId: string, byApp: Usage): CallerUsage {
    const rate = keysPerApp * perMinute;
    if (byKey.exceeded && !byApp.exceeded) appsOf(rate).giveBack(appId, byApp);
    if (byApp.exceeded && !byKey.exceeded) keys.giveBack(keyId, byKey);
    const used = perMinute - byKey.remaining;
    if (isNear(used, perMinute)) notices.note(appId, { used, limit: perMinute, ofKey: true });
    if (byKey.exceeded) return ofKey(byKey);
    const app = ofApp(appId, byApp, rate);
    return byApp.exceeded || byApp.remaining < byKey.remaining ? app : ofKey(byKey);
  }

  function ofKey(usage: Usage): CallerUsage {
    return { ...usage, perMinute, scope: 'key' };
  }

  function ofApp(appId: string, usage: Usage, rate: number): CallerUsage {
    const used = rate - usage.remaining;
    if (isNear(used, rate)) notices.note(appId, { used, limit: rate });
    return { ...usage, perMinute: rate, scope: 'app' };
  }
}

function later<T, U>(value: T | Promise<T>, act: (value: T) => U): U | Promise<U> {
  return value instanceof Promise ? value.then(act) : act(value);
}
