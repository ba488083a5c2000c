/** Flattens a JSON Schema into a list of fields. Supports only the keywords that the schemas of events use. */
export type Schema = {
  type?: string | string[];
  format?: string;
  title?: string;
  description?: string;
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
};

export type Field = {
  /** For example `alliance.name` or `items[].quantity`. */
  path: string;
  type: string;
  isNullable: boolean;
  description: string;
};

export function schemaFields(schema: Schema, prefix = ''): Field[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, given]) => {
    const path = `${prefix}${name}`;
    const { inner, isNullable } = withoutNull(given);
    const description = given.description ?? inner.description ?? '';
    const field = { path, type: typeOf(inner), isNullable, description };
    return [field].concat(nested(inner, path));
  });
}

function nested(schema: Schema, path: string): Field[] {
  if (schema.items) return schemaFields(withoutNull(schema.items).inner, `${path}[].`);
  return schemaFields(schema, `${path}.`);
}

function withoutNull(schema: Schema): { inner: Schema; isNullable: boolean } {
  if (schema.anyOf) {
    const others = schema.anyOf.filter(({ type }) => type !== 'null');
    const isNullable = others.length < schema.anyOf.length;
    return { inner: others.length === 1 && others[0] ? others[0] : schema, isNullable };
  }
  if (!Array.isArray(schema.type)) return { inner: schema, isNullable: false };
  const types = schema.type.filter((type) => type !== 'null');
  const [only] = types;
  const inner = { ...schema, type: types.length === 1 && only !== undefined ? only : types };
  return { inner, isNullable: types.length < schema.type.length };
}

function typeOf(schema: Schema): string {
  const values = schema.enum?.filter((value) => value !== null);
  if (values) return values.map((value) => JSON.stringify(value)).join(' | ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.items) return `array of ${typeOf(withoutNull(schema.items).inner)}`;
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' | ');
  const type = [schema.type ?? 'any value'].flat().join(' | ');
  return schema.format ? `${type} (${schema.format})` : type;
}
