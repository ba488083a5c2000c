/**
 * Serves the directory to people: lists, entries and the sitemap. Pages are rendered from the cached reads of the API and
 * kept like them, so they show what the API shows (docs/decisions/0018-pages.md).
 */
import type {
  FastifyInstance,
  FastifyRequest,
  onRequestHookHandler,
  preValidationHookHandler,
} from 'fastify';
import { Type, type TObject } from 'typebox';
import type { Alliance } from '../../contract/alliance.ts';
import { slug as slugOf } from '../../contract/shapes.ts';
import type { Database } from '../../database/database.ts';
import { findRenamed, listSlugs } from '../../directory/public-entries.ts';
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
import { inTurnOfCaller } from '../admission/caller-turns.ts';
import type { Entry } from '../responses/response-cache.ts';
import { sendEntry } from '../responses/send-entry.ts';
import { listKey, readDetail, readList, scopeOf, type CachedReads } from '../v1/cached-reads.ts';
import { directoryCss } from './entry-parts.ts';
import { renderAlliance, renderOrg } from './entry-page.ts';
import { renderList, type ListContent, type ListQuery } from './list-page.ts';
import { htmlType, pageHeaders, type Site, servePage, html, type Html } from './page.ts';
import { searchScript } from './search-page.ts';

export type DirectoryPagesDependencies = CachedReads & { database: Database; health: Health };

/** As for the start page. */
const cacheControl = 'public, max-age=5';
const xmlType = 'application/xml; charset=utf-8';

const lists: { kind: SlugTable; query: TObject; facets: readonly string[] }[] = [
  { kind: 'orgs', query: OrgQuery, facets: orgFacets },
  { kind: 'alliances', query: AllianceQuery, facets: [] },
  { kind: 'blueprints', query: BlueprintQuery, facets: blueprintFacets },
];
const details = [
  { kind: 'orgs', render: renderOrg },
  { kind: 'alliances', render: renderAlliance },
] as const;

export function registerDirectoryPages(
  app: FastifyInstance,
  site: Site,
  limit: Limit,
  reads: DirectoryPagesDependencies,
): void {
  const onRequest: onRequestHookHandler = (request, reply, done) => {
    rejectDuringMaintenance(reads.health);
    const exceeded = limit(request, reply, null);
    if (exceeded) throw exceeded;
    done();
  };
  const more = { css: directoryCss, images: site.directoryPagesImages ? ' https:' : '' };
  const listHeaders = pageHeaders(site, { inline: searchScript }, more);
  for (const { kind, query, facets } of lists)
    servePage(
      app,
      `/${kind}`,
      async (request, reply) => {
        const entry = await inTurnOfCaller(request, () =>
          readListPage(site, reads, kind, facets, request),
        );
        return sendEntry(request, reply.headers(listHeaders), entry, cacheControl, htmlType);
      },
      { onRequest, preValidation: keepParameters(query), schema: { querystring: query } },
    );
  const headers = pageHeaders(site, undefined, more);
  for (const { kind, render } of details)
    servePage(
      app,
      `/${kind}/:slug`,
      async (request, reply) => {
        const { slug } = request.params as { slug: string };
        const read = (content: never) => render(site, content);
        const entry = await inTurnOfCaller(request, () =>
          readEntryPage(reads, kind, slug, read).catch(async (error: unknown) => {
            const renamed = await findInstead(error, reads.database, kind, slug);
            return `${site.basePath}/${kind}/${renamed}`;
          }),
        );
        if (typeof entry === 'string')
          return reply.header('cache-control', cacheControl).redirect(entry, 301);
        return sendEntry(request, reply.headers(headers), entry, cacheControl, htmlType);
      },
      { onRequest, schema: { params: Type.Object({ slug: slugOf() }) } },
    );
  for (const url of [sitemapPath, '/sitemap/:part'])
    servePage(
      app,
      url,
      async (request, reply) => {
        const { part = '' } = request.params as { part?: string };
        const entry = await inTurnOfCaller(request, () =>
          readSitemap(reads, url.replace(':part', part)),
        );
        return sendEntry(request, reply, entry, cacheControl, xmlType);
      },
      { onRequest },
    );
}

/** A form sends its empty fields, too, and whoever shares a link may add parameters of their own, such as `utm_source`. */
function keepParameters({ properties }: TObject): preValidationHookHandler {
  return (request, _reply, done) => {
    const given = Object.entries(request.query as Record<string, string | string[]>);
    const kept = given.filter(([name, value]) => value !== '' && Object.hasOwn(properties, name));
    request.query = Object.fromEntries(kept);
    done();
  };
}

function readListPage(
  site: Site,
  reads: CachedReads,
  kind: SlugTable,
  facets: readonly string[],
  { query: given }: FastifyRequest,
): Entry | Promise<Entry> {
  const query = given as ListQuery;
  const location = { scope: scopeOf(kind), key: `page of ${listKey(kind, query)}` };
  return reads.responseCache.get(location, async () => {
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
async function readAllianceNames(reads: CachedReads, query: ListQuery, { meta }: ListContent) {
  const counted = meta.facets?.['alliance'] ?? [];
  const slugs = [query['alliance'] ?? counted.map(({ value }) => value)].flat();
  if (slugs.length === 0) return { revision: Infinity, names: new Map<string, string>() };
  const listed = { page: 1, limit: repeatedMax, slug: slugs };
  const { revision, body } = await readList(reads, 'alliances', listed);
  const { data } = JSON.parse(body.toString()) as { data: Alliance[] };
  return { revision, names: new Map(data.map(({ slug, name }) => [slug, name])) };
}

async function readEntryPage(
  reads: CachedReads,
  kind: 'orgs' | 'alliances',
  slug: string,
  render: (content: never) => string,
): Promise<Entry> {
  const location = { scope: scopeOf(kind), key: `page of /${kind}/${slug}` };
  return reads.responseCache.get(location, async () => {
    const { revision, body } = await readDetail(reads, kind, slug);
    const { data } = JSON.parse(body.toString()) as { data: never };
    return { revision, content: Buffer.from(render(data)) };
  });
}

/** The slug that the entry has now. Throws the error of the read if there is none. */
async function findInstead(
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

/** The sitemap (sitemaps.org): an index at /sitemap.xml, and parts that are small enough for the response cache. */
export const sitemapPath = '/sitemap.xml';
/** The protocol allows 50,000. So many are 110 kB, and the 50,000 parts of an index have room for 50 million. */
export const urlsPerPart = 1_000;
const kinds = ['orgs', 'alliances'] as const;

/** `path` is that of the index or of a part: `/sitemap/orgs-1.xml`. Throws `not_found` for a part that the index does not have. */
function readSitemap(reads: CachedReads, path: string): Entry | Promise<Entry> {
  const location = { scope: scopeOf('orgs'), key: path };
  return reads.responseCache.get(location, async () => {
    const { revision, xml } = await (path === sitemapPath
      ? renderIndex(reads)
      : renderPart(reads, path));
    const text = `<?xml version="1.0" encoding="UTF-8"?>\n${xml.html}\n`;
    return { revision, content: Buffer.from(text) };
  });
}

type Rendered = { revision: number; xml: Html };

async function renderIndex(reads: CachedReads): Promise<Rendered> {
  const firsts = await Promise.all(kinds.map((kind) => readSlugs(reads, kind, 1, 1)));
  const parts = firsts.flatMap(({ total }, index) =>
    Array.from({ length: Math.ceil(total / urlsPerPart) }, (_, part) =>
      locate('sitemap', reads, `/sitemap/${kinds[index]}-${part + 1}.xml`),
    ),
  );
  const revision = Math.min(...firsts.map((first) => first.revision));
  return { revision, xml: enclose('sitemapindex', parts) };
}

async function renderPart(reads: CachedReads, path: string): Promise<Rendered> {
  const [, name, part] = /^\/sitemap\/([a-z]+)-([1-9]\d{0,4})\.xml$/.exec(path) ?? [];
  const kind = kinds.find((each) => each === name);
  const found = kind && (await readSlugs(reads, kind, Number(part), urlsPerPart));
  if (!found || found.rows.length === 0) throw new ServiceError('not_found');
  const urls = found.rows.map((row) =>
    locate('url', reads, `/${kind}/${row.slug}`, row.updated_at),
  );
  return { revision: found.revision, xml: enclose('urlset', urls) };
}

function readSlugs(
  { replicas }: CachedReads,
  kind: (typeof kinds)[number],
  page: number,
  limit: number,
) {
  return replicas.read(scopeOf(kind), (database) => listSlugs(database, kind, { page, limit }));
}

function locate(tag: string, { publicUrl }: CachedReads, path: string, changedAt?: Date): Html {
  const changed = changedAt && html`<lastmod>${changedAt.toISOString()}</lastmod>`;
  return html`<${tag}><loc>${publicUrl}${path}</loc>${changed}</${tag}>`;
}

function enclose(tag: string, items: Html[]): Html {
  return html`<${tag} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${items}</${tag}>`;
}
