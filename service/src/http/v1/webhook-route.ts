/** What the routes of one app's webhooks have in common. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { uuid } from '../../contract/shapes.ts';
import { ServiceError } from '../../errors.ts';
import { createRequestCounter, minuteMs, secondsUntil } from '../request-counter.ts';
import { toEntry } from '../response-cache.ts';
import { keyedCacheControl, sendEntry } from '../send-entry.ts';

export const common = { tags: ['Webhooks'], security: [{ bearer: [] }, { apiKey: [] }] };
export const config = { scope: 'write:webhooks' } as const;
export const params = Type.Object({ id: uuid({ description: 'Of the webhook.' }) });
export const deliveryParams = Type.Object({
  id: uuid({ description: 'Of the webhook.' }),
  deliveryId: uuid({ description: 'Of the delivery.' }),
});
export const noQuery = Type.Object({}, { additionalProperties: false });

/** A read that differs from app to app: not cached here, but its caller may ask whether it has changed. */
export function sendRead(
  request: FastifyRequest,
  reply: FastifyReply,
  content: object,
): ReturnType<typeof sendEntry> {
  return sendEntry(request, reply, toEntry(0, content), keyedCacheControl);
}

/** A route whose body is optional: without one it is an empty object. */
export async function withEmptyBody(request: FastifyRequest): Promise<void> {
  request.body ??= {};
}

/** SPEC 4. */
export const testsPerMinute = 10;
export const redeliveriesPerMinute = 60;

/** What an app may do in a minute, in this process, whoever asks for it: a key of its own, or its owner in the portal. */
export type AppLimits = ReturnType<typeof createAppLimits>;

export function createAppLimits() {
  return {
    tests: createAppLimit(testsPerMinute, 'tests'),
    redeliveries: createAppLimit(redeliveriesPerMinute, 'redeliveries'),
  };
}

function createAppLimit(perMinute: number, what: string): (appId: string) => void {
  const count = createRequestCounter(perMinute, minuteMs, { bucketsMax: Infinity });
  return (appId) => {
    const { exceeded, resetAt } = count(appId);
    if (!exceeded) return;
    throw new ServiceError('rate_limited', `More than ${perMinute} ${what} in a minute.`, {
      headers: { 'retry-after': String(secondsUntil(resetAt)) },
    });
  };
}
