/** A type as data, so that test processes compare rows with it without a type checker. */
import { inspect } from 'node:util';

/** A name of `kindOf` or `unknown`, a union, a literal, an array, or an object. */
export type Shape = string | Shape[] | { literal: unknown } | { element: Shape } | ObjectShape;
/** `rest` is the type of all other properties, if there may be others. */
export type ObjectShape = { properties: Record<string, Property>; rest?: Shape };
type Property = { shape: Shape; text: string };
type Row = Record<string, unknown>;

/** The columns of a row that differ from its type, each with the difference. In a union, the nearest member counts. */
export function compareRow(shape: Shape, row: Row): Record<string, string> {
  const members = Array.isArray(shape) ? shape : [shape];
  const differences = members.map((member) => compareColumns(member as ObjectShape, row));
  return differences.toSorted((a, b) => Object.keys(a).length - Object.keys(b).length)[0] ?? {};
}

function compareColumns({ properties, rest }: ObjectShape, row: Row): Record<string, string> {
  const differences: Record<string, string> = {};
  for (const name of Object.keys({ ...properties, ...row })) {
    const { shape, text } = properties[name] ?? { shape: rest, text: 'nothing' };
    if (shape !== undefined && fits(shape, row[name])) continue;
    const came = name in row ? inspect(row[name], inspection).slice(0, 200) : 'nothing';
    differences[name] = `declared ${text}, came ${came}`;
  }
  return differences;
}

const inspection = { depth: 4, breakLength: Infinity, maxStringLength: 40, maxArrayLength: 3 };

function fits(shape: Shape, value: unknown): boolean {
  if (typeof shape === 'string') return shape === 'unknown' || shape === kindOf(value);
  if (Array.isArray(shape)) return shape.some((each) => fits(each, value));
  if ('literal' in shape) return value === shape.literal;
  if ('element' in shape)
    return Array.isArray(value) && value.every((each) => fits(shape.element, each));
  if (kindOf(value) !== 'object') return false;
  // JSON may have more keys than its reader declares.
  return Object.keys({ ...shape.properties, ...(value as Row) }).every((name) =>
    fits(shape.properties[name]?.shape ?? shape.rest ?? 'unknown', (value as Row)[name]),
  );
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (value instanceof Date) return 'Date';
  if (Buffer.isBuffer(value)) return 'Buffer';
  return Array.isArray(value) ? 'array' : typeof value;
}
