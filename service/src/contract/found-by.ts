/** How a search found the entries of a page: `meta.search`. */
import { Type, type Static } from 'typebox';
import { strictObject } from './shapes.ts';

export const FoundBy = strictObject(
  {
    relaxed: Type.Boolean({
      description: 'Whether nothing had all words, so that the search found something like it.',
    }),
    ignored: Type.Array(Type.String(), {
      description: 'The words that a relaxed search left out, in lower case and without accents.',
    }),
    typos: Type.Array(Type.String({ format: 'uuid' }), {
      description: 'The ids of the entries on this page in which a word has a typo.',
    }),
  },
  {
    title: 'SearchMeta',
    description: 'How the search found these entries. Absent without `search`.',
  },
);
export type FoundBy = Static<typeof FoundBy>;
