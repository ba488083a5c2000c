/** Converts between database rows and API entries by the tables of fields. */
import type { TSchema } from 'typebox';
import { v7 as uuidv7 } from 'uuid';
import type { Fields } from '../contract/field.ts';
import { toUtc } from '../contract/parse-time.ts';
import type { FieldColumn } from './columns.ts';
import { foldText, searchText } from './fold-text.ts';

export type Row = Record<string, unknown>;

/** The result of a write: `announced` is set for entries that are now public for the first time. */
export type Written = { id: string; created: boolean; announced: boolean };

/** Creates a function that reads an entry from a row. Fields without a column come from `others`. */
export function rowReader<Entry>(fields: Fields): (row: Row, others: Row) => Entry {
  const steps = Object.entries(fields).map(([name, { column, type, schema }]) => ({
    name,
    column,
    read: readerOf(type, schema),
  }));
  return (row, others) => {
    const entry: Row = {};
    for (const { name, column, read } of steps)
      entry[name] = column === undefined ? others[name] : read(row[column]);
    return entry as Entry;
  };
}

/** The values of the columns that store a field as it is. */
export function toRow(columns: FieldColumn[], input: Row): Row {
  return Object.fromEntries(
    columns.map(({ name, column, type }) => [column, toColumn(type, input[name])]),
  );
}

function toColumn(type: string, value: unknown): unknown {
  return type === 'timestamptz(3)' && typeof value === 'string' ? toUtc(value) : value;
}

/** The values of `computedColumns`; `search` lists the fields that a search looks in. */
export function computedValues(input: Row & { name: string }, search: string[]): Row {
  const texts = search.flatMap((name) => textsOf(input[name]));
  return { id: uuidv7(), name_sort: foldText(input.name), search_text: searchText(...texts) };
}

function textsOf(value: unknown): (string | null)[] {
  if (Array.isArray(value)) return value.flatMap(textsOf);
  if (typeof value !== 'object' || value === null) return [value as string | null];
  const { item, name } = value as { item: string; name: string };
  return [item, name];
}

type Reader = (value: unknown) => unknown;

function readerOf(type: string | undefined, schema: TSchema): Reader {
  if (type === 'timestamptz(3)') return (value) => (value as Date | null)?.toISOString() ?? null;
  return type === 'jsonb' ? jsonReader(schema) : (value) => value;
}

/** `jsonb` does not keep the order of keys and may lack some; a response has all of them in the order of the schema. */
function jsonReader(schema: TSchema): Reader {
  const { items, properties } = schema as {
    items?: TSchema;
    properties?: Record<string, TSchema>;
  };
  if (items) {
    const read = jsonReader(items);
    return (value) => (value as unknown[]).map(read);
  }
  if (!properties) return (value) => value ?? null;
  const parts = Object.entries(properties).map(([name, part]) => [name, jsonReader(part)] as const);
  return (value) => {
    const object: Row = {};
    for (const [name, read] of parts) object[name] = read((value as Row)[name]);
    return object;
  };
}
