/**
 * openapi.json from the routes: named objects become components, events become webhooks. What a route's
 * schema does not say is said here once: servers, security schemes, tags.
 */
import swagger, { type FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { exampleId, exampleTime } from '../contract/examples.ts';
import { strictObject, time, uuid } from '../contract/shapes.ts';
import { catalogue, type EventName } from '../events/catalogue.ts';
import { errorsOf, responses } from './responses.ts';
import { sendEntry } from './send-entry.ts';
import { toEntry, type Entry } from './response-cache.ts';

export type OpenApiDependencies = { publicUrl: string; serviceName: string; version: string };

const tags = [
  { name: 'Status', description: 'How the service is doing.' },
  { name: 'Organisations', description: 'The organisations of the directory.' },
  { name: 'Alliances', description: 'Alliances of organisations.' },
  { name: 'Blueprints', description: 'What makes what.' },
  {
    name: 'Webhooks',
    description: 'Receivers of events, managed by the app that a key belongs to.',
  },
  { name: 'Events', description: 'What is delivered to webhooks.' },
  { name: 'Description', description: 'This document.' },
];

const description = `A public directory of organisations, alliances and blueprints, and signed webhooks that tell what happened.

Every answer is an envelope: \`success\`, \`data\` and \`meta\`, or \`success\` and \`error\`. Send your key as \`Authorization: Bearer <API_KEY>\`.
Reads carry an \`ETag\`; send it back as \`If-None-Match\` and an unchanged page is a 304. Requests are counted by key;
\`X-RateLimit-Remaining\` says how many are left. Version 1 only grows: new fields and operations may appear, none goes.`;

export async function registerOpenApi(
  app: FastifyInstance,
  dependencies: OpenApiDependencies,
): Promise<void> {
  await app.register(swagger, options(dependencies));
}

function options({
  publicUrl,
  serviceName,
  version,
}: OpenApiDependencies): FastifyDynamicSwaggerOptions {
  return {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: `${serviceName} API`,
        version,
        description,
        license: { name: 'MIT', identifier: 'MIT' },
        contact: { name: 'The operator of this directory', url: publicUrl },
      } as NonNullable<NonNullable<FastifyDynamicSwaggerOptions['openapi']>['info']>,
      servers: [{ url: publicUrl }],
      tags,
      components: {
        securitySchemes: {
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
        },
      },
      webhooks: webhooks(serviceName) as never,
    },
    transformObject: (documents) => {
      if (!('openapiObject' in documents))
        throw new Error('openapi.json is made in the OpenAPI form only');
      return nameComponents(documents.openapiObject);
    },
  };
}

/** GET /openapi.json. The bytes are made once, when all routes are known. */
export function registerOpenApiRoute(app: FastifyInstance): void {
  let entry: Entry | undefined;
  app.get(
    '/openapi.json',
    {
      config: { scope: null, duringMaintenance: true },
      schema: {
        operationId: 'getOpenApi',
        tags: ['Description'],
        summary: 'This description',
        description: 'The API and its webhooks in OpenAPI 3.1. Needs no key.',
        security: [],
        querystring: Type.Object({}, { additionalProperties: false }),
        response: responses(
          200,
          'The document.',
          { schema: OpenApiDocument, example: { openapi: '3.1.0' } },
          errorsOf.open,
          { conditional: true },
        ),
      },
    },
    async (request, reply) => {
      entry ??= toEntry(0, app.swagger());
      return sendEntry(request, reply, entry, 'public, max-age=300');
    },
  );
}

const OpenApiDocument = Type.Object(
  { openapi: Type.String({ description: 'The version of OpenAPI.' }) },
  {
    title: 'OpenApiDocument',
    description: 'A description of the API; not in the envelope.',
    additionalProperties: true,
  },
);

// --- webhooks ---------------------------------------------------------------------------------

function webhooks(serviceName: string): Record<string, unknown> {
  const names = Object.keys(catalogue) as EventName[];
  return Object.fromEntries(
    names.map((name) => [name, { post: webhookOperation(name, serviceName) }]),
  );
}

function webhookOperation(name: EventName, serviceName: string) {
  const { audience, description: summary, data, sample } = catalogue[name];
  const message = strictObject(
    {
      id: uuid({ description: 'Of the delivery; the same over all attempts.' }),
      event: Type.Literal(name, { description: 'The name of the event.' }),
      createdAt: time({ description: 'When the event happened.' }),
      data,
    },
    { title: `${pascalCase(name)}Delivery`, description: `What is sent for \`${name}\`.` },
  );
  return {
    operationId: `on${pascalCase(name)}`,
    tags: ['Events'],
    summary,
    description: `${recipients[audience]} Answer with any 2xx status within ten seconds; everything else is tried again, up to six times.`,
    // The receiver knows the sender by the signatures.
    security: [],
    parameters: deliveryHeaders(name, serviceName),
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: message,
          example: { id: exampleId, event: name, createdAt: exampleTime, data: sample },
        },
      },
    },
    responses: {
      '200': { description: 'Received. Any other 2xx says the same.' },
      '4XX': {
        description: 'Refused; it is tried again. After a last 410 the webhook is deactivated.',
      },
    },
  };
}

const recipients = {
  global: 'Goes to every webhook that asks for it.',
  organization: 'Goes only to webhooks of apps that are bound to the organisation.',
  alliance: 'Goes only to webhooks of apps that are bound to the alliance.',
  webhook: 'Goes to the one webhook that is tested.',
};

function header(name: string, text: string, example: string) {
  return {
    name,
    in: 'header',
    required: true,
    description: text,
    schema: { type: 'string' },
    example,
  };
}

function deliveryHeaders(event: EventName, serviceName: string) {
  return [
    header(`X-${serviceName}-Event`, 'The name of the event.', event),
    header(`X-${serviceName}-Delivery`, 'The id of the delivery.', exampleId),
    header(
      `X-${serviceName}-Signature`,
      '`sha256=` and the HMAC-SHA256 of the body in lower-case hex; the key is the secret as shown.',
      `sha256=${'0123456789abcdef'.repeat(4)}`,
    ),
    header('webhook-id', 'The id of the delivery, as Standard Webhooks names it.', exampleId),
    header(
      'webhook-timestamp',
      'When the attempt was made, in seconds since 1970.',
      String(Date.parse(exampleTime) / 1000),
    ),
    header(
      'webhook-signature',
      '`v1,` and the signature of Standard Webhooks; several, with spaces between, while a secret is rotated.',
      'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
    ),
  ];
}

function pascalCase(name: string): string {
  return name
    .split(/[._]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}

// --- components -------------------------------------------------------------------------------

type Json = null | boolean | number | string | Json[] | JsonObject;
type JsonObject = { [key: string]: Json };
type Document = {
  paths: Record<string, Record<string, Operation>>;
  webhooks: JsonObject;
  components: JsonObject;
};
type BodySchema = { properties: Record<string, JsonObject>; required?: string[] };
type RequestBody = {
  required: boolean;
  content: { 'application/json': { schema: BodySchema } };
};
type Operation = {
  parameters?: JsonObject[];
  requestBody?: RequestBody;
  responses: Record<string, Response>;
};
type Response = { $ref: string } | { headers: JsonObject; content?: Record<string, JsonObject> };
type Components = Record<'schemas' | 'responses' | 'headers', JsonObject>;

/** Writes down once what many operations share, so that a generated client has one type for it. */
function nameComponents(document: object): Document {
  const { paths, webhooks: hooks, components, ...rest } = structuredClone(document) as Document;
  const named: Components = { schemas: {}, responses: {}, headers: {} };
  for (const operation of Object.values(paths).flatMap((methods) => Object.values(methods))) {
    operation.parameters = parametersOf(operation);
    if (operation.requestBody) relaxBody(operation.requestBody);
    for (const [status, response] of Object.entries(operation.responses))
      operation.responses[status] = nameResponse(response, named);
  }
  return {
    ...rest,
    paths: hoist(paths, named.schemas) as Document['paths'],
    webhooks: hoist(hooks, named.schemas) as JsonObject,
    components: {
      ...components,
      headers: sorted(named.headers),
      responses: sorted(hoist(named.responses, named.schemas) as JsonObject),
      schemas: sorted(named.schemas),
    },
  };
}

/** What has a default need not be sent; a body of which nothing has to be sent may be left out. */
function relaxBody(body: RequestBody): void {
  const { schema } = body.content['application/json'];
  const { properties, required = [], ...rest } = schema;
  const needed = required.filter((name) => !('default' in (properties[name] ?? {})));
  body.required = needed.length > 0 || 'minProperties' in schema;
  body.content['application/json'].schema = {
    ...rest,
    ...(needed.length > 0 ? { required: needed } : {}),
    properties,
  };
}

const ifNoneMatch: JsonObject = {
  name: 'If-None-Match',
  in: 'header',
  required: false,
  description: 'Tags of what you have, or `*`; where one of them is current, the answer is 304.',
  schema: { type: 'string' },
};

function parametersOf({ parameters = [], responses: answers }: Operation): JsonObject[] {
  return [
    // A parameter that has a default need not be sent; the validator's view of it is after that.
    ...parameters.map((parameter) =>
      'default' in (parameter['schema'] as JsonObject)
        ? { ...parameter, required: false }
        : parameter,
    ),
    ...('304' in answers ? [ifNoneMatch] : []),
  ];
}

/** Headers are components by their names; an error is one by the codes that it can have. */
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

/** Subtrees that hold values, not schemas: a `title` in them is somebody's data. */
const valueKeys = new Set(['example', 'examples', 'default', 'enum', 'const']);

/** Moves every schema that has a `title` into `schemas`, once, and refers to it. */
function hoist(node: Json, schemas: JsonObject): Json {
  if (Array.isArray(node)) return node.map((item) => hoist(item, schemas));
  if (node === null || typeof node !== 'object') return node;
  const inner = Object.fromEntries(
    Object.entries(node).map(([key, value]) => [
      key,
      valueKeys.has(key) ? value : hoist(value, schemas),
    ]),
  );
  const { title } = node;
  if (typeof title !== 'string' || node['type'] === undefined) return inner;
  const { title: _, ...schema } = inner;
  define(schemas, title, schema);
  return { $ref: `#/components/schemas/${title}` };
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
