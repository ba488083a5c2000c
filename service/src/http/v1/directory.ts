/**
 * Operations that read the directory: organisations, alliances, blueprints. The responses are cached as bytes, except suggestions.
 * Callers of a download share its bytes, too (`directory/downloads.ts`).
 */
import { createHash } from 'node:crypto';
import type { FastifyInstance, onRequestHookHandler, FastifyReply, FastifyRequest } from 'fastify';
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
import { listOf, oneOf, linesOf } from '../responses/responses.ts';
import type { ResponseCache } from '../responses/response-cache.ts';
import { sendEntry, findTag, keyedCacheControl } from '../responses/send-entry.ts';
import {
  listKey,
  readDetail,
  readList,
  scopeOf,
  type CachedReads,
  type Paging,
} from './cached-reads.ts';
import { keyedSurface } from './surface.ts';
import type { Revisions } from '../../database/revisions.ts';
import { Downloads, type Download } from '../../directory/downloads.ts';
import { callerOf } from '../admission/admit.ts';
import { KeyCounter, type KeyCounterDependencies } from '../admission/key-counter.ts';
import { secondsUntil } from '../admission/rate-limit.ts';
import { preferredCoding, tagOf } from '../responses/codings.ts';

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

type DownloadDependencies = KeyCounterDependencies & {
  revisions: Pick<Revisions, 'current'>;
  publicUrl: string;
  rateLimitPerMinute: number;
};
type DownloadContext = { downloads: Downloads; count: (request: FastifyRequest) => Promise<void> };

/** Of an app, over all its keys and all three lists. */
export const downloadsPerMinute = 6;

function registerDownloads(
  app: FastifyInstance,
  dependencies: DownloadDependencies,
  cursors: SealedCursors,
): void {
  const context = {
    downloads: new Downloads({ ...dependencies, cursors, log: app.log }),
    count: createCounter(dependencies),
  };
  const surface = { ...keyedSurface('read:directory'), contextOf: () => context };
  for (const [tag, download] of downloadOperations) mountOperations(app, surface, tag, [download]);
}

const downloadOperations = [
  ['Organisations', downloadOperation('orgs', 'organisations', examples.organisation)],
  ['Alliances', downloadOperation('alliances', 'alliances', examples.alliance)],
  ['Blueprints', downloadOperation('blueprints', 'blueprints', examples.blueprint)],
] as const;

function downloadOperation(kind: SlugTable, noun: string, example: object) {
  return operationFor<DownloadContext>()({
    operationId: `download${kind.charAt(0).toUpperCase()}${kind.slice(1)}`,
    method: 'GET',
    path: `/${kind}.ndjson`,
    summary: `Download all ${noun}`,
    description: `Returns all public ${noun}, one JSON object per line, at most a minute old, and the cursor from which changes go on. An app may do so ${downloadsPerMinute} times per minute. A list that is too large for a download is \`payload_too_large\`: read its pages.`,
    returns: { 200: `All ${noun}.` },
    response: linesOf(`NDJSON: the ${noun} in the order of their ids.`, example),
    errors: ['payload_too_large'],
    async run({ downloads, count, request, reply }) {
      await count(request);
      const download = await downloads.get(kind);
      return () => send(download, request, reply);
    },
  });
}

function send(download: Download, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const coding = preferredCoding(request.headers['accept-encoding'], ['gzip']);
  const tag = `"${download.etag}"`;
  reply.headers({
    vary: 'Accept-Encoding',
    'cache-control': keyedCacheControl,
    'x-next-cursor': download.nextCursor,
  });
  const seen = request.headers['if-none-match'];
  const matched = seen === undefined ? null : findTag(seen, tag);
  if (matched !== null) return reply.header('etag', matched).code(304).send();
  reply.headers({
    etag: coding ? tagOf(tag, coding) : tag,
    'content-type': 'application/x-ndjson; charset=utf-8',
    'content-length': coding ? download.gzipBytes : download.textBytes,
    ...(coding && { 'content-encoding': coding }),
  });
  return reply.send(download.read(coding !== null || request.method === 'HEAD'));
}

function createCounter({ rateLimitPerMinute, ...dependencies }: DownloadDependencies) {
  const counter = rateLimitPerMinute > 0 ? new KeyCounter(downloadsPerMinute, dependencies) : null;
  return async (request: FastifyRequest): Promise<void> => {
    const usage = await counter?.count(countedAs(callerOf(request).appId));
    if (!usage?.exceeded) return;
    const message = `Rate limit exceeded: ${downloadsPerMinute} downloads per minute with all keys of the app.`;
    throw new ServiceError('rate_limited', message, {
      headers: { 'retry-after': String(secondsUntil(usage.resetAt)) },
    });
  };
}

/** An id that differs from the app's, whose other requests are counted too. */
function countedAs(appId: string): string {
  const hex = createHash('sha256').update(`downloads of ${appId}`).digest('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*/, '$1-$2-$3-$4-$5');
}
