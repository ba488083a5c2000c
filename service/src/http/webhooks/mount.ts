/** Serves the operations on an app's webhooks under one address, to one kind of caller. */
import type { FastifyContextConfig, FastifyInstance, FastifyRequest, FastifySchema } from 'fastify';
import { Type } from 'typebox';
import { noQuery, uuid } from '../../contract/shapes.ts';
import type { ErrorCode } from '../../errors.ts';
import { withEmptyBody } from '../json-bodies.ts';
import type { responses } from '../responses.ts';
import { toEntry } from '../response-cache.ts';
import { sendEntry } from '../send-entry.ts';
import { deliveryOperations } from './delivery-operations.ts';
import type { Caller, Operation, WebhookDependencies } from './operation.ts';
import { webhookOperations } from './webhook-operations.ts';

/** The path and the callers of the operations, and how responses are described and cached. */
export type Surface = {
  root: string;
  config: FastifyContextConfig;
  security: NonNullable<FastifySchema['security']>;
  /** Whether reads have an `ETag` and can return 304. Otherwise responses must not be stored. */
  conditional: boolean;
  /** The errors that every read or write can return. */
  errors: { read: ErrorCode[]; write: ErrorCode[] };
  responses: typeof responses;
  describe(operation: Operation): string;
  /** Throws if the caller has no such app. */
  callerOf(request: FastifyRequest): Caller | Promise<Caller>;
};

export function mountWebhooks(
  app: FastifyInstance,
  dependencies: WebhookDependencies,
  surface: Surface,
): void {
  for (const operation of [...webhookOperations, ...deliveryOperations]) {
    const url = surface.root + operation.path;
    app.route({
      method: operation.method,
      url,
      config: surface.config,
      preValidation: operation.bodyOptional ? withEmptyBody : [],
      schema: schemaOf(operation, surface, url),
      handler: async (request, reply) => {
        const caller = await surface.callerOf(request);
        const inputs = inputsOf(request);
        const content = await operation.run({ ...dependencies, ...caller, ...inputs });
        if (surface.conditional && isRead(operation))
          return sendEntry(request, reply, toEntry(0, content));
        // The response may hold a secret, so no cache may store it.
        return reply
          .code(operation.status ?? 200)
          .header('cache-control', 'no-store')
          .send(content);
      },
    });
  }
}

function isRead({ method }: Operation): boolean {
  return method === 'GET';
}

function inputsOf({ params, query, body }: FastifyRequest) {
  return { params: params as { id: string; deliveryId: string }, query, body };
}

function schemaOf(operation: Operation, surface: Surface, url: string): FastifySchema {
  const { operationId, summary, query = noQuery, body } = operation;
  return {
    operationId,
    tags: ['Webhooks'],
    summary,
    description: surface.describe(operation),
    security: surface.security,
    params: paramsOf(url),
    querystring: query,
    ...(body ? { body } : {}),
    response: responsesOf(operation, surface, url),
  };
}

const parameters = {
  appId: uuid({ description: 'The id of the app.' }),
  id: uuid({ description: 'The id of the webhook.' }),
  deliveryId: uuid({ description: 'The id of the delivery.' }),
};

function paramsOf(url: string) {
  const parts = url.split('/');
  const inUrl = Object.entries(parameters).filter(([name]) => parts.includes(`:${name}`));
  return Type.Object(Object.fromEntries(inUrl));
}

function responsesOf(operation: Operation, surface: Surface, url: string) {
  const { status = 200, responseDescription, response, conflicts } = operation;
  const errors = [...surface.errors[isRead(operation) ? 'read' : 'write']];
  // An operation with a path parameter can return 404.
  if (url.includes(':')) errors.push('not_found');
  if (conflicts) errors.push('conflict');
  const conditional = surface.conditional && isRead(operation);
  return surface.responses(status, responseDescription, response, errors, { conditional });
}
