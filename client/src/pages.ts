import type { Pagination } from './types.ts';

/** A page of a list and its position. */
export type Page<T> = { data: T[]; pagination: Pagination };

/** The query of a list without its start. `limit` is the number of entries per request. */
export type AllQuery<Q> = Omit<Q, 'page' | 'after' | 'changedSince'>;

/** An undefined parameter is omitted. One that may be repeated takes a single value, too. */
export type Loose<Q> = {
  [Name in keyof Q]?: Q[Name] | undefined | (string[] extends Q[Name] ? string : never);
};

/** The API's maximum, for as few requests as possible. */
export const pageLimitMax = 100;

/** TypeScript refuses it in a literal only. With it, there would be a part of the list, and nothing to say so. */
export function refuseParameter(query: object, name: string, instead: string): void {
  const value = (query as Record<string, unknown>)[name] ?? false;
  if (value !== false) throw new TypeError(`${name} cannot be used here: ${instead}`);
}

/** Iterates over a list and reads each page when the loop reaches it. */
export async function* eachEntry<T>(
  read: (page: number) => Promise<Page<T>>,
): AsyncGenerator<T, void, undefined> {
  for (let page = 1; ; page += 1) {
    const { data, pagination } = await read(page);
    yield* data;
    // An empty page ends the loop too: entries may have been deleted since the first page.
    if (page >= pagination.totalPages || data.length === 0) return;
  }
}
