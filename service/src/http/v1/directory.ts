/** Operations that read the directory: organisations, alliances, blueprints. Their responses are cached as bytes. */
import type { FastifyInstance, onRequestHookHandler } from 'fastify';
import { Type, type Static, type TSchema } from 'typebox';
import { Alliance, AllianceDetail } from '../../contract/alliance.ts';
import { Blueprint } from '../../contract/blueprint.ts';
import { envelope, pageEnvelope } from '../../contract/envelope.ts';
import { facetsSchema } from '../../contract/facets.ts';
import { FoundBy } from '../../contract/found-by.ts';
import { examples } from '../../contract/examples.ts';
import { Organisation } from '../../contract/organisation.ts';
import { slug } from '../../contract/shapes.ts';
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
import type { DirectoryReads, Page } from '../../directory/list.ts';
import { listOrgs, readOrg } from '../../directory/orgs.ts';
import type { Search } from '../../directory/search/search.ts';
import { ServiceError } from '../../errors.ts';
import { mountOperations, operationFor, type Operation } from '../operations.ts';
import { listOf, oneOf } from '../responses/responses.ts';
import type { ResponseCache } from '../responses/response-cache.ts';
import { sendEntry } from '../responses/send-entry.ts';
import { keyedSurface } from './surface.ts';

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
  const context = { replicas, search, responseCache, publicUrl };
  const surface = {
    ...keyedSurface('read:directory'),
    onRequest: sendCached(responseCache),
    contextOf: () => context,
  };
  mountOperations(app, surface, 'Organisations', orgOperations);
  mountOperations(app, surface, 'Alliances', allianceOperations);
  mountOperations(app, surface, 'Blueprints', blueprintOperations);
}

/** A cached URL is valid, so its entry is sent without validation. */
function sendCached(responseCache: ResponseCache): onRequestHookHandler {
  return (request, reply, done) => {
    const entry = request.method === 'GET' ? responseCache.peek(request.url) : null;
    if (entry) sendEntry(request, reply, entry);
    else done();
  };
}

const operation = operationFor<DirectoryDependencies>();
const searchMeta = { search: Type.Optional(FoundBy) };

const orgOperations = [
  listOperation({
    path: '/orgs',
    scope: 'directory',
    operationId: 'listOrgs',
    query: PublicOrgQuery,
    summary: 'List organisations',
    description: 'Returns the listed organisations, sorted by name by default.',
    returns: { 200: 'A page of organisations.' },
    response: listOf(Organisation, 'OrganisationList', examples.organisation, {
      ...searchMeta,
      facets: Type.Optional(facetsSchema(orgFacets, 'OrganisationFacets')),
    }),
    load: (reads, query) => listOrgs(reads, query, reads.publicUrl),
  }),
  detailOperation({
    path: '/orgs/:slug',
    scope: 'directory',
    operationId: 'getOrg',
    example: 'acme-corporation',
    summary: 'Get an organisation',
    description: 'Returns the organisation with this slug.',
    returns: { 200: 'The organisation.' },
    response: oneOf(Organisation, 'OrganisationResponse', examples.organisation),
    load: readOrg,
  }),
];

const allianceOperations = [
  listOperation({
    path: '/alliances',
    scope: 'directory',
    operationId: 'listAlliances',
    query: AllianceQuery,
    summary: 'List alliances',
    description: 'Returns the alliances, sorted by name by default.',
    returns: { 200: 'A page of alliances.' },
    response: listOf(Alliance, 'AllianceList', examples.alliance, searchMeta),
    load: (reads, query) => listAlliances(reads, query, reads.publicUrl),
  }),
  detailOperation({
    path: '/alliances/:slug',
    scope: 'directory',
    operationId: 'getAlliance',
    example: 'northern-league',
    summary: 'Get an alliance',
    description: 'Returns the alliance with this slug, with its listed organisations.',
    returns: { 200: 'The alliance with its organisations.' },
    response: oneOf(AllianceDetail, 'AllianceResponse', examples.allianceDetail),
    load: readAlliance,
  }),
];

const blueprintOperations = [
  listOperation({
    path: '/blueprints',
    scope: 'blueprints',
    operationId: 'listBlueprints',
    query: PublicBlueprintQuery,
    summary: 'List blueprints',
    description: 'Returns the blueprints, active and retired, sorted by name by default.',
    returns: { 200: 'A page of blueprints.' },
    response: listOf(Blueprint, 'BlueprintList', examples.blueprint, {
      ...searchMeta,
      facets: Type.Optional(facetsSchema(blueprintFacets, 'BlueprintFacets')),
    }),
    load: listBlueprints,
  }),
  detailOperation({
    path: '/blueprints/:slug',
    scope: 'blueprints',
    operationId: 'getBlueprint',
    example: 'granite',
    summary: 'Get a blueprint',
    description: 'Returns the blueprint with this slug.',
    returns: { 200: 'The blueprint.' },
    response: oneOf(Blueprint, 'BlueprintResponse', examples.blueprint),
    load: readBlueprint,
  }),
];

type Described = Pick<
  Operation<DirectoryDependencies>,
  'path' | 'operationId' | 'summary' | 'description' | 'returns' | 'response'
> & { scope: Scope };

function listOperation<Query extends TSchema>({
  scope,
  load,
  ...described
}: Described & {
  query: Query;
  load: (
    reads: DirectoryReads & { publicUrl: string },
    query: Static<Query>,
  ) => Promise<Page<unknown>>;
}) {
  return operation({
    ...described,
    method: 'GET',
    run({ replicas, search, responseCache, publicUrl, query, request }) {
      const key = cacheKey(described.path, query as object);
      return responseCache.get({ scope, key, address: request.url }, async () => {
        const { revision, foundAt, total, rows, ...found } = await replicas.read(
          scope,
          (database) => load({ database, search, publicUrl }, query),
        );
        const page = query as { page: number; limit: number };
        const more = Object.entries(found).filter(([, value]) => value !== null);
        const content = pageEnvelope(rows, page, total, Object.fromEntries(more));
        // If they differ, nobody uses the page again.
        return { revision: Math.min(revision, foundAt), content };
      });
    },
  });
}

function detailOperation({
  scope,
  example,
  load,
  ...described
}: Described & {
  path: `/${string}/:slug`;
  example: string;
  load: (
    database: Database,
    slug: string,
    publicUrl: string,
  ) => Promise<{ revision: number; row: unknown }>;
}) {
  return operation({
    ...described,
    method: 'GET',
    params: Type.Object({
      slug: slug({ description: 'The unique name in URLs.', examples: [example] }),
    }),
    run({ replicas, responseCache, publicUrl, params: { slug: name }, request }) {
      const key = `${described.path} ${name}`;
      return responseCache.get({ scope, key, address: request.url }, async () => {
        const { revision, row } = await replicas.read(scope, (database) =>
          load(database, name, publicUrl),
        );
        if (row === null) throw new ServiceError('not_found');
        return { revision, content: envelope(row) };
      });
    },
  });
}

/** Equal queries get equal keys, regardless of the order of their parameters. */
function cacheKey(url: string, query: object): string {
  return `${url} ${JSON.stringify(Object.entries(query).sort(([a], [b]) => (a < b ? -1 : 1)))}`;
}
