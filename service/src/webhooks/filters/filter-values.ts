/** Checks values of filters against the schemas of the fields that they are compared with. */

/** JSON Schema, as far as events use it. */
export type Schema = {
  type?: string | string[];
  enum?: (string | null)[];
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
};

/** Of a text in a filter, in characters. */
export const filterTextMax = 200;

/** The fields of a value, or of the entries of a list. */
export function propertiesOf(schema: Schema): Record<string, Schema> {
  return Object.assign({}, ...choicesOf(schema).map(({ properties }) => properties));
}

/** Returns what is wrong with a value that is to be equal to one of these, or null. */
export function checkValue(value: unknown, schema: Schema): string | null {
  const choices = choicesOf(schema);
  const types = new Set(
    choices.flatMap(({ type = [] }) => type).filter((each) => each !== 'object'),
  );
  const type = typeOf(value);
  if (!types.has(type) && !(type === 'number' && types.has('integer'))) {
    const allowed = [...types].map((each) => nouns[each]);
    return `must be ${allowed.join(' or ') || 'an object of fields and operators'}, as in the event`;
  }
  if (typeof value === 'number' && !Number.isFinite(value)) return 'must be a smaller number';
  if (typeof value !== 'string') return null;
  const values = choices.find((choice) => choice.enum)?.enum;
  if (values && !values.includes(value))
    return `must be one of ${values.filter((each) => each !== null).join(', ')}`;
  return checkLength(value);
}

/** The same of a text that a field begins with, contains, or comes after. */
export function checkText(value: unknown, schema: Schema): string | null {
  if (typeof value !== 'string') return 'must be a text';
  if (!choicesOf(schema).some(({ type = [] }) => [type].flat().includes('string')))
    return 'must not be a text, because the field is none';
  return value === '' ? 'must not be empty' : checkLength(value);
}

function checkLength(text: string): string | null {
  return text.length > filterTextMax ? `must have at most ${filterTextMax} characters` : null;
}

const nouns: Record<string, string> = {
  string: 'a text',
  number: 'a number',
  integer: 'a number',
  boolean: 'true or false',
  null: 'null',
};

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

/** The schemas of which one applies; of a list, those of its entries. */
function choicesOf({ items, anyOf, ...schema }: Schema): Schema[] {
  if (items) return choicesOf(items);
  return anyOf ? anyOf.flatMap(choicesOf) : [schema];
}
