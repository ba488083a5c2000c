/**
 * Writes entries as CSV that `readCsv` reads back: a header row with the names of fields, `links.website` for a nested
 * one.
 */
import type { TSchema } from 'typebox';

/** The columns of a schema, in its order. */
export function csvColumns(schema: TSchema): string[] {
  return Object.entries(propertiesOf(schema)).flatMap(([name, field]) => {
    const inner = Object.keys(propertiesOf(field));
    return inner.length === 0 ? [name] : inner.map((each) => `${name}.${each}`);
  });
}

type Value = string | number | boolean | string[] | null | undefined;

/** Null and an empty list become an empty cell, which an import reads as a field left out. */
export function csvLine(entry: Record<string, unknown>, columns: string[]): string {
  return columns.map((column) => cell(valueAt(entry, column))).join(',');
}

function propertiesOf(schema: TSchema): Record<string, TSchema> {
  return (schema as { properties?: Record<string, TSchema> }).properties ?? {};
}

function valueAt(entry: Record<string, unknown>, column: string): Value {
  const [outer = column, inner] = column.split('.');
  const value = entry[outer] as Value | Record<string, Value>;
  return inner === undefined ? (value as Value) : (value as Record<string, Value> | null)?.[inner];
}

function cell(value: Value): string {
  if (value === null || value === undefined) return '';
  const text = Array.isArray(value) ? value.join(' ') : String(value);
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
