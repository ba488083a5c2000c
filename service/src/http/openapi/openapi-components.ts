/** The parts of a description that belong to no single route: authentication and shared components. */
import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger';

/** The two ways to send a key. */
export const keySchemes = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key: `Authorization: Bearer <API_KEY>`.',
  },
  apiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'X-API-Key',
    description: 'The same key in another header.',
  },
} as const;

type Json = null | boolean | number | string | Json[] | JsonObject;
type JsonObject = { [key: string]: Json };
type Document = {
  paths: Record<string, Record<string, Operation>>;
  webhooks?: JsonObject;
  components: JsonObject;
};
type RequestBody = {
  required: boolean;
  content: { 'application/json'?: { schema: JsonObject } };
};
type Operation = {
  parameters?: JsonObject[];
  requestBody?: RequestBody;
  responses: Record<string, Response>;
};
type Response = { $ref: string } | { headers: JsonObject; content?: Record<string, JsonObject> };
type Components = Record<'schemas' | 'responses' | 'headers', JsonObject>;

/** Moves parts that many operations share into components, so that a generated client has one type for each. */
export const withNamedComponents: NonNullable<FastifyDynamicSwaggerOptions['transformObject']> = (
  documents,
) => {
  if (!('openapiObject' in documents)) throw new Error('only OpenAPI 3 is supported');
  return nameComponents(documents.openapiObject);
};

function nameComponents(document: object): Document {
  const { paths, webhooks: hooks, components, ...rest } = structuredClone(document) as Document;
  const named: Components = { schemas: {}, responses: {}, headers: {} };
  // The internal API uses some schemas for requests and for responses, so they stay closed there.
  const open = hooks ? extensible : (node: Json) => node;
  for (const [method, operation] of Object.values(paths).flatMap((methods) =>
    Object.entries(methods),
  )) {
    operation.parameters = parametersOf(method, operation);
    if (operation.requestBody) relaxBody(operation.requestBody);
    for (const [status, response] of Object.entries(operation.responses))
      operation.responses[status] = nameResponse(open(response) as Response, named);
  }
  return {
    ...rest,
    paths: hoist(paths, named.schemas) as Document['paths'],
    ...(hooks ? { webhooks: hoist(open(hooks), named.schemas) as JsonObject } : {}),
    components: {
      ...components,
      headers: sorted(named.headers),
      responses: sorted(hoist(named.responses, named.schemas) as JsonObject),
      schemas: sorted(named.schemas),
    },
  };
}

/** A property with a default is optional; a body without required properties is optional too, unless it may be a list. */
function relaxBody(body: RequestBody): void {
  const json = body.content['application/json'];
  if (!json) return;
  json.schema = relax(json.schema) as JsonObject;
  body.required = ['required', 'minProperties', 'anyOf'].some((word) => word in json.schema);
}

function relax(node: Json): Json {
  if (Array.isArray(node)) return node.map(relax);
  if (node === null || typeof node !== 'object') return node;
  const inner = mapSchemas(node, relax);
  const { required, properties } = inner as { required?: string[]; properties?: JsonObject };
  if (!Array.isArray(required) || !properties) return inner;
  const stillRequired = required.filter((name) => !('default' in (properties[name] as JsonObject)));
  const { required: _, ...rest } = inner;
  return stillRequired.length > 0 ? { ...inner, required: stillRequired } : rest;
}

/** Version 1 may add fields to responses and deliveries, so their objects are not closed. */
function extensible(node: Json): Json {
  if (Array.isArray(node)) return node.map(extensible);
  if (node === null || typeof node !== 'object') return node;
  const { additionalProperties, ...rest } = node;
  return mapSchemas(additionalProperties === false ? rest : node, extensible);
}

function conditional(name: string, description: string): JsonObject {
  return { name, in: 'header', required: false, description, schema: { type: 'string' } };
}

const ifNoneMatch = conditional(
  'If-None-Match',
  'The entity tags that you have, or `*`. If one of them is current, the response is 304.',
);
const ifMatch = conditional(
  'If-Match',
  'The entity tags that you have read, or `*`. If none of them is current, nothing changes and the response is 412.',
);
const ifNew = conditional(
  'If-None-Match',
  'With `*`, the request only creates: if the entry exists, nothing changes and the response is 412.',
);

function parametersOf(method: string, { parameters = [], responses }: Operation): JsonObject[] {
  return [
    ...parameters.map((parameter) => {
      const schema = parameter['schema'] as JsonObject;
      // The validator sees one with a default as always present.
      const optional = 'default' in schema ? { required: false } : {};
      return { ...parameter, ...optional, schema: asList(schema) };
    }),
    ...('304' in responses ? [ifNoneMatch] : []),
    ...('412' in responses ? [ifMatch] : []),
    ...('412' in responses && method === 'put' ? [ifNew] : []),
  ];
}

/** The validator sees a repeated parameter that is there once as a text. Generators of clients know only lists. */
function asList(schema: JsonObject): JsonObject {
  const { type } = schema;
  if (!Array.isArray(type) || !type.includes('array')) return schema;
  const ofLists = new Set(['items', 'minItems', 'maxItems', 'description']);
  const rules = Object.entries(schema).filter(([name]) => ofLists.has(name));
  return { type: 'array', ...Object.fromEntries(rules) };
}

/** Header components are named after the header, error components after their codes. */
function nameResponse(response: Response, named: Components): Response {
  if ('$ref' in response) return response;
  for (const [name, value] of Object.entries(response.headers)) {
    define(named.headers, name, value);
    response.headers[name] = { $ref: `#/components/headers/${name}` };
  }
  const { examples } = response.content?.['application/json'] ?? {};
  if (!examples) return response;
  const name = Object.keys(examples).map(pascalCase).join('Or');
  define(named.responses, name, response);
  return { $ref: `#/components/responses/${name}` };
}

/** Subtrees that hold values, not schemas: a `title` in them is data. */
const valueKeys = new Set(['example', 'examples', 'default', 'enum', 'x-extensible-enum', 'const']);

function mapSchemas(node: JsonObject, change: (schema: Json) => Json): JsonObject {
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => [key, valueKeys.has(key) ? value : change(value)]),
  );
}

/** Moves every schema that has a `title` into `schemas`, once, and replaces it with a reference. */
function hoist(node: Json, schemas: JsonObject): Json {
  if (Array.isArray(node)) return node.map((item) => hoist(item, schemas));
  if (node === null || typeof node !== 'object') return node;
  if (node['type'] === 'boolean' && node['enum']) return withoutEnum(node);
  if (node['x-extensible-enum'] === true) return withoutLimits(node);
  const inner = mapSchemas(node, (value) => hoist(value, schemas));
  const { title } = node;
  if (typeof title !== 'string' || node['type'] === undefined) return inner;
  const { title: _, ...schema } = inner;
  define(schemas, title, schema);
  return { $ref: `#/components/schemas/${title}` };
}

/** With `enum`, clients would refuse a value that is added later. */
function withoutLimits(schema: JsonObject): JsonObject {
  const { enum: values, ...rest } = schema;
  const named = (values as Json[]).filter((value) => value !== null);
  const description = `${rest['description'] as string} New values may be added.`;
  return { ...rest, 'x-extensible-enum': named, description };
}

/** Some generators cannot read an `enum` of booleans. */
function withoutEnum(schema: JsonObject): JsonObject {
  const { enum: _, ...rest } = schema;
  return rest;
}

function define(components: JsonObject, name: string, value: Json): void {
  const known = components[name];
  if (known !== undefined && JSON.stringify(known) !== JSON.stringify(value))
    throw new Error(`two different components are called ${name}`);
  components[name] = value;
}

function sorted(components: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(components).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Turns names such as `org.created` and `not_found` into type names. */
export function pascalCase(name: string): string {
  return name
    .split(/[._]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}
