/** What `meta` of a list says of its entries. */
import { Type, type Static } from 'typebox';
import { strictObject, slug, enumOf, boolean, text } from './shapes.ts';

const FacetValue = strictObject(
  {
    value: Type.String({ description: 'A value that the filter of the same name accepts.' }),
    count: Type.Integer({ minimum: 1, description: 'The number of entries with this value.' }),
  },
  { title: 'FacetValue', description: 'A value and its number of entries.' },
);

/** The schema of `meta.facets`. */
export function facetsSchema(names: readonly string[], title: string) {
  const values = Type.Array(FacetValue, {
    description: 'At most 100 values, the most frequent first.',
  });
  return strictObject(Object.fromEntries(names.map((name) => [name, Type.Optional(values)])), {
    title,
    description: 'The requested facets, over all entries that the request matches.',
  });
}

/** The query parameter: names separated by commas. */
export function facetsQuery(names: readonly string[]) {
  const name = `(${names.join('|')})`;
  return Type.Optional(
    Type.String({
      pattern: `^${name}(,${name})*$`,
      maxLength: 100,
      description: `Facets to count under \`meta.facets\`, separated by commas: ${names.map((each) => `\`${each}\``).join(', ')}.`,
      examples: [names.slice(0, 2).join(',')],
    }),
  );
}

/** The names of the requested facets, each once. */
export function requestedFacets(names: string): string[] {
  return [...new Set(names.split(','))];
}

/** What has changed since a cursor: `meta.changes` of a list with `changedSince`. */
export const ChangesMeta = strictObject(
  {
    removed: Type.Array(Type.String({ format: 'uuid' }), {
      description: 'The ids of entries that are not public any more.',
    }),
    nextCursor: Type.String({
      description: 'Send it as `changedSince` to get the next changes, now or later.',
    }),
    hasMore: boolean('Whether there are more changes now.'),
  },
  {
    title: 'ChangesMeta',
    description: 'What else has changed. Absent without `changedSince`.',
  },
);

/** How a search found the entries of a page: `meta.search`. */
export const FoundBy = strictObject(
  {
    relaxed: boolean('Whether nothing had all words, so that the search found something like it.'),
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

export const Suggestion = strictObject(
  {
    kind: enumOf(['organization', 'alliance', 'blueprint'], 'The kind of entry.'),
    slug: slug({ description: 'The unique name in URLs, among entries of its kind.' }),
    name: text('The name.', 'Acme Corporation'),
  },
  { title: 'Suggestion', description: 'An entry of the directory that matches a text.' },
);
export type Suggestion = Static<typeof Suggestion>;
