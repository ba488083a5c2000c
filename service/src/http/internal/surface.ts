/** The schemas and dependencies that all routes of the internal API share. */
import { Type } from 'typebox';
import type { Actor } from '../../access/actor.ts';
import { noNul, slug, uuid } from '../../contract/shapes.ts';
import { holdKey } from '../../access/keys.ts';
import type { Change, Database } from '../../database/database.ts';
import type { Search } from '../../directory/search/search.ts';
import type { Publisher } from '../../directory/publish-in-groups.ts';
import type { ErrorCode } from '../../errors.ts';
import type { Syncs } from '../../sync/syncs.ts';
import { keySecurity, unauthorized } from '../admission/admit.ts';
import { operationFor, type Surface } from '../operations.ts';
import { responses } from '../responses/responses.ts';
import { confirmedChange } from '../confirmed-change.ts';
import { actorOf, callerOf } from './authenticate.ts';

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
      actor: actorOf(request),
      change: confirmedChange(dependencies.writes, async (tx) => {
        if (!(await holdKey(tx, callerOf(request)))) throw unauthorized();
      }),
    }),
  };
}

/** The `response` of a route schema. */
function internalResponses(...given: Parameters<typeof responses>) {
  const [status, description, response, errors, options] = given;
  return responses(status, description, response, errors, { ...options, counted: false });
}
