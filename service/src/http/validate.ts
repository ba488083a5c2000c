/**
 * Validates requests by their route schemas. Query strings are parsed strictly: no value is clamped or ignored. Ids are passed on
 * as the database writes them, in lower case: secrets are bound to them, and they are compared as text.
 */
import type { FastifySchemaCompiler } from 'fastify';
import type { TSchema } from 'typebox';
import { parseTime } from '../contract/parse-time.ts';
import { createValidator } from '../contract/validate.ts';
import { invalid, ServiceError, type Issue } from '../errors.ts';

type Parameters = Record<string, unknown>;

export const validatorCompiler: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  const validate = createValidator(schema);
  const isQuery = httpPart === 'querystring';
  const root = isQuery ? 'query' : (httpPart ?? 'body');
  const types = isQuery || httpPart === 'params' ? parameterTypes(schema) : null;
  return (received: unknown) => {
    const result = validate(types ? readParameters(received as Parameters, types) : received, root);
    if (result.ok) return { value: result.value };
    // A malformed identifier gets the same 404 as one that does not exist.
    if (httpPart === 'params') return { error: new ServiceError('not_found') };
    const issues = types
      ? describeQuery(result.issues, received as Parameters, types)
      : result.issues;
    return { error: invalid(...issues) };
  };
};

type ParameterType = 'integer' | 'boolean' | 'string' | 'date-time' | 'uuid' | string[];

function parameterTypes(schema: TSchema): Map<string, ParameterType> {
  const { properties = {} } = schema as {
    properties?: Record<string, { type: ParameterType; format?: string }>;
  };
  return new Map(
    Object.entries(properties).map(([name, { type, format }]) => [
      name,
      format === 'date-time' || format === 'uuid' ? format : type,
    ]),
  );
}

/** `page=7` is a number, `page=07`, `page=7.0` and `page=%207` are not; `true` and `false` are the only booleans. */
function readParameters(parameters: Parameters, types: Map<string, ParameterType>): Parameters {
  // `defineProperty` instead of an assignment: `__proto__` must be an unknown parameter like any other.
  return Object.fromEntries(
    Object.entries(parameters).map(([name, text]) => [name, readParameter(text, types.get(name))]),
  );
}

function readParameter(text: unknown, type: ParameterType | undefined): unknown {
  // A repeated parameter arrives as an array, which few schemas allow.
  if (typeof text !== 'string') return text;
  if (type === 'integer' && /^-?(0|[1-9]\d{0,14})$/.test(text)) return Number(text);
  // Generated clients in Python write offsets with `%z`, without a colon.
  if (type === 'date-time') return text.replace(/([+-]\d\d)(\d\d)$/, '$1:$2');
  if (type === 'uuid') return text.toLowerCase();
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

/** Says what a message of the schema does not: how often a parameter may be given, how a number is written, that + is a space. */
function describeQuery(
  issues: Issue[],
  query: Parameters,
  types: Map<string, ParameterType>,
): Issue[] {
  const described = issues.map(({ path, message }): [string, Issue] => {
    const name = path.slice('query.'.length);
    const better = messageOf(query[name], types.get(name)) ?? message;
    return [`${path} ${better}`, { path, message: better }];
  });
  return [...new Map(described).values()];
}

function messageOf(given: unknown, type: ParameterType | undefined): string | null {
  if (Array.isArray(given) && type !== undefined && !Array.isArray(type))
    return 'must be given once only';
  if (typeof given !== 'string') return null;
  if (type === 'date-time') {
    const meant = given.replace(/ (\d\d):?(\d\d)$/, '+$1:$2');
    return meant !== given && parseTime(meant) ? 'must have its + written as %2B' : null;
  }
  if (type !== 'integer') return null;
  const number = /^\s*\+?(\d{1,15})(\.0*)?\s*$/.exec(given)?.[1];
  // An integer out of range is written as it should be.
  return number === undefined || given === String(Number(number))
    ? null
    : `must be written as ${Number(number)}`;
}
