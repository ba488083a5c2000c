/** Describes JSON schemas of openapi.json as Markdown tables with one row per field. */
import type { Schema } from './page.ts';

type Field = { name: string; schema: Schema; required: boolean };
export type Schemas = Record<string, Schema>;

/** `skip`: names of fields that the page does not list. */
export function fieldTable(schema: Schema, schemas: Schemas, skip: string[] = []): string {
  const fields = fieldsOf(schema, schemas, '').filter(
    ({ name }) => !skip.some((each) => name === each || name.startsWith(`${each}.`)),
  );
  const rows = fields.map(({ name, schema: field, required }) => [
    `\`${name}\``,
    typeName(field, schemas) + (required ? '' : ', optional'),
    describe(field),
  ]);
  return table(['field', 'type', 'description'], rows);
}

export function table(head: string[], rows: string[][]): string {
  const lines = [head, head.map(() => '---'), ...rows.map((row) => row.map(escapeCell))];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function escapeCell(text: string): string {
  return text.replaceAll('\n', ' ').replaceAll('|', '\\|');
}

/** Nested fields follow their parent, as `data[].alliance.name`. */
function fieldsOf(given: Schema, schemas: Schemas, prefix: string): Field[] {
  const { properties = {}, required = [] } = resolve(given, schemas);
  return Object.entries(properties).flatMap(([key, property]) => {
    const name = `${prefix}${key}`;
    const schema = resolve(property, schemas);
    const inner = schema.items
      ? fieldsOf(schema.items, schemas, `${name}[].`)
      : fieldsOf(schema, schemas, `${name}.`);
    const field: Field = { name, schema, required: required.includes(key) };
    return [field].concat(inner);
  });
}

/** Follows references. A schema that may be null is itself, with `null` among its types. */
function resolve(schema: Schema, schemas: Schemas): Schema {
  if (schema.$ref) {
    const { $ref, ...rest } = schema;
    const target = schemas[$ref.replace('#/components/schemas/', '')];
    if (!target) throw new Error(`openapi.json has no ${$ref}`);
    return { ...resolve(target, schemas), ...rest };
  }
  const [first, second] = schema.anyOf ?? [];
  if (!first || second?.type !== 'null') return schema;
  const { anyOf: _, ...rest } = schema;
  const inner = resolve(first, schemas);
  return { ...inner, ...rest, type: [inner.type ?? 'object', 'null'].flat() };
}

export function typeName(given: Schema, schemas: Schemas): string {
  const { type, format, items, enum: only, 'x-extensible-enum': states } = resolve(given, schemas);
  const names = [type ?? 'any'].flat().map((name) => {
    if (name === 'array' && items) return `array of ${typeName(items, schemas)}`;
    if (name === 'string' && format) return `string (${format})`;
    if (name === 'string' && (only ?? states)) return 'enum';
    return name;
  });
  return names.join(' or ');
}

/** The description, with the limits that the schema has. */
export function describe(schema: Schema): string {
  const { description = '', default: usual, minimum, maximum, maxLength } = schema;
  const values = schema.enum ?? schema['x-extensible-enum'];
  const limits = [
    values && `One of ${values.map((value) => `\`${value}\``).join(', ')}.`,
    minimum !== undefined && maximum !== undefined && `${minimum} to ${maximum}.`,
    maxLength !== undefined && `At most ${maxLength} characters.`,
    usual !== undefined && `Default: \`${JSON.stringify(usual)}\`.`,
  ];
  return [description, ...limits].filter(Boolean).join(' ');
}
