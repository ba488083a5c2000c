/**
 * Serves the directory to people: lists, entries and the sitemap. Pages are rendered from the cached reads of the API and
 * kept like them, so they show what the API shows (docs/decisions/0048-pages-without-a-key.md).
 */
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onRequestHookHandler,
  preValidationHookHandler,
} from 'fastify';
import { Type, type TSchema } from 'typebox';
import type { Alliance } from '../../contract/alliance.ts';
import { slug as slugOf } from '../../contract/shapes.ts';
import type { Database } from '../../database/database.ts';
import { findRenamed } from '../../directory/find-renamed.ts';
import {
  AllianceQuery,
  BlueprintQuery,
  blueprintFacets,
  orgFacets,
  OrgQuery,
  repeatedMax,
} from '../../directory/list-query.ts';
import type { SlugTable } from '../../directory/lock-directory.ts';
import { ServiceError } from '../../errors.ts';
import type { Health } from '../../system/health.ts';
import { rejectDuringMaintenance, type Limit } from '../admission/admit.ts';
import { publicEntry, type Entry } from '../responses/response-cache.ts';
import { sendEntry } from '../responses/send-entry.ts';
import { listKey, readDetail, readList, scopeOf, type CachedReads } from '../v1/cached-reads.ts';
import { directoryCss } from './directory-frame.ts';
import { renderAlliance, renderOrg } from './entry-page.ts';
import { renderList, type ListContent, type ListQuery } from './list-page.ts';
import { htmlType, pageHeaders, type Site } from './page.ts';
import { searchScript } from './search-page.ts';
import { servePage } from './serve-page.ts';
import { readSitemap, readSitemapPart, renderSitemapOfLists, sitemapPath } from './sitemap.ts';

export type DirectoryPagesDependencies = CachedReads & { database: Database; health: Health };

/** As for the start page. */
const cacheControl = 'public, max-age=5';
const xmlType = 'application/xml; charset=utf-8';

type List = { kind: SlugTable; query: TSchema; facets: readonly string[] };
const lists: List[] = [
  { kind: 'orgs', query: OrgQuery, facets: orgFacets },
  { kind: 'alliances', query: AllianceQuery, facets: [] },
  { kind: 'blueprints', query: BlueprintQuery, facets: blueprintFacets },
];

type Pages = {
  app: FastifyInstance;
  site: Site;
  reads: DirectoryPagesDependencies;
  /** Refuses during maintenance, and addresses that ask too often. */
  onRequest: onRequestHookHandler;
  headers: (script?: { inline: string }) => Record<string, string>;
};

export function registerDirectoryPages(
  app: FastifyInstance,
  site: Site,
  limit: Limit,
  reads: DirectoryPagesDependencies,
): void {
  const images = site.directoryPagesImages ? ' https:' : '';
  const pages: Pages = {
    app,
    site,
    reads,
    onRequest(request, reply, done) {
      rejectDuringMaintenance(reads.health);
      const exceeded = limit?.(request, reply, null) ?? null;
      if (exceeded) throw exceeded;
      done();
    },
    headers: (script) => pageHeaders(site.brand, script, { css: directoryCss, images }),
  };
  for (const list of lists) registerList(pages, list);
  registerEntry(pages, 'orgs', renderOrg);
  registerEntry(pages, 'alliances', renderAlliance);
  registerSitemap(pages);
}

function registerList({ app, site, reads, onRequest, ...pages }: Pages, list: List): void {
  const headers = pages.headers({ inline: searchScript });
  const checks = {
    onRequest,
    preValidation: dropEmptyParameters,
    schema: { querystring: list.query },
  };
  const path = `/${list.kind}`;
  servePage(
    app,
    path,
    async (request, reply) => {
      const entry = await readListPage(site, reads, list, request);
      return sendEntry(request, reply.headers(headers), entry, cacheControl, htmlType);
    },
    checks,
  );
}

/** A form sends its empty fields, too. */
const dropEmptyParameters: preValidationHookHandler = (request, _reply, done) => {
  const given = Object.entries(request.query as Record<string, string | string[]>);
  request.query = Object.fromEntries(given.filter(([, value]) => value !== ''));
  done();
};

function readListPage(
  site: Site,
  reads: CachedReads,
  { kind, facets }: List,
  request: FastifyRequest,
): Entry | Promise<Entry> {
  const query = request.query as ListQuery;
  const key = `page of ${listKey(kind, query)}`;
  return reads.responseCache.get({ scope: scopeOf(kind), key, address: request.url }, async () => {
    const counted = facets.length > 0 ? { ...query, facets: facets.join(',') } : query;
    const { revision, body } = await readList(reads, kind, counted);
    const content = JSON.parse(body.toString()) as ListContent;
    const alliances = await readAllianceNames(reads, query, content);
    return {
      revision: Math.min(revision, alliances.revision),
      content: Buffer.from(renderList(site, { kind, query, content, names: alliances.names })),
    };
  });
}

/** The names of the alliances that the page has as filters or facets, which are slugs. */
async function readAllianceNames(
  reads: CachedReads,
  { alliance = [] }: ListQuery,
  { meta }: ListContent,
): Promise<{ revision: number; names: Map<string, string> }> {
  const counted = meta.facets?.['alliance'] ?? [];
  const slug = [...[alliance].flat(), ...counted.map(({ value }) => value)].slice(0, repeatedMax);
  if (slug.length === 0) return { revision: Infinity, names: new Map() };
  const query = { page: 1, limit: repeatedMax, slug };
  const { revision, body } = await readList(reads, 'alliances', query);
  const { data } = JSON.parse(body.toString()) as { data: Alliance[] };
  return { revision, names: new Map(data.map((each) => [each.slug, each.name])) };
}

function registerEntry<Content>(
  { app, site, reads, onRequest, ...pages }: Pages,
  kind: 'orgs' | 'alliances',
  render: (site: Site, entry: Content) => string,
): void {
  const headers = pages.headers();
  const schema = { params: Type.Object({ slug: slugOf() }) };
  servePage(
    app,
    `/${kind}/:slug`,
    async (request, reply) => {
      const { slug } = request.params as { slug: string };
      const location = {
        scope: scopeOf(kind),
        key: `page of /${kind}/${slug}`,
        address: request.url,
      };
      const load = async () => {
        const { revision, body } = await readDetail(reads, kind, slug);
        const { data } = JSON.parse(body.toString()) as { data: Content };
        return { revision, content: Buffer.from(render(site, data)) };
      };
      try {
        const entry = await reads.responseCache.get(location, load);
        return sendEntry(request, reply.headers(headers), entry, cacheControl, htmlType);
      } catch (error) {
        const renamed = await whereInstead(error, reads.database, kind, slug);
        const address = `${site.basePath}/${kind}/${renamed}`;
        return reply.header('cache-control', cacheControl).redirect(address, 301);
      }
    },
    { onRequest, schema },
  );
}

/** The slug that the entry has now. Throws the error of the read if there is none. */
async function whereInstead(
  error: unknown,
  database: Database,
  kind: 'orgs' | 'alliances',
  slug: string,
): Promise<string> {
  const isUnknown = error instanceof ServiceError && error.code === 'not_found';
  const renamed = isUnknown ? await findRenamed(database, kind, slug) : null;
  if (renamed === null) throw error;
  return renamed;
}

function registerSitemap({ app, site, reads, onRequest }: Pages): void {
  const send = (request: FastifyRequest, reply: FastifyReply, entry: Entry) =>
    sendEntry(request, reply, entry, cacheControl, xmlType);
  servePage(
    app,
    sitemapPath,
    async (request, reply) => send(request, reply, await readSitemap(reads, request.url)),
    { onRequest },
  );
  const ofLists = publicEntry(renderSitemapOfLists(site));
  servePage(app, '/sitemap/lists.xml', async (request, reply) => send(request, reply, ofLists));
  servePage(
    app,
    '/sitemap/:part',
    async (request, reply) => {
      const { part } = request.params as { part: string };
      return send(request, reply, await readSitemapPart(reads, part, request.url));
    },
    { onRequest },
  );
}
