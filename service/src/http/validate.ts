/** Validates requests by their route schemas. Query strings are parsed strictly: no value is clamped or ignored. */
import type { FastifySchemaCompiler } from 'fastify';
import type { TSchema } from 'typebox';
import { createValidator } from '../contract/validate.ts';
import { invalid, ServiceError, type Issue } from '../errors.ts';

export const validatorCompiler: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  const validate = createValidator(schema);
  const root = httpPart === 'querystring' ? 'query' : (httpPart ?? 'body');
  const types = httpPart === 'querystring' ? parameterTypes(schema) : null;
  return (received: unknown) => {
    const query = types && (received as Record<string, unknown>);
    const result = validate(query ? readQuery(query, types) : received, root);
    if (result.ok) return { value: result.value };
    if (query) return { error: invalid(...describeQuery(result.issues, query, types)) };
    // A malformed identifier gets the same 404 as one that does not exist.
    return {
      error: httpPart === 'params' ? new ServiceError('not_found') : invalid(...result.issues),
    };
  };
};

type ParameterType = 'integer' | 'boolean' | 'string' | 'date-time' | string[];

function parameterTypes(schema: TSchema): Map<string, ParameterType> {
  const { properties = {} } = schema as {
    properties?: Record<string, { type: ParameterType; format?: string }>;
  };
  return new Map(
    Object.entries(properties).map(([name, { type, format }]) => [
      name,
      format === 'date-time' ? format : type,
    ]),
  );
}

/** `page=7` is a number, `page=07`, `page=7.0` and `page=%207` are not; `true` and `false` are the only booleans. */
function readQuery(
  query: Record<string, unknown>,
  types: Map<string, ParameterType>,
): Record<string, unknown> {
  // `defineProperty` instead of an assignment: `__proto__` must be an unknown parameter like any other.
  return Object.fromEntries(
    Object.entries(query).map(([name, text]) => [name, readParameter(text, types.get(name))]),
  );
}

function readParameter(text: unknown, type: ParameterType | undefined): unknown {
  // A repeated parameter arrives as an array, which few schemas allow.
  if (typeof text !== 'string') return text;
  if (type === 'integer' && /^-?(0|[1-9]\d{0,14})$/.test(text)) return Number(text);
  // Generated clients in Python write offsets with `%z`, without a colon.
  if (type === 'date-time') return text.replace(/([+-]\d\d)(\d\d)$/, '$1:$2');
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

/** Says what a message of the schema does not: how often a parameter may be given, and how a number is written. */
function describeQuery(
  issues: Issue[],
  query: Record<string, unknown>,
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
  if (type !== 'integer' || typeof given !== 'string') return null;
  const number = /^\s*\+?(\d{1,15})(\.0*)?\s*$/.exec(given)?.[1];
  // An integer out of range is written as it should be.
  return number === undefined || given === String(Number(number))
    ? null
    : `must be written as ${Number(number)}`;
}
