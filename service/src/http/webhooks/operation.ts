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
import type { AppLimits } from './app-limits.ts';

export type WebhookDependencies = Omit<TestDependencies, 'webhooks'> & {
  secretBox: SecretBox;
  webhooks: Config['webhooks'];
  appLimits: AppLimits;
};

/** With the app whose webhooks the request is about, and the caller. */
export type WebhookContext = WebhookDependencies & {
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
