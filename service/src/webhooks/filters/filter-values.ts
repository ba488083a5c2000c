/** Checks values of filters against the schemas of the fields that they are compared with. */

import { parseTime } from '../../contract/parse-time.ts';
import { uuidPattern } from '../../contract/patterns.ts';

/** JSON Schema, as far as events use it. */
export type Schema = {
  type?: string | string[];
  format?: string;
  enum?: (string | null)[];
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
};

/** Of a text in a filter, in characters. */
export const filterTextMax = 200;

export function isList({ items, anyOf = [] }: Schema): boolean {
  return items !== undefined || anyOf.some(isList);
}

/** The fields of a value, or of the entries of a list. */
export function propertiesOf(schema: Schema): Record<string, Schema> {
  return Object.assign({}, ...choicesOf(schema).map(({ properties }) => properties));
}

/** Returns what is wrong with a value that is to be equal to one of these, or null. `orFields`: an object may be there instead. */
export function checkValue(value: unknown, schema: Schema, orFields = false): string | null {
  const choices = choicesOf(schema);
  const types = new Set(
    choices.flatMap(({ type = [] }) => type).filter((each) => orFields || each !== 'object'),
  );
  const type = typeOf(value);
  if (!types.has(type) && !(type === 'number' && types.has('integer'))) {
    const allowed = [...types].map((each) => nouns[each]).join(' or ') || nouns['object'];
    const hint = value === null ? '; {"$exist": false} matches a field that is not there' : '';
    return `must be ${allowed}, as in the event${hint}`;
  }
  if (typeof value === 'number') return checkNumber(value, types);
  if (typeof value !== 'string') return null;
  const values = choices.find((choice) => choice.enum)?.enum;
  if (values && !values.includes(value))
    return `must be one of ${values.filter((each) => each !== null).join(', ')}`;
  return checkFormat(value, choices) ?? checkLength(value);
}

function checkNumber(value: number, types: Set<string>): string | null {
  if (!Number.isFinite(value)) return 'must be a smaller number';
  return types.has('number') || Number.isInteger(value)
    ? null
    : 'must be a whole number, as in the event';
}

function checkFormat(text: string, choices: Schema[]): string | null {
  if (isOfFormat('date-time', choices) && parseTime(text) === null)
    return 'must be a time, such as 2026-11-20T12:00:00.000Z';
  if (!isOfFormat('uuid', choices)) return null;
  // Texts are compared as they are.
  const isAsInEvents = uuidPattern.test(text) && text === text.toLowerCase();
  return isAsInEvents ? null : 'must be a UUID in lower case, as in the event';
}

/** The same of what a field is greater or less than. */
export function checkBound(value: unknown, schema: Schema): string | null {
  if (typeof value === 'string') return checkBeginning(value, schema);
  // A whole number can be greater than a fraction.
  if (typeof value === 'number') return checkValue(Math.trunc(value), schema);
  return 'must be a number or a text';
}

/** The same of a text that a field begins with, or comes before or after. */
export function checkBeginning(value: unknown, schema: Schema): string | null {
  const problem = checkText(value, schema);
  if (problem !== null || !isOfFormat('date-time', choicesOf(schema))) return problem;
  return beginsTime(String(value))
    ? null
    : 'must be a time in UTC or its beginning, such as 2026-11-20';
}

/** The same of a text that a field contains. */
export function checkText(value: unknown, schema: Schema): string | null {
  if (typeof value !== 'string') return 'must be a text';
  if (!textsOf(choicesOf(schema)).length) return 'must not be a text, because the field is none';
  return value === '' ? 'must not be empty' : checkLength(value);
}

/** Times are compared as texts, so one with an offset would not be in order. */
function beginsTime(text: string): boolean {
  return ['0000-01-01T00:00:00Z', '0000-10-10T00:00:00Z', `${text}Z`]
    .map((whole) => text + whole.slice(text.length))
    .some((time) => /z$/i.test(time) && parseTime(time) !== null);
}

function isOfFormat(format: string, choices: Schema[]): boolean {
  return textsOf(choices).every((choice) => choice.format === format);
}

function textsOf(choices: Schema[]): Schema[] {
  return choices.filter(({ type = [] }) => [type].flat().includes('string'));
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
  object: 'an object of fields and operators',
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
