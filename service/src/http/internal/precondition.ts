/** Compares `If-Match` and `If-None-Match` of a write with the current entry (RFC 9110, 13). */
import type { FastifyRequest } from 'fastify';
import { ServiceError } from '../../errors.ts';
import { envelope } from '../../contract/envelope.ts';
import { type Entry, toEntry } from '../responses/response-cache.ts';

/** The returned function throws `precondition_failed`. `current` is null if there is no entry. */
export function preconditionOf({ headers }: FastifyRequest): (current: object | null) => void {
  const ifMatch = headers['if-match'];
  const ifNoneMatch = headers['if-none-match'];
  return (current) => {
    if (ifMatch === undefined && ifNoneMatch === undefined) return;
    const etag = current && entryOf(current).etag;
    if (ifMatch !== undefined && !includesTag(ifMatch, etag)) throw failed('if-match', etag);
    if (ifNoneMatch !== undefined && includesTag(ifNoneMatch, etag))
      throw failed('if-none-match', etag);
  };
}

/** Compares tags strongly: a tag that a proxy has made weak never matches. */
function includesTag(header: string, etag: string | null): boolean {
  if (etag === null) return false;
  return header.trim() === '*' || header.split(',').some((tag) => tag.trim() === etag);
}

function failed(header: string, etag: string | null): ServiceError {
  return new ServiceError(
    'precondition_failed',
    etag === null ? 'There is no such resource.' : undefined,
    { details: { header, etag } },
  );
}

/** A resource as bytes, with the tag that `If-Match` is compared with. */
function entryOf(data: object): Entry {
  return toEntry(0, envelope(data));
}
