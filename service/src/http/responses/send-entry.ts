/** Sends bytes with their tag, or 304 if the caller has them already. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Entry } from './response-cache.ts';

/** For responses that require a key: only the caller may store them, and must revalidate them. */
const keyedCacheControl = 'private, max-age=0, must-revalidate';

export function sendEntry(
  request: FastifyRequest,
  reply: FastifyReply,
  entry: Entry,
  cacheControl = keyedCacheControl,
  contentType = 'application/json; charset=utf-8',
): FastifyReply {
  reply.header('etag', entry.etag);
  reply.header('cache-control', cacheControl);
  const seen = request.headers['if-none-match'];
  if (seen !== undefined && (seen === entry.etag || matches(seen, entry.etag)))
    return reply.code(304).send();
  reply.header('content-type', contentType);
  return reply.send(entry.body);
}

/** RFC 9110, 13.1.2: a list of tags or `*`. Tags are compared weakly, because proxies that compress make them weak. */
function matches(header: string, etag: string): boolean {
  if (header.trim() === '*') return true;
  return header.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}
