/** How sections are found. The build and the browser need the same options. */
import type { Options } from 'minisearch';

export type Found = { id: string; page: string; title: string };

export const searchOptions: Options = {
  fields: ['title', 'page', 'text'],
  storeFields: ['page', 'title'],
  searchOptions: { boost: { title: 4, page: 2 }, prefix: true, fuzzy: 0.15, combineWith: 'AND' },
};
