/**
 * Checks filters against the schemas of their events, and compiles them to one `jsonpath` that PostgreSQL evaluates
 * (`passes_filter` in `migrations/0021_filters.sql`). docs/reference/events.md#filters describes them, and
 * docs/decisions/0056-filters.md says why they are like this.
 */
import { issuesMax, suggestName } from '../../contract/validate.ts';
import type { Issue } from '../../errors.ts';
import { catalogueEntry } from '../../events/catalogue.ts';
import { parseTime } from '../../contract/parse-time.ts';
import { uuidPattern } from '../../contract/patterns.ts';

/** Any JSON by the name of an event; the filter of each is checked here. */
export type Filters = Record<string, unknown>;

/** In the filter of an event: names of fields, operators, and values in lists. */
export const filterNodesMax = 50;
/** Objects in each other. */
export const filterDepthMax = 4;
/** Texts that something contains, because these take the longest. */
export const filterContainedMax = 4;

const comparisons: Record<string, string> = { $gt: '>', $gte: '>=', $lt: '<', $lte: '<=' };
const operators = [
  '$eq',
  '$neq',
  '$in',
  ...Object.keys(comparisons),
  '$startsWith',
  '$exist',
  '$and',
  '$or',
  '$not',
];

/** The path is null without filters, and of no use with issues. `path`: where the request has them. */
export function compileFilters(
  filters: Filters,
  path: string,
  schemaOf: (event: string) => Schema = dataOf,
): { path: string | null; issues: Issue[] } {
  const issues: Issue[] = [];
  const conditions = Object.entries(filters).map(([event, filter]) => {
    const compiler = new FilterCompiler(event, issues);
    const passes = compiler.compile(filter, schemaOf(event), `${path}.${event}`);
    // Data that could not be read is no object: it does not pass, whatever the filter denies.
    return `($event != ${JSON.stringify(event)} || ($.type() == "object" && ${passes}))`;
  });
  return { path: conditions.join(' && ') || null, issues: issues.slice(0, issuesMax) };
}

function dataOf(event: string): Schema {
  return catalogueEntry(event)?.data ?? {};
}

/** What a part of a filter is about. `depth` counts the objects around it. */
type Place = { schema: Schema; subject: string; path: string; depth: number };

/**
 * Every condition that it makes is true or false and never unknown, so that `!` means what it says: comparisons stand within
 * `exists(… ? (…))`. That also looks into lists, which match if one of their entries does.
 */
class FilterCompiler {
  readonly #event: string;
  readonly #issues: Issue[];
  #nodes = 0;
  #contained = 0;

  constructor(event: string, issues: Issue[]) {
    this.#event = event;
    this.#issues = issues;
  }

  compile(filter: unknown, schema: Schema, path: string): string {
    if (!isObject(filter)) return this.#refuse(path, 'must be an object of fields and operators');
    const condition = this.#condition(filter, { schema, subject: '$', path, depth: 0 });
    if (this.#nodes > filterNodesMax)
      this.#refuse(
        path,
        `has ${this.#nodes} fields, operators and values in lists, and at most ${filterNodesMax} are allowed`,
      );
    return condition;
  }

  #condition(filter: unknown, place: Place): string {
    const { schema, subject, path, depth } = place;
    if (Array.isArray(filter)) {
      if (schema.type === 'array') return this.#joined(filter, '&&', place);
      return this.#refuse(path, 'must not be a list: use $in for one of several values');
    }
    if (!isObject(filter)) return this.#some(`@ == ${this.#value(filter, place, true)}`, place);
    if (depth === filterDepthMax)
      return this.#refuse(path, `must not have more than ${filterDepthMax} objects in each other`);
    this.#checkRange(filter, place);
    const inner = { ...place, depth: depth + 1 };
    const names = Object.keys(filter);
    const fields = names.filter((name) => !name.startsWith('$'));
    const conditions = names
      .filter((name) => name.startsWith('$'))
      .map((name) => this.#operator(name, filter[name], inner));
    const ofFields = fields.map((name) => this.#field(name, filter[name], inner)).join(' && ');
    if (fields.length > 0)
      conditions.push(`exists(${subject} ? (@.type() == "object" && ${ofFields}))`);
    if (names.length === 0) return this.#refuse(path, 'must have a field or an operator');
    return `(${conditions.join(' && ')})`;
  }

  #field(name: string, filter: unknown, place: Place): string {
    this.#nodes += 1;
    const path = `${place.path}.${name}`;
    const properties = propertiesOf(place.schema);
    const schema = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (schema)
      return this.#condition(filter, {
        ...place,
        schema,
        subject: `@.${JSON.stringify(name)}`,
        path,
      });
    const names = Object.keys(properties);
    const meant = operators.includes(`$${name}`) ? `"$${name}"` : nest(name, properties);
    if (meant !== null)
      return this.#refuse(path, `is no field of ${this.#event}; did you mean ${meant}?`);
    if (names.length === 0) return this.#refuse(path, 'is a field of a value that has no fields');
    return this.#refuse(path, `is no field of ${this.#event}${suggestName(name, names)}`);
  }

  /** Of a list, one entry may be greater and another one less. */
  #checkRange(filter: Record<string, unknown>, { schema, path }: Place): void {
    if (isList(schema)) return;
    for (const lower of ['$gt', '$gte'].filter((name) => Object.hasOwn(filter, name)))
      for (const upper of ['$lt', '$lte'].filter((name) => Object.hasOwn(filter, name))) {
        const [least, most] = [filter[lower], filter[upper]] as [number, number];
        const mayEqual = lower === '$gte' && upper === '$lte';
        if (typeof least !== typeof most || (mayEqual ? least <= most : least < most)) continue;
        const order = mayEqual ? 'not be less' : 'be greater';
        this.#refuse(`${path}.${upper}`, `must ${order} than ${lower}, or no value matches`);
      }
  }

  #operator(name: string, value: unknown, outer: Place): string {
    this.#nodes += 1;
    const place = { ...outer, path: `${outer.path}.${name}` };
    const { schema, subject, path } = place;
    const comparison = comparisons[name];
    if (comparison !== undefined)
      return this.#some(
        `@ ${comparison} ${this.#checked(value, checkBound(value, schema), path)}`,
        place,
      );
    switch (name) {
      case '$eq':
        return this.#some(`@ == ${this.#value(value, place)}`, place);
      case '$neq':
        return `(exists(${subject}) && !${this.#some(`@ == ${this.#value(value, place)}`, place)})`;
      case '$in':
        if (typeof value === 'string') return this.#contains(value, place);
        return this.#some(
          this.#each(value, place, (each) => `@ == ${this.#value(each, place)}`).join(' || '),
          place,
        );
      case '$startsWith':
        return this.#some(
          this.#each(
            Array.isArray(value) ? value : [value],
            place,
            (each) => `@ starts with ${this.#checked(each, checkBeginning(each, schema), path)}`,
          ).join(' || '),
          place,
        );
      case '$exist':
        if (typeof value !== 'boolean') return this.#refuse(path, 'must be true or false');
        return `${value ? '' : '!'}exists(${subject})`;
      case '$and':
        return this.#joined(value, '&&', place);
      case '$or':
        return this.#joined(value, '||', place);
      case '$not':
        return `!(${this.#condition(value, place)})`;
      default:
        return this.#refuse(path, `is no operator${suggestName(name, operators)}`);
    }
  }

  #contains(text: string, place: Place): string {
    this.#contained += 1;
    if (this.#contained > filterContainedMax)
      return this.#refuse(
        place.path,
        `must not be a text more than ${filterContainedMax} times in a filter, because looking for text takes long`,
      );
    return this.#some(`@ like_regex ${this.#text(text, place)} flag "q"`, place);
  }

  #some(condition: string, { subject }: Place): string {
    return `exists(${subject} ? (${condition}))`;
  }

  #joined(list: unknown, by: '&&' | '||', place: Place): string {
    const conditions = this.#each(list, place, (each, path) =>
      this.#condition(each, { ...place, path }),
    );
    return `(${conditions.join(` ${by} `)})`;
  }

  #each(list: unknown, { path }: Place, compile: (each: unknown, path: string) => string) {
    if (!Array.isArray(list) || list.length === 0)
      return [this.#refuse(path, 'must be a list of at least one')];
    this.#nodes += list.length;
    return list.map((each, index) => compile(each, `${path}.${index}`));
  }

  #value(value: unknown, { schema, path }: Place, orFields = false): string {
    return this.#checked(value, checkValue(value, schema, orFields), path);
  }

  #text(value: unknown, { schema, path }: Place): string {
    return this.#checked(value, checkText(value, schema), path);
  }

  #checked(value: unknown, problem: string | null, path: string): string {
    return problem === null ? JSON.stringify(value) : this.#refuse(path, problem);
  }

  /** Nothing is compiled once there is an issue: what it returns is never used. */
  #refuse(path: string, message: string): string {
    this.#issues.push({ path, message });
    return '';
  }
}

/** What `org.slug` probably means; null if it names no field. */
function nest(name: string, properties: Record<string, Schema>): string | null {
  const [field = '', ...inner] = name.split('.');
  const schema = Object.hasOwn(properties, field) ? properties[field] : undefined;
  if (!schema) return null;
  const nested = inner.length === 0 ? '…' : nest(inner.join('.'), propertiesOf(schema));
  return nested && `{${JSON.stringify(field)}: ${nested}}`;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** JSON Schema, as far as events use it. Values of filters are checked against that of their field. */
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

function isList({ items, anyOf = [] }: Schema): boolean {
  return items !== undefined || anyOf.some(isList);
}

/** The fields of a value, or of the entries of a list. */
function propertiesOf(schema: Schema): Record<string, Schema> {
  return Object.assign({}, ...choicesOf(schema).map(({ properties }) => properties));
}

/** Returns what is wrong with a value that is to be equal to one of these, or null. `orFields`: an object may be there instead. */
function checkValue(value: unknown, schema: Schema, orFields = false): string | null {
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
function checkBound(value: unknown, schema: Schema): string | null {
  if (typeof value === 'string') return checkBeginning(value, schema);
  // A whole number can be greater than a fraction.
  if (typeof value === 'number') return checkValue(Math.trunc(value), schema);
  return 'must be a number or a text';
}

/** The same of a text that a field begins with, or comes before or after. */
function checkBeginning(value: unknown, schema: Schema): string | null {
  const problem = checkText(value, schema);
  if (problem !== null || !isOfFormat('date-time', choicesOf(schema))) return problem;
  return beginsTime(String(value))
    ? null
    : 'must be a time in UTC or its beginning, such as 2026-11-20';
}

/** The same of a text that a field contains. */
function checkText(value: unknown, schema: Schema): string | null {
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
