/**
 * The operations on the webhooks of an app, which two surfaces serve: `/api/v1/webhooks` to the app's keys and
 * `/portal/api/apps/{appId}/webhooks` to the app's members.
 */
import type { Actor } from '../../access/actor.ts';
import type { Config } from '../../settings/config.ts';
import { uuid } from '../../contract/shapes.ts';
import type { Change } from '../../database/database.ts';
import type { SecretBox } from '../../runtime/secret-box.ts';
import type { TestDependencies } from '../../webhooks/management/test-webhook.ts';
import { operationFor } from '../operations.ts';
import { ServiceError } from '../../errors.ts';
import { createRequestCounter, minuteMs, secondsUntil } from '../admission/rate-limit.ts';

export type WebhookDependencies = Omit<TestDependencies, 'webhooks'> & {
  secretBox: SecretBox;
  webhooks: Config['webhooks'];
  appLimits: AppLimits;
};

/** With the app whose webhooks the request is about, and the caller. */
type WebhookContext = WebhookDependencies & {
  appId: string;
  actor: Actor;
  /** Whether the caller may read everything, or no paths of URLs, no responses and no bodies of internal events. */
  readsSecrets: boolean;
  change: Change;
  /** Throws `proof_required` if the caller has not proved recently who they are. Absent for keys. */
  requireProof?: () => void;
};

export const operation = operationFor<WebhookContext>();

export const parameters = {
  appId: uuid({ description: 'The id of the app.' }),
  id: uuid({ description: 'The id of the webhook.' }),
  eventId: uuid({ description: 'The id of the event.' }),
  deliveryId: uuid({ description: 'The id of the delivery.' }),
};

/** docs/reference/errors-and-limits.md#rate-limits */
export const testsPerMinute = 10;
export const redeliveriesPerMinute = 60;
/** Each is kept for good in the audit log. In the portal, what is of no app is limited by the account. */
export const changesPerMinute = 120;
/** Each reads up to 10,000 bodies. A page of the portal repeats its search every 10 seconds. */
export const bodySearchesPerMinute = 30;

export type AppLimits = ReturnType<typeof createAppLimits>;

/**
 * Limits on what costs more than a request: per app and process, shared by the app's keys and its members in the portal. Each
 * counts one use by an app and throws `rate_limited` if the app has used up its minute.
 */
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
