/** Routes that read the directory: organisations, alliances, blueprints. Their responses are cached as bytes. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance, onRequestHookHandler } from 'fastify';
import { Type, type Static, type TSchema } from 'typebox';
import { Alliance, AllianceDetail } from '../../contract/alliance.ts';
import { Blueprint } from '../../contract/blueprint.ts';
import { envelope, pageEnvelope } from '../../contract/envelope.ts';
import { facetsSchema } from '../../contract/facets.ts';
import { examples } from '../../contract/examples.ts';
import { Organisation } from '../../contract/organisation.ts';
import { noQuery, slug } from '../../contract/shapes.ts';
import type { Database } from '../../database/database.ts';
import type { Replicas } from '../../database/replicas.ts';
import type { Scope } from '../../database/revisions.ts';
import { listAlliances, readAlliance } from '../../directory/alliances.ts';
import { listBlueprints, readBlueprint } from '../../directory/blueprints.ts';
import {
  AllianceQuery,
  blueprintFacets,
  orgFacets,
  PublicBlueprintQuery,
  PublicOrgQuery,
} from '../../directory/list-query.ts';
import type { Page } from '../../directory/list.ts';
import { listOrgs, readOrg } from '../../directory/orgs.ts';
import type { Search } from '../../directory/search/search.ts';
import { ServiceError } from '../../errors.ts';
import { keySecurity } from '../admission/admit.ts';
import { errorsOf, listOf, oneOf, responses } from '../responses/responses.ts';
import type { ResponseCache } from '../responses/response-cache.ts';
import { sendEntry, sendWhenLoaded } from '../responses/send-entry.ts';

export type DirectoryDependencies = {
  replicas: Replicas;
  search: Search;
  responseCache: ResponseCache;
  publicUrl: string;
};

export function registerDirectory(
  app: FastifyInstance,
  { replicas, search, responseCache, publicUrl }: DirectoryDependencies,
): void {
  const reads = { app, responseCache, replicas };

  listRoute(reads, {
    url: '/orgs',
    scope: 'directory',
    operationId: 'listOrgs',
    tag: 'Organisations',
    query: PublicOrgQuery,
    summary: 'List organisations',
    description: 'Returns the listed organisations, sorted by name by default.',
    responseDescription: 'A page of organisations.',
    response: listOf(
      Organisation,
      'OrganisationList',
      examples.organisation,
      facetsSchema(orgFacets, 'OrganisationFacets'),
    ),
    load: (database, query) => listOrgs({ database, search }, query, publicUrl),
  });
  detailRoute(reads, {
    url: '/orgs/:slug',
    scope: 'directory',
    operationId: 'getOrg',
    tag: 'Organisations',
    example: 'acme-corporation',
    summary: 'Get an organisation',
    description: 'Returns the organisation with this slug.',
    responseDescription: 'The organisation.',
    response: oneOf(Organisation, 'OrganisationResponse', examples.organisation),
    load: (database, name) => readOrg(database, name, publicUrl),
  });
  listRoute(reads, {
    url: '/alliances',
    scope: 'directory',
    operationId: 'listAlliances',
    tag: 'Alliances',
    query: AllianceQuery,
    summary: 'List alliances',
    description: 'Returns the alliances, sorted by name by default.',
    responseDescription: 'A page of alliances.',
    response: listOf(Alliance, 'AllianceList', examples.alliance),
    load: (database, query) => listAlliances({ database, search }, query, publicUrl),
  });
  detailRoute(reads, {
    url: '/alliances/:slug',
    scope: 'directory',
    operationId: 'getAlliance',
    tag: 'Alliances',
    example: 'northern-league',
    summary: 'Get an alliance',
    description: 'Returns the alliance with this slug, with its listed organisations.',
    responseDescription: 'The alliance with its organisations.',
    response: oneOf(AllianceDetail, 'AllianceResponse', examples.allianceDetail),
    load: (database, name) => readAlliance(database, name, publicUrl),
  });
  listRoute(reads, {
    url: '/blueprints',
    scope: 'blueprints',
    operationId: 'listBlueprints',
    tag: 'Blueprints',
    query: PublicBlueprintQuery,
    summary: 'List blueprints',
    description: 'Returns the blueprints, active and retired, sorted by name by default.',
    responseDescription: 'A page of blueprints.',
    response: listOf(
      Blueprint,
      'BlueprintList',
      examples.blueprint,
      facetsSchema(blueprintFacets, 'BlueprintFacets'),
    ),
    load: (database, query) => listBlueprints({ database, search }, query),
  });
  detailRoute(reads, {
    url: '/blueprints/:slug',
    scope: 'blueprints',
    operationId: 'getBlueprint',
    tag: 'Blueprints',
    example: 'granite',
    summary: 'Get a blueprint',
    description: 'Returns the blueprint with this slug.',
    responseDescription: 'The blueprint.',
    response: oneOf(Blueprint, 'BlueprintResponse', examples.blueprint),
    load: (database, name) => readBlueprint(database, name),
  });
}

type Reads = { app: FastifyInstance; responseCache: ResponseCache; replicas: Replicas };
type Operation = {
  url: string;
  scope: Scope;
  operationId: string;
  tag: string;
  summary: string;
  description: string;
  responseDescription: string;
  response: ReturnType<typeof oneOf>;
};

function listRoute<Query extends TSchema>(
  { app, responseCache, replicas }: Reads,
  operation: Operation & {
    query: Query;
    load: (database: Database, query: Static<Query>) => Promise<Page<unknown>>;
  },
): void {
  app.withTypeProvider<TypeBoxTypeProvider>().get(
    operation.url,
    {
      config: { scope: 'read:directory' },
      onRequest: sendCached(responseCache),
      schema: { ...documentation(operation, errorsOf.keyed), querystring: operation.query },
    },
    (request, reply) => {
      const query = request.query as Static<Query> & { page: number; limit: number };
      const location = {
        scope: operation.scope,
        key: cacheKey(operation.url, query),
        address: request.url,
      };
      const entry = responseCache.get(location, async () => {
        const { revision, total, rows, facets } = await replicas.read(operation.scope, (database) =>
          operation.load(database, query),
        );
        return {
          revision,
          content: pageEnvelope(rows, query, total, facets),
        };
      });
      return sendWhenLoaded(request, reply, entry);
    },
  );
}

function detailRoute(
  { app, responseCache, replicas }: Reads,
  operation: Operation & {
    example: string;
    load: (database: Database, slug: string) => Promise<{ revision: number; row: unknown }>;
  },
): void {
  const params = Type.Object({
    slug: slug({ description: 'The unique name in URLs.', examples: [operation.example] }),
  });
  app.withTypeProvider<TypeBoxTypeProvider>().get(
    operation.url,
    {
      config: { scope: 'read:directory' },
      onRequest: sendCached(responseCache),
      schema: {
        ...documentation(operation, errorsOf.keyedResource),
        params,
        querystring: noQuery,
      },
    },
    (request, reply) => {
      const name = request.params.slug;
      const location = {
        scope: operation.scope,
        key: `${operation.url} ${name}`,
        address: request.url,
      };
      const entry = responseCache.get(location, async () => {
        const { revision, row } = await replicas.read(operation.scope, (database) =>
          operation.load(database, name),
        );
        if (row === null) throw new ServiceError('not_found');
        return { revision, content: envelope(row) };
      });
      return sendWhenLoaded(request, reply, entry);
    },
  );
}

/** A cached URL is valid, so its entry is sent without validation. */
function sendCached(responseCache: ResponseCache): onRequestHookHandler {
  return (request, reply, done) => {
    const entry = request.method === 'GET' ? responseCache.peek(request.url) : null;
    if (entry) sendEntry(request, reply, entry);
    else done();
  };
}

function documentation(operation: Operation, errors: typeof errorsOf.keyed) {
  return {
    operationId: operation.operationId,
    tags: [operation.tag],
    summary: operation.summary,
    description: `${operation.description} Requires the scope \`read:directory\`.`,
    security: keySecurity,
    response: responses(200, operation.responseDescription, operation.response, errors, {
      conditional: true,
    }),
  };
}

/** Equal queries get equal keys, regardless of the order of their parameters. */
function cacheKey(url: string, query: object): string {
  return `${url} ${JSON.stringify(Object.entries(query).sort(([a], [b]) => (a < b ? -1 : 1)))}`;
}
