/** Operations that read the directory: organisations, alliances, blueprints. Their responses are cached as bytes, except suggestions. */
import type { FastifyInstance, onRequestHookHandler } from 'fastify';
import { Type, type TSchema } from 'typebox';
import { Alliance, AllianceDetail } from '../../contract/alliance.ts';
import { Blueprint } from '../../contract/blueprint.ts';
import { envelope, pageEnvelope } from '../../contract/envelope.ts';
import { facetsSchema, ChangesMeta, FoundBy, Suggestion } from '../../contract/list-meta.ts';
import { examples } from '../../contract/examples.ts';
import { Organisation } from '../../contract/organisation.ts';
import { noNul, slug, strictObject } from '../../contract/shapes.ts';
import type { Database } from '../../database/database.ts';
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
import type { SlugTable } from '../../directory/lock-directory.ts';
import { suggest } from '../../directory/suggest.ts';
import { invalid, ServiceError } from '../../errors.ts';
import { createSealedCursors, type SealedCursors } from '../../events/cursors.ts';
import { mountOperations, operationFor, type Operation } from '../operations.ts';
import { listOf, oneOf } from '../responses/responses.ts';
import type { ResponseCache } from '../responses/response-cache.ts';
import { sendEntry } from '../responses/send-entry.ts';
import {
  listKey,
  readDetail,
  readList,
  scopeOf,
  type CachedReads,
  type Paging,
} from './cached-reads.ts';
import { registerDownloads, type DownloadDependencies } from './downloads.ts';
import { keyedSurface } from './surface.ts';

export type DirectoryDependencies = CachedReads & {
  /** As in SECRET_KEY, newest first. */
  secretKeys: readonly Buffer[];
} & DownloadDependencies;
type DirectoryContext = CachedReads & { database: Database; cursors: SealedCursors };

export function registerDirectory(
  app: FastifyInstance,
  { secretKeys, ...dependencies }: DirectoryDependencies,
): void {
  const { database, replicas, search, responseCache, publicUrl } = dependencies;
  const cursors = createSealedCursors(secretKeys);
  const context = { database, replicas, search, responseCache, publicUrl, cursors };
  const surface = {
    ...keyedSurface('read:directory'),
    onRequest: sendCached(responseCache),
    contextOf: () => context,
  };
  mountOperations(app, surface, 'Organisations', orgOperations);
  mountOperations(app, surface, 'Alliances', allianceOperations);
  mountOperations(app, surface, 'Blueprints', blueprintOperations);
  registerDownloads(app, dependencies, cursors);
  mountOperations(app, surface, 'Search', [suggestEntries]);
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
    operationId: 'listOrgs',
    query: PublicOrgQuery,
    summary: 'List organisations',
    description: 'Returns the listed organisations, sorted by name by default.',
    returns: { 200: 'A page of organisations.' },
    response: listOf(Organisation, 'OrganisationList', examples.organisation, {
      ...listMeta,
      facets: Type.Optional(facetsSchema(orgFacets, 'OrganisationFacets')),
    }),
  }),
  detailOperation('orgs', {
    path: '/orgs/:slug',
    operationId: 'getOrg',
    example: 'acme-corporation',
    summary: 'Get an organisation',
    description: 'Returns the organisation with this slug.',
    returns: { 200: 'The organisation.' },
    response: oneOf(Organisation, 'OrganisationResponse', examples.organisation),
  }),
];

const allianceOperations = [
  listOperation('alliances', {
    path: '/alliances',
    operationId: 'listAlliances',
    query: PublicAllianceQuery,
    summary: 'List alliances',
    description: 'Returns the alliances, sorted by name by default.',
    returns: { 200: 'A page of alliances.' },
    response: listOf(Alliance, 'AllianceList', examples.alliance, listMeta),
  }),
  detailOperation('alliances', {
    path: '/alliances/:slug',
    operationId: 'getAlliance',
    example: 'northern-league',
    summary: 'Get an alliance',
    description: 'Returns the alliance with this slug, with its listed organisations.',
    returns: { 200: 'The alliance with its organisations.' },
    response: oneOf(AllianceDetail, 'AllianceResponse', examples.allianceDetail),
  }),
];

const blueprintOperations = [
  listOperation('blueprints', {
    path: '/blueprints',
    operationId: 'listBlueprints',
    query: PublicBlueprintQuery,
    summary: 'List blueprints',
    description: 'Returns the blueprints, active and retired, sorted by name by default.',
    returns: { 200: 'A page of blueprints.' },
    response: listOf(Blueprint, 'BlueprintList', examples.blueprint, {
      ...listMeta,
      facets: Type.Optional(facetsSchema(blueprintFacets, 'BlueprintFacets')),
    }),
  }),
  detailOperation('blueprints', {
    path: '/blueprints/:slug',
    operationId: 'getBlueprint',
    example: 'granite',
    summary: 'Get a blueprint',
    description: 'Returns the blueprint with this slug.',
    returns: { 200: 'The blueprint.' },
    response: oneOf(Blueprint, 'BlueprintResponse', examples.blueprint),
  }),
];

const SuggestQuery = strictObject({
  q: Type.String({
    ...noNul,
    minLength: 1,
    maxLength: 100,
    description: 'The text that was typed so far.',
    examples: ['acm'],
  }),
});
const exampleSuggestion = {
  kind: 'organization',
  slug: 'acme-corporation',
  name: 'Acme Corporation',
};

const suggestEntries = operation({
  operationId: 'suggest',
  method: 'GET',
  path: '/suggest',
  summary: 'Suggest entries',
  description:
    'Returns up to eight organisations, alliances and blueprints that match a text, the most relevant first.',
  query: SuggestQuery,
  returns: { 200: 'The suggestions.' },
  response: oneOf(
    Type.Array(Suggestion, { description: 'At most eight, the most relevant first.' }),
    'SuggestionResponse',
    [exampleSuggestion],
  ),
  // Entries of all kinds change it, so it belongs to no revision, and is not cached.
  run: async ({ query: { q }, ...reads }) => envelope(await suggest(reads, q)),
});

type Described = Pick<
  Operation<DirectoryContext>,
  'path' | 'operationId' | 'summary' | 'description' | 'returns' | 'response'
>;
type DetailOptions = { path: `/${string}/:slug`; example: string };

function listOperation(kind: SlugTable, described: Described & { query: TSchema }) {
  return operation({
    ...described,
    method: 'GET',
    errors: ['cursor_expired'],
    run({ query, request, ...context }) {
      const asked = query as ListQuery;
      const { changedSince } = asked;
      if (changedSince === undefined) return readList(context, kind, asked, request.url);
      requireAlone(asked);
      const location = { scope: scopeOf(kind), key: listKey(kind, asked), address: request.url };
      return context.responseCache.get(location, () =>
        loadChanges(kind, { ...asked, changedSince }, context),
      );
    },
  });
}

type ListQuery = Paging & { changedSince?: string };

function requireAlone({ page, ...query }: ListQuery): void {
  const issues = Object.keys(page > 1 ? { page, ...query } : query)
    .filter((name) => !['changedSince', 'limit'].includes(name))
    .map((name) => ({ path: `query.${name}`, message: 'cannot be combined with changedSince' }));
  if (issues.length > 0) throw invalid(...issues);
}

async function loadChanges(
  kind: SlugTable,
  { changedSince, limit }: ListQuery & { changedSince: string },
  { replicas, publicUrl: baseUrl, cursors }: DirectoryContext,
) {
  const after = changedSince === newest ? null : decodePosition(cursors, kind, changedSince);
  const { revision, changed, removed, next, hasMore, isExpired } = await replicas.read(
    scopeOf(kind),
    (database) =>
      after === null
        ? listNothing(database, kind)
        : listChanges(database, kind, { after, limit, baseUrl }),
    // A replica that is behind the cursor cannot tell whether there were changes since.
    after?.revision,
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

function detailOperation(kind: SlugTable, { example, ...described }: Described & DetailOptions) {
  return operation({
    ...described,
    method: 'GET',
    params: Type.Object({
      slug: slug({ description: 'The unique name in URLs.', examples: [example] }),
    }),
    run: ({ params: { slug: name }, request, ...context }) =>
      readDetail(context, kind, name, request.url),
  });
}
