import type { FastifyReply } from 'fastify';
import { entryOf } from './entry-of.ts';

/** Responds to a write with the current entry and its tag for the next write. */
export function sendWritten(reply: FastifyReply, data: object): FastifyReply {
  const { body, etag } = entryOf(data);
  return reply.headers({ etag, 'content-type': 'application/json; charset=utf-8' }).send(body);
}
