/** Sends bytes with their tag, compressed if they are public, or 304 if the caller has them already. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { findCompressed, tagsOf, type Compressed } from './codings.ts';
import type { Entry } from './response-cache.ts';

/** For responses that require a key: only the caller may store them, and must revalidate them. */
export const keyedCacheControl = 'private, max-age=0, must-revalidate';

export function sendEntry(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  entry: Entry,
  cacheControl = keyedCacheControl,
  contentType = 'application/json; charset=utf-8',
): FastifyReply {
  const { codings } = entry;
  reply.header('cache-control', cacheControl);
  if (codings) {
    const vary = reply.getHeader('vary');
    reply.header('vary', vary ? `${String(vary)}, Accept-Encoding` : 'Accept-Encoding');
  }
  const seen = headers['if-none-match'];
  const matched = seen === undefined ? null : findTag(seen, entry.etag);
  if (matched !== null) return reply.header('etag', matched).code(304).send();
  reply.header('content-type', contentType);
  const found = codings ? findCompressed(entry, codings, headers['accept-encoding']) : null;
  if (!(found instanceof Promise)) return sendAs(reply, entry, found);
  void found.then((compressed) => sendAs(reply, entry, compressed));
  return reply;
}

function sendAs(reply: FastifyReply, entry: Entry, compressed: Compressed | null): FastifyReply {
  if (!compressed) return reply.header('etag', entry.etag).send(entry.body);
  const { coding, etag, body } = compressed;
  return reply.header('content-encoding', coding).header('etag', etag).send(body);
}

/**
 * Returns the tag that the caller has, of any coding, or null. RFC 9110, 13.1.2: a list of tags or `*`. Tags are compared
 * weakly, because proxies that compress make them weak.
 */
export function findTag(header: string, etag: string): string | null {
  if (header === etag || header.trim() === '*') return etag;
  const seen = new Set(header.split(',').map((tag) => opaqueOf(tag.trim())));
  return tagsOf(etag).find((tag) => seen.has(opaqueOf(tag))) ?? null;
}

function opaqueOf(tag: string): string {
  return tag.replace(/^W\//, '');
}
