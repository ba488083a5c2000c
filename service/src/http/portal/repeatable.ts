/** Creations that can be repeated with an `Idempotency-Key` after their response was lost. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { repeatableMinutes } from '../../contract/periods.ts';
import { idempotencyKey } from '../../contract/shapes.ts';

export const CreationHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    idempotencyKey(
      `A value of your own that makes it safe to repeat the request: within ${repeatableMinutes} minutes, your same request with the same key makes nothing new.`,
      '0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f',
    ),
  ),
});

/** For the descriptions of such operations. */
export const repeatable = `With an \`Idempotency-Key\` the request can be repeated for ${repeatableMinutes} minutes: it makes nothing new, and the response has the header \`Idempotent-Replayed: true\`. With another body it is a \`conflict\`.`;

export function idempotencyKeyOf({ headers }: FastifyRequest): string | undefined {
  return headers['idempotency-key'] as string | undefined;
}

export function tellRepeated(reply: FastifyReply, isRepeated: boolean): void {
  if (isRepeated) reply.header('idempotent-replayed', 'true');
}
