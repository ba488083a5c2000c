/**
 * Reads of the directory as bytes, which the response cache keeps while their revision is current. The API sends them, and
 * the pages of `http/site/` are rendered from them.
 */
import { envelope, pageEnvelope } from '../../contract/envelope.ts';
import type { Replicas } from '../../database/replicas.ts';
import type { Scope } from '../../database/revisions.ts';
import type { SlugTable } from '../../directory/lock-directory.ts';
import {
  listPublic,
  publicEntries,
  readPublic,
  type PublicQueries,
} from '../../directory/public-entries.ts';
import type { Search } from '../../directory/search/search.ts';
import { ServiceError } from '../../errors.ts';
import type { Entry, ResponseCache } from '../responses/response-cache.ts';

export type CachedReads = {
  replicas: Replicas;
  search: Search;
  responseCache: ResponseCache;
  publicUrl: string;
};
export type Paging = { page: number; limit: number };

export function scopeOf(kind: SlugTable): Scope {
  return publicEntries[kind].scope;
}

/** A page of a list. `address` is the URL of the request that these bytes respond to, if they do. */
export function readList(
  { replicas, search, responseCache, publicUrl }: CachedReads,
  kind: SlugTable,
  query: Paging,
  address?: string,
): Entry | Promise<Entry> {
  const scope = scopeOf(kind);
  return responseCache.get({ scope, key: listKey(kind, query), address }, async () => {
    const { revision, foundAt, total, rows, ...found } = await replicas.read(scope, (database) =>
      listPublic({ database, search }, kind, query as PublicQueries[SlugTable], publicUrl),
    );
    const more = Object.entries(found).filter(([, value]) => value !== null);
    const content = pageEnvelope(rows, query, total, Object.fromEntries(more));
    // If they differ, nobody uses the page again.
    return { revision: Math.min(revision, foundAt), content };
  });
}

/** One entry. Throws `not_found`. */
export function readDetail(
  { replicas, responseCache, publicUrl }: CachedReads,
  kind: SlugTable,
  slug: string,
  address?: string,
): Entry | Promise<Entry> {
  const scope = scopeOf(kind);
  return responseCache.get({ scope, key: `/${kind}/:slug ${slug}`, address }, async () => {
    const { revision, row } = await replicas.read(scope, (database) =>
      readPublic(database, kind, slug, publicUrl),
    );
    if (row === null) throw new ServiceError('not_found');
    return { revision, content: envelope(row) };
  });
}

/** Equal queries get equal keys, regardless of the order of their parameters. */
export function listKey(kind: SlugTable, query: object): string {
  return `/${kind} ${JSON.stringify(Object.entries(query).sort(([a], [b]) => (a < b ? -1 : 1)))}`;
}
