/** Builds lists of columns for SQL from the tables of fields. */
import type { Fields } from '../contract/field.ts';
import { sql } from '../database/database.ts';
import type { Sql } from './list.ts';

type Column = { column: string; type: string };
/** A column that stores a field as it is; `name` is the field's. */
export type FieldColumn = Column & { name: string };

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
