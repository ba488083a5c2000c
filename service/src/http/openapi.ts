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
      return nameComponents(documents.openapiObject as Document) as never;
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
  { openapi: Type.String() },
  { title: 'OpenApiDocument', additionalProperties: true },
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
      event: Type.Literal(name),
      createdAt: time(),
      data,
    },
    { title: `${pascalCase(name)}Delivery` },
  );
  return {
    operationId: `on${pascalCase(name)}`,
    tags: ['Events'],
    summary,
    description: `${recipients[audience]} Answer with any 2xx status within ten seconds; everything else is tried again, up to six times.`,
    parameters: deliveryHeaders(serviceName),
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

function header(name: string, text: string) {
  return { name, in: 'header', required: true, description: text, schema: { type: 'string' } };
}

function deliveryHeaders(serviceName: string) {
  return [
    header(`X-${serviceName}-Event`, 'The name of the event.'),
    header(`X-${serviceName}-Delivery`, 'The id of the delivery.'),
    header(
      `X-${serviceName}-Signature`,
      '`sha256=` and the HMAC-SHA256 of the body in lower-case hex; the key is the secret as shown.',
    ),
    header('webhook-id', 'The id of the delivery, as Standard Webhooks names it.'),
    header('webhook-timestamp', 'When the attempt was made, in seconds since 1970.'),
    header(
      'webhook-signature',
      '`v1,` and the signature of Standard Webhooks; several, with spaces between, while a secret is rotated.',
    ),
  ];
}

function pascalCase(name: string): string {
  return name
    .split('.')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}

// --- components -------------------------------------------------------------------------------

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type Document = {
  components?: { schemas?: Record<string, Json>; [key: string]: unknown };
  [key: string]: unknown;
};

/** Moves every schema that has a `title` into components, once, and refers to it. */
function nameComponents(document: Document): Document {
  const schemas: Record<string, Json> = {};
  const { paths, webhooks: hooks, ...rest } = JSON.parse(JSON.stringify(document)) as Document;
  const named = {
    ...rest,
    paths: hoist(paths as Json, schemas),
    webhooks: hoist(hooks as Json, schemas),
  };
  const sorted = Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1)));
  return { ...named, components: { ...rest.components, schemas: sorted } };
}

/** Subtrees that hold values, not schemas: a `title` in them is somebody's data. */
const valueKeys = new Set(['example', 'examples', 'default', 'enum', 'const']);

function hoist(node: Json, schemas: Record<string, Json>): Json {
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
  const known = schemas[title];
  if (known !== undefined && JSON.stringify(known) !== JSON.stringify(schema))
    throw new Error(`two different schemas are called ${title}`);
  schemas[title] = schema as Json;
  return { $ref: `#/components/schemas/${title}` };
}
