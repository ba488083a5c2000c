/** Requests that can be repeated with an `Idempotency-Key` after their response was lost. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { repeatableMinutes } from '../contract/periods.ts';
import { exampleId } from '../contract/examples.ts';
import { idempotencyKey } from '../contract/shapes.ts';

/** `outcome`: what the same request with the same key does. */
export const repeatableHeaders = (outcome: string) =>
  Type.Object({
    'idempotency-key': Type.Optional(
      idempotencyKey(
        `A value of your own that makes it safe to repeat the request: within ${repeatableMinutes} minutes, ${outcome}`,
        exampleId,
      ),
    ),
  });

export const CreationHeaders = repeatableHeaders(
  'your same request with the same key makes nothing new.',
);

/** For the descriptions of operations of the portal and the console. */
export const repeatable = `With an \`Idempotency-Key\` the request can be repeated for ${repeatableMinutes} minutes: it makes nothing new, and the response has the header \`Idempotent-Replayed: true\`. With another body it is a \`conflict\`.`;

export function idempotencyKeyOf({ headers }: FastifyRequest): string | undefined {
  return headers['idempotency-key'] as string | undefined;
}

export function tellRepeated(reply: FastifyReply, isRepeated: boolean): void {
  if (isRepeated) reply.header('idempotent-replayed', 'true');
}
