/** Serves GET /openapi.json of one API, public or internal. The bytes are made once, when all routes are known. */
import type { FastifyContextConfig, FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { noQuery } from '../contract/shapes.ts';
import type { responses } from './responses.ts';
import { toEntry, type Entry } from './response-cache.ts';
import { sendEntry } from './send-entry.ts';

export function registerOpenApiRoute(
  app: FastifyInstance,
  options: {
    describes: string;
    /** Who may call the operation, for APIs that do not use scopes. */
    config?: FastifyContextConfig;
    answers: (body: Body) => ReturnType<typeof responses>;
  },
): void {
  let entry: Entry | undefined;
  app.get(
    '/openapi.json',
    {
      config: options.config ?? { scope: null, duringMaintenance: true },
      schema: {
        operationId: 'getOpenApi',
        tags: ['Description'],
        summary: 'This description',
        description: `${options.describes} in OpenAPI 3.1. Needs no key.`,
        security: [],
        querystring: noQuery,
        response: options.answers({ schema: OpenApiDocument, example: { openapi: '3.1.0' } }),
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
type Body = { schema: typeof OpenApiDocument; example: { openapi: string } };
