/** Limits on what costs more than a request: per app and process, shared by the app's keys and its members in the portal. */
import { ServiceError } from '../../errors.ts';
import { createRequestCounter, minuteMs, secondsUntil } from '../admission/rate-limit.ts';

/** docs/reference/errors-and-limits.md#rate-limits */
export const testsPerMinute = 10;
export const redeliveriesPerMinute = 60;
/** Each is kept for good in the audit log. In the portal, what is of no app is limited by the account. */
export const changesPerMinute = 120;
/** Each reads up to 10,000 bodies. A page of the portal repeats its search every 10 seconds. */
export const bodySearchesPerMinute = 30;

export type AppLimits = ReturnType<typeof createAppLimits>;

/** Each limit counts one use by an app and throws `rate_limited` if the app has used up its minute. */
export function createAppLimits() {
  return {
    tests: createAppLimit(testsPerMinute, 'tests'),
    changes: createAppLimit(changesPerMinute, 'changes'),
    redeliveries: createAppLimit(redeliveriesPerMinute, 'redeliveries'),
    bodySearches: createAppLimit(bodySearchesPerMinute, 'searches'),
  };
}

function createAppLimit(perMinute: number, what: string): (appId: string) => void {
  const count = createRequestCounter(perMinute, minuteMs, { bucketsMax: Infinity });
  return (appId) => {
    const { exceeded, resetAt } = count(appId);
    if (!exceeded) return;
    throw new ServiceError(
      'rate_limited',
      `Rate limit exceeded: ${perMinute} ${what} per minute.`,
      {
        headers: { 'retry-after': String(secondsUntil(resetAt)) },
      },
    );
  };
}
