/** Query options for reads. The first part of a key is the path, so that a write can name the reads it changes. */
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { call, type Call, type EditedEnvelope, type Envelope, type Query } from './call.ts';
import type { CursorPagination, Pagination } from './types.ts';

export type Page<Entry> = { entries: Entry[]; pagination: Pagination };

export const sessionKey = ['/session', {}] as const;

export function read<T>(path: string, query: Query = {}) {
  return queryOptions({
    queryKey: [path, query] as const,
    queryFn: async ({ signal }) => (await call<Envelope<T>>({ path, query, signal })).data,
  });
}

/** Reads one page of a list. The previous page stays on the screen while the next one loads. */
export function readPage<Entry>(path: string, query: Query = {}) {
  return queryOptions({
    queryKey: [path, query] as const,
    queryFn: async ({ signal }): Promise<Page<Entry>> => {
      const { data, pagination } = await call<Envelope<Entry[]>>({ path, query, signal });
      return {
        entries: data,
        pagination: pagination ?? {
          page: 1,
          limit: data.length,
          total: data.length,
          totalPages: 1,
        },
      };
    },
    placeholderData: keepPreviousData,
  });
}

export type OlderPage<Entry> = { data: Entry[]; pagination: CursorPagination };

/** Reads a page of a list without a total, newest first. `before` in the query is the `nextCursor` of the page before. */
export function readOlder<Entry>(path: string, query: Query = {}) {
  return queryOptions({
    queryKey: [path, query] as const,
    queryFn: ({ signal }) => call<OlderPage<Entry>>({ path, query, signal }),
    placeholderData: keepPreviousData,
  });
}

/** What a form edits, and the version that was read. */
export type Edited<T> = { value: T; etag: string | null };

/** Reads what a form edits. Not from the cache: a form must not begin with old values. */
export function readEdited<T>(path: string) {
  return queryOptions({
    queryKey: [path, {}] as const,
    queryFn: ({ signal }) => callEdited<T>({ path, signal }),
    gcTime: 0,
  });
}

export async function callEdited<T>(request: Call): Promise<Edited<T>> {
  const { data, etag } = await call<EditedEnvelope<T>>({ ...request, isEdited: true });
  return { value: data, etag };
}
