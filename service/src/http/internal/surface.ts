/** What all routes of the internal API share: who may call them, their schemas and dependencies. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { keyActor, type Actor } from '../../access/actor.ts';
import { noNul, slug, uuid } from '../../contract/shapes.ts';
import type { KeyCache } from '../../access/key-cache.ts';
import { holdKey, type Caller } from '../../access/keys.ts';
import type { Change, Database } from '../../database/database.ts';
import type { Search } from '../../directory/search/search.ts';
import type { Publisher } from '../../directory/publish-in-groups.ts';
import { ServiceError, type ErrorCode } from '../../errors.ts';
import type { Syncs } from '../../sync/syncs.ts';
import { keySecurity, presentedKey, requireRights, unauthorized } from '../admission/admit.ts';
import { operationFor, type Surface } from '../operations.ts';
import { responses } from '../responses/responses.ts';
import { confirmedChange } from '../confirmed-change.ts';

export type RouteDependencies = {
  /** For reads. */
  database: Database;
  search: Search;
  /** For writes. They wait for each other, and the public API must not wait for a connection behind them. */
  writes: Database;
  publisher: Publisher;
  /** The base of URLs in events and responses. */
  publicUrl: string;
  syncs: Pick<Syncs, 'begin'>;
};

export const orgParams = Type.Object({
  slug: slug({ description: 'The unique name in URLs.', examples: ['acme-corporation'] }),
});
export const allianceParams = Type.Object({
  slug: slug({ description: 'The unique name in URLs.', examples: ['northern-league'] }),
});
export const blueprintParams = Type.Object({
  key: Type.String({
    ...noNul,
    minLength: 1,
    maxLength: 200,
    description: 'The unique key in the source.',
    examples: ['granite'],
  }),
});

/** `forbidden` also covers a host name that is not in INTERNAL_ALLOWED_HOSTS, with or without a key. */
const open: ErrorCode[] = ['validation_failed', 'internal_error', 'forbidden'];
const keyed: ErrorCode[] = [...open, 'unauthorized', 'suspended', 'unavailable'];

export type InternalContext = RouteDependencies & { actor: Actor; change: Change };
export const operation = operationFor<InternalContext>();

export const openSurface = {
  config: { scope: null },
  security: [],
  errors: { read: open, write: [] },
  responses: internalResponses,
  parameters: {},
};

/** Any platform key may call every operation. */
export function surfaceOf(dependencies: RouteDependencies): Surface<InternalContext> {
  return {
    config: { scope: 'platform' },
    security: keySecurity,
    conditional: true,
    errors: { read: keyed, write: [...keyed, 'payload_too_large', 'unsupported_media_type'] },
    responses: internalResponses,
    parameters: {
      id: uuid({ description: 'The id of the run.' }),
      appId: uuid({ description: 'The id of the app.' }),
    },
    contextOf: (request) => ({
      ...dependencies,
      actor: keyActor(callerOf(request)),
      change: confirmedChange(dependencies.writes, async (tx) => {
        if (!(await holdKey(tx, callerOf(request)))) throw unauthorized();
      }),
    }),
  };
}

/** Admits callers with a platform key. */
export function registerAuthentication(
  v1: FastifyInstance,
  { keyCache }: { keyCache: KeyCache },
): void {
  v1.decorateRequest('caller', null);
  v1.addHook('onRequest', async (request) => {
    // Runs before the body is read: an unknown address gets a 404 whatever its body is.
    if (request.is404) throw new ServiceError('not_found');
    const { scope } = request.routeOptions.config;
    if (scope === undefined || scope === null) return;
    const key = presentedKey(request);
    const caller = key === null ? null : await keyCache.authenticate(key);
    if (!caller) throw unauthorized();
    request.caller = caller;
    requireRights(caller, scope);
  });
}

/** Throws `unauthorized`. */
function callerOf({ caller }: FastifyRequest): Caller {
  if (!caller) throw unauthorized();
  return caller;
}

/** The `response` of a route schema. */
function internalResponses(...given: Parameters<typeof responses>) {
  const [status, description, response, errors, options] = given;
  return responses(status, description, response, errors, { ...options, counted: false });
}
