/** How sections are found. The build and the browser need the same options. */
import type { Options } from 'minisearch';

/** `kind`: of the page, such as `Guide`. */
export type Found = { id: string; page: string; kind: string; title: string; text: string };

export const searchOptions: Options = {
  fields: ['title', 'page', 'text'],
  storeFields: ['page', 'kind', 'title', 'text'],
  searchOptions: { boost: { title: 4, page: 2 }, prefix: true, fuzzy: 0.15, combineWith: 'AND' },
};
