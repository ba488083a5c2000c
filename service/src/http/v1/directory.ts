/** Operations that read the directory: organisations, alliances, blueprints. Their responses are cached as bytes. */
import type { FastifyInstance, onRequestHookHandler } from 'fastify';
import { Type, type Static, type TSchema } from 'typebox';
import { Alliance, AllianceDetail } from '../../contract/alliance.ts';
import { Blueprint } from '../../contract/blueprint.ts';
import { ChangesMeta } from '../../contract/changes.ts';
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
  decodePosition,
  encodePosition,
  listChanges,
  readPosition,
  type Changes,
} from '../../directory/changes.ts';
import {
  blueprintFacets,
  newest,
  orgFacets,
  PublicAllianceQuery,
  PublicBlueprintQuery,
  PublicOrgQuery,
} from '../../directory/list-query.ts';
import type { DirectoryReads, Page } from '../../directory/list.ts';
import type { SlugTable } from '../../directory/lock-directory.ts';
import { listOrgs, readOrg } from '../../directory/orgs.ts';
import type { Search } from '../../directory/search/search.ts';
import { invalid, ServiceError } from '../../errors.ts';
import { createSealedCursors, type SealedCursors } from '../../events/cursors.ts';
import { mountOperations, operationFor, type Operation } from '../operations.ts';
import { listOf, oneOf } from '../responses/responses.ts';
import type { ResponseCache } from '../responses/response-cache.ts';
import { sendEntry } from '../responses/send-entry.ts';
import { registerDownloads, type DownloadDependencies } from './downloads.ts';
import { keyedSurface } from './surface.ts';

export type DirectoryDependencies = {
  replicas: Replicas;
  search: Search;
  responseCache: ResponseCache;
  publicUrl: string;
  /** As in SECRET_KEY, newest first. */
  secretKeys: readonly Buffer[];
} & DownloadDependencies;
type DirectoryContext = Pick<
  DirectoryDependencies,
  'replicas' | 'search' | 'responseCache' | 'publicUrl'
> & { cursors: SealedCursors };

export function registerDirectory(
  app: FastifyInstance,
  { secretKeys, ...dependencies }: DirectoryDependencies,
): void {
  const { replicas, search, responseCache, publicUrl } = dependencies;
  const cursors = createSealedCursors(secretKeys);
  const context = { replicas, search, responseCache, publicUrl, cursors };
  const surface = {
    ...keyedSurface('read:directory'),
    onRequest: sendCached(responseCache),
    contextOf: () => context,
  };
  mountOperations(app, surface, 'Organisations', orgOperations);
  mountOperations(app, surface, 'Alliances', allianceOperations);
  mountOperations(app, surface, 'Blueprints', blueprintOperations);
  registerDownloads(app, dependencies, cursors);
}

/** A cached URL is valid, so its entry is sent without validation. */
function sendCached(responseCache: ResponseCache): onRequestHookHandler {
  return (request, reply, done) => {
    const entry = request.method === 'GET' ? responseCache.peek(request.url) : null;
    if (entry) sendEntry(request, reply, entry);
    else done();
  };
}

const operation = operationFor<DirectoryContext>();
const listMeta = { search: Type.Optional(FoundBy), changes: Type.Optional(ChangesMeta) };

const orgOperations = [
  listOperation('orgs', {
    path: '/orgs',
    scope: 'directory',
    operationId: 'listOrgs',
    query: PublicOrgQuery,
    summary: 'List organisations',
    description: 'Returns the listed organisations, sorted by name by default.',
    returns: { 200: 'A page of organisations.' },
    response: listOf(Organisation, 'OrganisationList', examples.organisation, {
      ...listMeta,
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
  listOperation('alliances', {
    path: '/alliances',
    scope: 'directory',
    operationId: 'listAlliances',
    query: PublicAllianceQuery,
    summary: 'List alliances',
    description: 'Returns the alliances, sorted by name by default.',
    returns: { 200: 'A page of alliances.' },
    response: listOf(Alliance, 'AllianceList', examples.alliance, listMeta),
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
  listOperation('blueprints', {
    path: '/blueprints',
    scope: 'blueprints',
    operationId: 'listBlueprints',
    query: PublicBlueprintQuery,
    summary: 'List blueprints',
    description: 'Returns the blueprints, active and retired, sorted by name by default.',
    returns: { 200: 'A page of blueprints.' },
    response: listOf(Blueprint, 'BlueprintList', examples.blueprint, {
      ...listMeta,
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
  Operation<DirectoryContext>,
  'path' | 'operationId' | 'summary' | 'description' | 'returns' | 'response'
> & { scope: Scope };

function listOperation<Query extends TSchema>(
  kind: SlugTable,
  {
    scope,
    load,
    ...described
  }: Described & {
    query: Query;
    load: (
      reads: DirectoryReads & { publicUrl: string },
      query: Static<Query>,
    ) => Promise<Page<unknown>>;
  },
) {
  return operation({
    ...described,
    method: 'GET',
    errors: ['cursor_expired'],
    run({ query, request, ...context }) {
      const { replicas, search, responseCache, publicUrl } = context;
      const asked = query as ListQuery;
      const key = cacheKey(described.path, asked);
      const { changedSince } = asked;
      if (changedSince !== undefined) requireAlone(asked);
      return responseCache.get({ scope, key, address: request.url }, async () => {
        if (changedSince !== undefined)
          return loadChanges(kind, scope, { ...asked, changedSince }, context);
        const { revision, foundAt, total, rows, ...found } = await replicas.read(
          scope,
          (database) => load({ database, search, publicUrl }, query),
        );
        const more = Object.entries(found).filter(([, value]) => value !== null);
        const content = pageEnvelope(rows, asked, total, Object.fromEntries(more));
        // If they differ, nobody uses the page again.
        return { revision: Math.min(revision, foundAt), content };
      });
    },
  });
}

type ListQuery = { page: number; limit: number; changedSince?: string };

function requireAlone({ page, ...query }: ListQuery): void {
  const issues = Object.keys(page > 1 ? { page, ...query } : query)
    .filter((name) => !['changedSince', 'limit'].includes(name))
    .map((name) => ({ path: `query.${name}`, message: 'cannot be combined with changedSince' }));
  if (issues.length > 0) throw invalid(...issues);
}

async function loadChanges(
  kind: SlugTable,
  scope: Scope,
  { changedSince, limit }: ListQuery & { changedSince: string },
  { replicas, publicUrl: baseUrl, cursors }: DirectoryContext,
) {
  const after = changedSince === newest ? null : decodePosition(cursors, kind, changedSince);
  const { revision, changed, removed, next, hasMore, isExpired } = await replicas.read(
    scope,
    (database) =>
      after === null
        ? listNothing(database, kind)
        : listChanges(database, kind, { after, limit, baseUrl }),
  );
  if (isExpired) throw new ServiceError('cursor_expired');
  const changes = { removed, nextCursor: encodePosition(cursors, kind, next), hasMore };
  return {
    revision,
    content: pageEnvelope(changed, { page: 1, limit }, changed.length, { changes }),
  };
}

async function listNothing(database: Database, kind: SlugTable): Promise<Changes> {
  const { revision, position: next } = await readPosition(database, kind);
  return { revision, changed: [], removed: [], next, hasMore: false, isExpired: false };
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
