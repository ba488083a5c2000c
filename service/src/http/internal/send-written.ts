import type { FastifyReply } from 'fastify';
import { entryOf } from './entry-of.ts';

/** Answers a write with what is there now, and the tag to write it again with. */
export function sendWritten(reply: FastifyReply, data: object): FastifyReply {
  const { body, etag } = entryOf(data);
  return reply.headers({ etag, 'content-type': 'application/json; charset=utf-8' }).send(body);
}
