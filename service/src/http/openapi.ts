/**
 * Builds openapi.json from the routes: named objects become components, events become webhooks. The parts that no route
 * schema has are here: servers, security schemes, tags. The internal API has a separate file.
 */
import swagger, { type FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { attemptsMaxInWords } from '../contract/delivery-rules.ts';
import { exampleId, exampleTime } from '../contract/examples.ts';
import { strictObject, time, uuid } from '../contract/shapes.ts';
import { catalogue, type EventName } from '../events/catalogue.ts';
import { pascalCase, securitySchemes, withNamedComponents } from './openapi-components.ts';

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
      info: infoOf(`${serviceName} API`, description, { publicUrl, version }),
      servers: [{ url: publicUrl }],
      tags,
      components: { securitySchemes },
      webhooks: webhooks(serviceName) as never,
    },
    transformObject: withNamedComponents,
  };
}

/** The `info` that all our descriptions share. */
export function infoOf(
  title: string,
  words: string,
  { publicUrl, version }: Pick<OpenApiDependencies, 'publicUrl' | 'version'>,
) {
  return {
    title,
    version,
    description: words,
    license: { name: 'MIT', identifier: 'MIT' },
    contact: { name: 'The operator of this directory', url: publicUrl },
  } as NonNullable<NonNullable<FastifyDynamicSwaggerOptions['openapi']>['info']>;
}

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
    description: `${recipients[audience]} ${name === 'webhook.test' ? testRule : deliveryRule}`,
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
      '200': { description: 'Received. Any other 2xx says the same.' },
      '4XX': {
        description:
          name === 'webhook.test'
            ? 'The test failed.'
            : 'Refused; it is tried again. After a last 410 the webhook is deactivated.',
      },
    },
  };
}

const deliveryRule = `Answer with any 2xx status within ten seconds; everything else is tried again, up to ${attemptsMaxInWords} times.`;
const testRule =
  'Answer with any 2xx status within ten seconds. A test is sent once, and its outcome does not affect the webhook.';

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
