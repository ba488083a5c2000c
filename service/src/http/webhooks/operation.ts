/**
 * One operation on the webhooks of an app. It is defined once, without saying who may ask: `mount.ts` serves it to the
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

/** Whose webhooks the request is about, and who makes it. */
export type Caller = { appId: string; actor: Actor };

type Inputs<Query extends TSchema, Body extends TSchema> = {
  /** Those that the path has. */
  params: { id: string; deliveryId: string };
  query: Static<Query>;
  body: Static<Body>;
};

export type Operation<Query extends TSchema = TSchema, Body extends TSchema = TSchema> = {
  operationId: string;
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below the webhooks of the app: empty, or `/:id` and so on. */
  path: string;
  summary: string;
  description: string;
  query?: Query;
  body?: Body;
  /** Without a body the request counts as one with `{}`. */
  bodyOptional?: boolean;
  /** 200 unless given. */
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
