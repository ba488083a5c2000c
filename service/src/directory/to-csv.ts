/** Writes entries as CSV that `readCsv` reads back. Columns are the names of fields, `links.website` for a nested one. */
import { stringify } from 'csv-stringify/sync';
import type { TSchema } from 'typebox';

/** The columns of a schema, in its order. */
export function csvColumns(schema: TSchema): string[] {
  return Object.entries(propertiesOf(schema)).flatMap(([name, field]) => {
    const inner = Object.keys(propertiesOf(field));
    return inner.length === 0 ? [name] : inner.map((each) => `${name}.${each}`);
  });
}

function propertiesOf(schema: TSchema): Record<string, TSchema> {
  return (schema as { properties?: Record<string, TSchema> }).properties ?? {};
}

/** The lines without the header. Null and an empty list become an empty cell, which an import reads as left out. */
export function toCsv(entries: object[], columns: string[]): string {
  return stringify(entries, {
    columns,
    cast: { boolean: String, object: (words) => Object.values(words).join(' ') },
    // Some programs trim such cells unless they are quoted.
    quoted_match: /^\s|\s$/,
  });
}
