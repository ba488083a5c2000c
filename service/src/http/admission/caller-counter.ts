/** Counts a request for its key and for the app of the key, or for the app alone if it has a rate of its own, or else for its address. */
import type { FastifyRequest } from 'fastify';
import type { Caller } from '../../access/keys.ts';
import { isNear, RateNotices } from '../../access/quotas.ts';
import { KeyCounter, type KeyCounterDependencies } from './key-counter.ts';
import { addressBucket, createRequestCounter, type Usage } from './rate-limit.ts';

/** The limit that has fewer requests left, or that is exceeded. */
export type CallerUsage = Usage & {
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

/** `perMinute` 0: only apps are limited whose rate the operator has set. */
export function createCallerCounter(
  perMinute: number,
  dependencies: KeyCounterDependencies,
): Count {
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
