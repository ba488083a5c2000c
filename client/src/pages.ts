import type { Pagination } from './types.ts';

/** A part of a list, and where in the list it is. */
export type Page<T> = { data: T[]; pagination: Pagination };

/** What a list can be asked for, but for where to begin. `limit` is how many are read at once. */
export type AllQuery<Q> = Omit<Q, 'page' | 'after'>;

/** A parameter that is undefined is one that is left out. */
export type Loose<Q> = { [Name in keyof Q]?: Q[Name] | undefined };

/** As few requests as can be. */
export const pageLimitMax = 100;

/** Every entry of a list, page after page: each is read when the loop comes to it. */
export async function* eachEntry<T>(
  read: (page: number) => Promise<Page<T>>,
): AsyncGenerator<T, void, undefined> {
  for (let page = 1; ; page += 1) {
    const { data, pagination } = await read(page);
    yield* data;
    // An empty page too: entries may have gone since the first was read.
    if (page >= pagination.totalPages || data.length === 0) return;
  }
}
