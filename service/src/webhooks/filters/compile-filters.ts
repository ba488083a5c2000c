/**
 * Checks filters against the schemas of their events, and compiles them to one `jsonpath` that PostgreSQL evaluates
 * (`passes_filter` in `migrations/0021_filters.sql`). docs/reference/events.md#filters describes them, and
 * docs/decisions/0056-filters.md says why they are like this.
 */
import { issuesMax, suggestName } from '../../contract/validate.ts';
import type { Issue } from '../../errors.ts';
import { catalogueEntry } from '../../events/catalogue.ts';
import {
  checkBeginning,
  checkBound,
  checkText,
  checkValue,
  isList,
  propertiesOf,
  type Schema,
} from './filter-values.ts';

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
