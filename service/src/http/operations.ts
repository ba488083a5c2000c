/**
 * Each operation of the three HTTP APIs is defined once: what it is called, what it takes and returns, and the function
 * that runs it. `mountOperations` serves operations on a surface, which decides where they are, who may call them and
 * which errors they share. The operations on webhooks are served on two surfaces: `/api/v1` and `/portal/api`.
 */
import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySchema,
  FastifySchemaCompiler,
  onRequestHookHandler,
} from 'fastify';
import { Type, type Static, type TObject, type TSchema } from 'typebox';
import { noQuery } from '../contract/shapes.ts';
import type { ErrorCode } from '../errors.ts';
import type { inTurnOfCaller } from './admission/caller-turns.ts';
import { refuseFields, withEmptyBody } from './json-bodies.ts';
import type { oneOf, responses } from './responses/responses.ts';
import { toEntry, type Entry } from './responses/response-cache.ts';
import { sendEntry } from './responses/send-entry.ts';
import { validatorCompiler } from './validate.ts';

type Status = 200 | 201 | 202;
type Response = ReturnType<typeof oneOf>;

/** The names of the parameters in a path: `/apps/:appId` has `appId`. */
type ParameterNames<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParameterNames<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

type Inputs<Path extends string, Query extends TSchema, Body extends TSchema> = {
  params: Record<ParameterNames<Path>, string>;
  query: Static<Query>;
  body: Static<Body>;
  request: FastifyRequest;
  reply: FastifyReply;
};

/** `Context` is what the surface gives to `run` in addition to the inputs: dependencies and the caller. */
export type Operation<
  Context,
  Path extends string = string,
  Query extends TSchema = TSchema,
  Body extends TSchema = TSchema,
> = {
  operationId: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path below the root of the surface. */
  path: Path;
  summary: string;
  description: string;
  /** Default: those of the surface that are in the path. */
  params?: TObject;
  query?: Query;
  body?: Body;
  /** A request without a body counts as one with `{}`. */
  bodyOptional?: boolean;
  /** Set if `run` validates the body itself, a stream or a list. `body` then only describes it. */
  ownBody?: { bytesMax: number; consumes?: string[] };
  headers?: TObject;
  /** A description for each status of success. With more than one, `run` sets the status. */
  returns: Partial<Record<Status, string>>;
  response: Response | ((status: Status) => Response);
  /** The errors in addition to those of the surface. `not_found` follows from a parameter in the path. */
  errors?: readonly ErrorCode[];
  /** Whether the response has an `ETag`. All conditional reads have one. */
  tagged?: boolean;
  /** Of a conditional read. Default: as for responses that require a key. */
  cacheControl?: string;
  /** Whether it mostly waits for somebody else's server, so that it needs no turn. */
  waitsForOthers?: boolean;
  /** Whether the caller must have proved recently who they are, always or if `run` asks. Holds where people sign in. */
  recentProof?: true | 'if asked';
  /**
   * Returns the body of the response, a function that sends it, or the reply if it has sent it; a conditional read may return
   * its bytes. Not what waits until the caller has read the response: the caller's other requests would wait for that.
   */
  run(context: Context & Inputs<Path, Query, Body>): object | Promise<object>;
};

export type Surface<Context> = {
  /** Default: empty. */
  root?: string;
  config: FastifyContextConfig;
  /** Runs before validation. */
  onRequest?: onRequestHookHandler;
  security: NonNullable<FastifySchema['security']>;
  /** Whether reads have an `ETag` and can return 304. Otherwise responses must not be stored. */
  conditional: boolean;
  /** The errors that every read or write can return. */
  errors: { read: ErrorCode[]; write: ErrorCode[] };
  responses: typeof responses;
  /** The schemas of the parameters that are used in paths. */
  parameters: Record<string, TSchema>;
  /** Default: the operation's own description. */
  describe?(operation: Operation<Context>): string;
  /** Throws `proof_required` if the caller has not proved recently who they are. Default: callers have keys. */
  requireRecentProof?(request: FastifyRequest): void;
  /** When an operation runs. Default: at once, because callers are trusted. */
  inTurn?: typeof inTurnOfCaller;
  /** Throws if the caller may not use the operation. */
  contextOf(request: FastifyRequest): Context | Promise<Context>;
};

/** Returns a function that gives `run` the types of the operation's parameters, query and body. */
export function operationFor<Context>() {
  return <const Path extends string, Query extends TSchema, Body extends TSchema>(
    operation: Operation<Context, Path, Query, Body>,
  ): Operation<Context> => operation;
}

export function mountOperations<Context>(
  app: FastifyInstance,
  surface: Surface<Context>,
  tag: string,
  operations: readonly Operation<Context>[],
): void {
  for (const operation of operations) {
    const url = (surface.root ?? '') + operation.path;
    app.route({
      method: operation.method,
      url,
      config: surface.config,
      onRequest: surface.onRequest ?? [],
      preValidation: bodyHookOf(operation),
      ...(operation.ownBody && {
        bodyLimit: operation.ownBody.bytesMax,
        validatorCompiler: acceptAnyBody,
      }),
      schema: schemaOf(operation, surface, tag, url),
      handler: (request, reply) => handle(operation, surface, request, reply),
    });
  }
}

function bodyHookOf<Context>(operation: Operation<Context>) {
  if (operation.bodyOptional) return withEmptyBody;
  return operation.body || isRead(operation) ? [] : refuseFields;
}

const acceptAnyBody: FastifySchemaCompiler<TSchema> = (route) =>
  route.httpPart === 'body' ? () => true : validatorCompiler(route);

async function handle<Context>(
  operation: Operation<Context>,
  surface: Surface<Context>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const run = () => runOperation(operation, surface, request, reply);
  const inTurn = operation.waitsForOthers ? undefined : surface.inTurn;
  const content = await (inTurn?.(request, run) ?? run());
  if (typeof content === 'function') return (content as () => FastifyReply)();
  if (content === reply || reply.sent) return reply;
  if (surface.conditional && isRead(operation))
    return sendEntry(
      request,
      reply,
      'etag' in content ? (content as Entry) : toEntry(0, content),
      operation.cacheControl,
    );
  // The response may hold a secret, so no cache may store it.
  reply.header('cache-control', 'no-store');
  if (!operation.tagged) return reply.send(content);
  const { etag, body: bytes } = toEntry(0, content);
  return reply.headers({ etag, 'content-type': 'application/json; charset=utf-8' }).send(bytes);
}

async function runOperation<Context>(
  operation: Operation<Context>,
  surface: Surface<Context>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<object> {
  const context = await surface.contextOf(request);
  const { query, body } = request;
  const params = request.params as Record<string, string>;
  if (operation.recentProof === true) surface.requireRecentProof?.(request);
  const [status = 200] = Object.keys(operation.returns).map(Number);
  reply.code(status);
  return operation.run({ ...context, params, query, body, request, reply });
}

function isRead({ method }: { method: string }): boolean {
  return method === 'GET';
}

function schemaOf<Context>(
  operation: Operation<Context>,
  surface: Surface<Context>,
  tag: string,
  url: string,
): FastifySchema {
  const { operationId, summary, query = noQuery, body, headers, ownBody } = operation;
  const params = operation.params ?? paramsOf(url, surface.parameters);
  return {
    operationId,
    tags: [tag],
    summary,
    description: surface.describe?.(operation) ?? operation.description,
    security: surface.security,
    ...(params ? { params } : {}),
    querystring: query,
    ...(headers ? { headers } : {}),
    ...(body ? { body } : {}),
    ...(ownBody?.consumes ? { consumes: ownBody.consumes } : {}),
    response: responsesOf(operation, surface, url),
  };
}

function paramsOf(url: string, parameters: Record<string, TSchema>): TObject | null {
  const parts = url.split('/');
  const inUrl = Object.entries(parameters).filter(([name]) => parts.includes(`:${name}`));
  return inUrl.length > 0 ? Type.Object(Object.fromEntries(inUrl)) : null;
}

function responsesOf<Context>(
  operation: Operation<Context>,
  surface: Surface<Context>,
  url: string,
) {
  const errors = [...surface.errors[isRead(operation) ? 'read' : 'write']];
  if (url.includes(':')) errors.push('not_found');
  if (operation.recentProof && surface.requireRecentProof) errors.push('proof_required');
  errors.push(...(operation.errors ?? []));
  const conditional = surface.conditional && isRead(operation);
  const options = { conditional, tagged: conditional || operation.tagged === true };
  const { returns, response } = operation;
  const described = Object.entries(returns).map(([code, description]) => {
    const status = Number(code) as Status;
    const ofStatus = typeof response === 'function' ? response(status) : response;
    return surface.responses(status, description, ofStatus, [...new Set(errors)], options);
  });
  return Object.assign({}, ...described) as ReturnType<typeof responses>;
}
