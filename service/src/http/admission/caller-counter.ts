/** Counts a request for its key and for the app of the key, or else for its address. */
import type { FastifyRequest } from 'fastify';
import type { Caller } from '../../access/keys.ts';
import { KeyCounter, type KeyCounterDependencies } from './key-counter.ts';
import { addressBucket, createRequestCounter, type Usage } from './rate-limit.ts';

/** The limit that has fewer requests left, or that is exceeded. */
export type CallerUsage = Usage & {
  perMinute: number;
  /** Null: that of an address. */
  scope: 'key' | 'app' | null;
};
type Count = (request: FastifyRequest, caller: Caller | null) => CallerUsage | Promise<CallerUsage>;

/** How many keys an app can use fully. */
const keysPerApp = 2;

export function createCallerCounter(
  perMinute: number,
  dependencies: KeyCounterDependencies,
): Count {
  const keys = new KeyCounter(perMinute, dependencies);
  const perMinuteOfApp = keysPerApp * perMinute;
  const apps = new KeyCounter(perMinuteOfApp, dependencies);
  const countAddress = createRequestCounter(perMinute);

  return ({ ip }, caller) => {
    if (caller === null) return { ...countAddress(addressBucket(ip)), perMinute, scope: null };
    const ofKey = keys.count(caller.keyId);
    // A key of the platform.
    if (caller.appId === null) return later(ofKey, (usage) => toUsage(usage, 'key'));
    const { keyId, appId } = caller;
    const ofApp = apps.count(appId);
    if (!(ofKey instanceof Promise) && !(ofApp instanceof Promise))
      return choose(keyId, ofKey, appId, ofApp);
    return Promise.all([ofKey, ofApp]).then(([key, app]) => choose(keyId, key, appId, app));
  };

  /** A request that one limit refuses counts towards neither. */
  function choose(keyId: string, ofKey: Usage, appId: string, ofApp: Usage): CallerUsage {
    if (ofKey.exceeded && !ofApp.exceeded) apps.giveBack(appId, ofApp);
    if (ofApp.exceeded && !ofKey.exceeded) keys.giveBack(keyId, ofKey);
    if (ofKey.exceeded) return toUsage(ofKey, 'key');
    return ofApp.exceeded || ofApp.remaining < ofKey.remaining
      ? toUsage(ofApp, 'app')
      : toUsage(ofKey, 'key');
  }

  function toUsage(usage: Usage, scope: 'key' | 'app'): CallerUsage {
    return { ...usage, perMinute: scope === 'key' ? perMinute : perMinuteOfApp, scope };
  }
}

function later<T, U>(value: T | Promise<T>, act: (value: T) => U): U | Promise<U> {
  return value instanceof Promise ? value.then(act) : act(value);
}
