/** Converts between database rows and API entries by the tables of fields, and builds lists of their columns for SQL. */
import type { TSchema } from 'typebox';
import { v7 as uuidv7 } from 'uuid';
import type { Fields } from '../contract/field.ts';
import { toUtc } from '../contract/parse-time.ts';
import { foldText, searchText } from './fold-text.ts';
import { sql } from '../database/database.ts';
import type { Sql } from './list.ts';

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

type Column = { column: string; type: string };
/** A column that stores a field as it is; `name` is the field's. */
type FieldColumn = Column & { name: string };

/** The computed columns that every table has. */
export const computedColumns: Column[] = [
  { column: 'id', type: 'uuid' },
  { column: 'name_sort', type: 'text' },
  { column: 'search_text', type: 'text' },
];

export function columnsOf(fields: Fields): FieldColumn[] {
  return Object.entries(fields).flatMap(([name, { column, type }]) =>
    column !== undefined && type !== undefined ? [{ name, column, type }] : [],
  );
}

/** The fields that a write may set. */
export function writableFields(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, { input }]) => input));
}

/** `slug, name, …`, or with an alias `t.slug, t.name, …` */
export function columnList(columns: Column[], alias?: string): Sql {
  const prefix = alias === undefined ? '' : `${alias}.`;
  return sql.raw(columns.map(({ column }) => prefix + column).join(', '));
}

/** `slug text, member_count integer, …` */
export function columnTypes(columns: Column[]): Sql {
  return sql.raw(columns.map(({ column, type }) => `${column} ${type}`).join(', '));
}

/**
 * `name = excluded.name, …`: all columns except those in `kept`. Always keep the id and the column of the conflict:
 * setting a unique column, even to the same value, takes a stronger lock, and inserts of rows that refer to this one
 * wait for it.
 */
export function excludedValues(columns: Column[], kept: string[]): Sql {
  const replaced = columns.filter(({ column }) => !kept.includes(column));
  return sql.raw(replaced.map(({ column }) => `${column} = excluded.${column}`).join(', '));
}

/** The values of `columns` from a JSON object with API field names: `(s.input ->> 'memberCount')::integer, …` */
export function jsonValues(columns: FieldColumn[], json: string): Sql {
  return sql.raw(
    columns
      .map(({ name, type }) =>
        type === 'jsonb' ? `${json} -> '${name}'` : `(${json} ->> '${name}')::${type}`,
      )
      .join(', '),
  );
}

/** `'slug', o.slug, 'memberCount', o.member_count, …`, for `json_build_object` */
export function jsonPairs(columns: FieldColumn[], alias: string): Sql {
  return sql.raw(columns.map(({ name, column }) => `'${name}', ${alias}.${column}`).join(', '));
}
