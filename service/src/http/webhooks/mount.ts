/** Serves the operations on an app's webhooks below one address, to one kind of caller. */
import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySchema,
} from 'fastify';
import { Type } from 'typebox';
import { meta } from '../../contract/envelope.ts';
import { noQuery, uuid } from '../../contract/shapes.ts';
import type { ErrorCode } from '../../errors.ts';
import { withEmptyBody } from '../json-bodies.ts';
import type { responses } from '../responses.ts';
import { toEntry } from '../response-cache.ts';
import { sendEntry } from '../send-entry.ts';
import { deliveryOperations } from './delivery-operations.ts';
import type { Caller, Operation, WebhookDependencies } from './operation.ts';
import { webhookOperations } from './webhook-operations.ts';

/** Where the operations stand, who may ask for them, and how their answers are described and cached. */
export type Surface = {
  root: string;
  config: FastifyContextConfig;
  security: NonNullable<FastifySchema['security']>;
  /** Whether reads have an `ETag` and answer 304. Otherwise nothing is stored on the way. */
  conditional: boolean;
  /** The errors that every read or write can give. */
  errors: { read: ErrorCode[]; write: ErrorCode[] };
  responses: typeof responses;
  describe(operation: Operation): string;
  /** Throws where the caller has no such app. */
  callerOf(request: FastifyRequest): Caller | Promise<Caller>;
};

export function mountWebhooks(
  app: FastifyInstance,
  dependencies: WebhookDependencies,
  surface: Surface,
): void {
  for (const operation of [...webhookOperations, ...deliveryOperations])
    app.route({
      method: operation.method,
      url: surface.root + operation.path,
      config: surface.config,
      preValidation: operation.bodyOptional ? withEmptyBody : [],
      schema: schemaOf(operation, surface),
      handler: async (request, reply) => {
        const caller = await surface.callerOf(request);
        const inputs = inputsOf(request);
        const { data, ...page } = await operation.run({ ...dependencies, ...caller, ...inputs });
        const content = { success: true, data, meta, ...page };
        if (surface.conditional && isRead(operation))
          return sendEntry(request, reply, toEntry(0, content));
        return sendOnce(reply.code(operation.status ?? 200), content);
      },
    });
}

function isRead({ method }: Operation): boolean {
  return method === 'GET';
}

function inputsOf({ params, query, body }: FastifyRequest) {
  return { params: params as { id: string; deliveryId: string }, query, body };
}

/** A secret may be in it: nobody may keep a copy on the way. */
function sendOnce(reply: FastifyReply, content: object): FastifyReply {
  return reply.header('cache-control', 'no-store').send(content);
}

function schemaOf(operation: Operation, surface: Surface): FastifySchema {
  const { operationId, path, summary, query = noQuery, body } = operation;
  return {
    operationId,
    tags: ['Webhooks'],
    summary,
    description: surface.describe(operation),
    security: surface.security,
    params: paramsOf(surface.root + path),
    querystring: query,
    ...(body ? { body } : {}),
    response: responsesOf(operation, surface),
  };
}

function responsesOf(operation: Operation, surface: Surface) {
  const { status = 200, answered, answer, conflicts } = operation;
  const errors = [...surface.errors[isRead(operation) ? 'read' : 'write']];
  if (hasParams(surface.root + operation.path)) errors.push('not_found');
  if (conflicts) errors.push('conflict');
  const conditional = surface.conditional && isRead(operation);
  return surface.responses(status, answered, answer, errors, { conditional });
}

const parameters = {
  appId: uuid({ description: 'Of the app.' }),
  id: uuid({ description: 'Of the webhook.' }),
  deliveryId: uuid({ description: 'Of the delivery.' }),
};

function paramsOf(url: string) {
  const inUrl = Object.entries(parameters).filter(([name]) => url.split('/').includes(`:${name}`));
  return Type.Object(Object.fromEntries(inUrl));
}

function hasParams(url: string): boolean {
  return url.includes(':');
}
