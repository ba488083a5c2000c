/** Serves GET /openapi.json of one API. The bytes are created at the first request, when all routes are known. */
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { mountOperations, type Surface } from '../operations.ts';
import { publicEntry, type Entry } from '../responses/response-cache.ts';

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
