/** Counts of the values that the entries of a list have. */
import { Type } from 'typebox';
import { strictObject } from './shapes.ts';

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
export function requestedFacets(text: string): string[] {
  return [...new Set(text.split(','))];
}
