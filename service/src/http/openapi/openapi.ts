/**
 * Builds openapi.json from the routes: named objects become components, events become webhooks. The parts that no route
 * schema has are here: servers, security schemes, tags. The internal API has a separate file.
 */
import swagger, { type FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { attemptsMaxInWords } from '../../contract/delivery-rules.ts';
import { exampleId, exampleTime } from '../../contract/examples.ts';
import { strictObject, time, uuid } from '../../contract/shapes.ts';
import { catalogue, type EventName } from '../../events/catalogue.ts';
import { mountOperations, type Surface } from '../operations.ts';
import { publicEntry, type Entry } from '../responses/response-cache.ts';
import { keySchemes, pascalCase, withNamedComponents } from './openapi-components.ts';

export type OpenApiDependencies = { publicUrl: string; serviceName: string; version: string };

const tags = [
  { name: 'Status', description: 'The status of the service.' },
  { name: 'Organisations', description: 'Organisations in the directory.' },
  { name: 'Alliances', description: 'Alliances of organisations.' },
  { name: 'Blueprints', description: 'Crafting recipes.' },
  { name: 'Search', description: 'Search over the whole directory.' },
  {
    name: 'Webhooks',
    description: "Webhooks of the key's app.",
  },
  { name: 'Events', description: 'Events to poll.' },
  { name: 'Webhook events', description: 'The requests that webhooks receive.' },
  { name: 'Description', description: 'This document.' },
];

const describePublicApi = (
  publicUrl: string,
) => `A public directory of organisations, alliances and blueprints, with signed webhooks for events.

Every response is an envelope: \`success\`, \`data\` and \`meta\`, or \`success\` and \`error\`. Send your key as \`Authorization: Bearer <API_KEY>\`.
Reads have an \`ETag\`. Send it as \`If-None-Match\` to get a 304 if nothing has changed. Requests are limited per key
and per app; \`X-RateLimit-Remaining\` is the number of requests left. New fields, events and operations may be added to version 1; none is removed.
Text must not contain the character U+0000.

A typed client for TypeScript and JavaScript is at ${publicUrl}/client.`;

export async function registerOpenApi(
  app: FastifyInstance,
  dependencies: OpenApiDependencies,
): Promise<void> {
  const { publicUrl, serviceName } = dependencies;
  await describeApi(app, dependencies, {
    title: `${serviceName} API`,
    description: describePublicApi(publicUrl),
    tags,
    webhooks: webhooks(serviceName),
  });
}

type Description = {
  title: string;
  description: string;
  tags: { name: string; description: string }[];
  /** Of the API. Default: the public address. */
  url?: string;
  /** Default: keys. */
  securitySchemes?: object;
  webhooks?: object;
};

/** Call it before the routes are registered: the document includes only routes that come later. */
export async function describeApi(
  app: FastifyInstance,
  { publicUrl, version }: OpenApiDependencies,
  { title, description, tags: names, url = publicUrl, ...parts }: Description,
): Promise<void> {
  const { securitySchemes = keySchemes, webhooks: hooks } = parts;
  const info = {
    title,
    version,
    description,
    license: { name: 'MIT', identifier: 'MIT' },
    contact: { name: 'The operator of this directory', url: publicUrl },
  };
  const openapi = {
    openapi: '3.1.0',
    info,
    servers: [{ url }],
    tags: names,
    components: { securitySchemes },
    ...(hooks && { webhooks: hooks }),
  };
  await app.register(swagger, {
    // Its types know neither the identifier of a licence nor webhooks without paths.
    openapi: openapi as FastifyDynamicSwaggerOptions['openapi'] & object,
    transformObject: withNamedComponents,
  });
}

/** Serves GET /openapi.json. The bytes are created at the first request, when all routes are known. */
export function registerOpenApiRoute(
  app: FastifyInstance,
  title: string,
  surface: Omit<Surface<object>, 'contextOf' | 'conditional'>,
): void {
  let entry: Entry | undefined;
  const open = { ...surface, conditional: true, contextOf: () => ({}) };
  mountOperations(app, open, 'Description', [
    {
      operationId: 'getOpenApi',
      method: 'GET',
      path: '/openapi.json',
      summary: 'Get this document',
      description: `${title} as OpenAPI 3.1. Requires no key.`,
      returns: { 200: 'The document.' },
      response: { schema: OpenApiDocument, example: { openapi: '3.1.0' } },
      cacheControl: 'public, max-age=300',
      run: () => (entry ??= publicEntry(Buffer.from(JSON.stringify(app.swagger())))),
    },
  ]);
}

const OpenApiDocument = Type.Object(
  { openapi: Type.String({ description: 'The version of OpenAPI.' }) },
  {
    title: 'OpenApiDocument',
    description: 'The OpenAPI document, without the envelope.',
    additionalProperties: true,
  },
);

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
      id: uuid({ description: 'The id of the delivery, the same for all attempts.' }),
      event: Type.Literal(name, { description: 'The name of the event.' }),
      createdAt: time({ description: 'When the event happened.' }),
      data,
    },
    { title: `${pascalCase(name)}Delivery`, description: `The request body for \`${name}\`.` },
  );
  return {
    operationId: `on${pascalCase(name)}`,
    tags: ['Webhook events'],
    summary,
    description: `${recipients[audience]} ${audience === 'webhook' ? singleRule : deliveryRule}`,
    // The receiver identifies the sender by the signatures.
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
      '200': { description: 'The delivery succeeded, as with any 2xx status.' },
      '4XX': {
        description:
          audience === 'webhook'
            ? 'The attempt failed.'
            : 'The attempt failed and is retried. If the last attempt gets a 410, the webhook is deactivated.',
      },
    },
  };
}

const deliveryRule = `Respond with any 2xx status within ten seconds. Otherwise the delivery is retried, up to ${attemptsMaxInWords} attempts in all.`;
const singleRule =
  'Respond with any 2xx status within ten seconds. It is sent once, and a failure does not affect the health of the webhook.';

const recipients = {
  global: 'Sent to every webhook that subscribes to it.',
  organization: 'Sent only to webhooks of apps that are bound to the organisation.',
  alliance: 'Sent only to webhooks of apps that are bound to the alliance.',
  webhook: 'Sent to that webhook alone.',
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
      '`sha256=` and the HMAC-SHA256 of the body in lower-case hex, with the whole secret as key.',
      `sha256=${'0123456789abcdef'.repeat(4)}`,
    ),
    header('webhook-id', 'The id of the delivery, for Standard Webhooks.', exampleId),
    header(
      'webhook-timestamp',
      'When the attempt was made, in seconds since 1970.',
      String(Date.parse(exampleTime) / 1000),
    ),
    header(
      'webhook-signature',
      '`v1,` and the signature of Standard Webhooks. While a secret is rotated, two signatures with a space between.',
      'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
    ),
  ];
}
