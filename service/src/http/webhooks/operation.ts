/**
 * One operation on the webhooks of an app. It is defined once, independent of the caller: `mount.ts` serves it to the
 * app's keys under `/api/v1/webhooks` and to the app's owner under `/portal/api/apps/{appId}/webhooks`.
 */
import type { Static, TSchema } from 'typebox';
import type { Actor } from '../../access/actor.ts';
import type { Config } from '../../config.ts';
import type { SecretBox } from '../../webhooks/sending/secrets.ts';
import type { TestDependencies } from '../../webhooks/management/test-webhook.ts';
import type { oneOf } from '../responses.ts';
import type { AppLimits } from './app-limits.ts';

export type WebhookDependencies = Omit<TestDependencies, 'webhooks'> & {
  secretBox: SecretBox;
  webhooks: Config['webhooks'];
  appLimits: AppLimits;
};

/** The app whose webhooks the request is about, and the caller. */
export type Caller = { appId: string; actor: Actor };

type Inputs<Query extends TSchema, Body extends TSchema> = {
  /** The parameters of the path. */
  params: { id: string; deliveryId: string };
  query: Static<Query>;
  body: Static<Body>;
};

export type Operation<Query extends TSchema = TSchema, Body extends TSchema = TSchema> = {
  operationId: string;
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** The path below the app's webhooks: empty, `/:id` and so on. */
  path: string;
  summary: string;
  description: string;
  query?: Query;
  body?: Body;
  /** A request without a body counts as one with `{}`. */
  bodyOptional?: boolean;
  /** Default: 200. */
  status?: 201 | 202;
  responseDescription: string;
  response: ReturnType<typeof oneOf>;
  /** Whether it can fail with `conflict`. */
  conflicts?: boolean;
  /** Returns the body of the response. */
  run(context: WebhookDependencies & Caller & Inputs<Query, Body>): Promise<object>;
};

/** Gives `run` the types of the operation's query and body. */
export function operation<Query extends TSchema, Body extends TSchema>(
  definition: Operation<Query, Body>,
): Operation {
  return definition;
}
