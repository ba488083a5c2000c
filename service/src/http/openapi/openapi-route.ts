/** Serves GET /openapi.json of one API. The bytes are created at the first request, when all routes are known. */
import type { FastifyContextConfig, FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { noQuery } from '../../contract/shapes.ts';
import type { responses as describeResponses } from '../responses/responses.ts';
import { toEntry, type Entry } from '../responses/response-cache.ts';
import { sendEntry } from '../responses/send-entry.ts';

export function registerOpenApiRoute(
  app: FastifyInstance,
  options: {
    title: string;
    /** The callers of the operation, for APIs without scopes. */
    config?: FastifyContextConfig;
    responses: (body: Body) => ReturnType<typeof describeResponses>;
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
        summary: 'Get this document',
        description: `${options.title} as OpenAPI 3.1. Requires no key.`,
        security: [],
        querystring: noQuery,
        response: options.responses({ schema: OpenApiDocument, example: { openapi: '3.1.0' } }),
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
    description: 'The OpenAPI document, without the envelope.',
    additionalProperties: true,
  },
);
type Body = { schema: typeof OpenApiDocument; example: { openapi: string } };
