/** The sitemap (sitemaps.org): an index at /sitemap.xml, and parts that are small enough for the response cache. */
import { listSlugs } from '../../directory/public-entries.ts';
import { ServiceError } from '../../errors.ts';
import type { Entry } from '../responses/response-cache.ts';
import { scopeOf, type CachedReads } from '../v1/cached-reads.ts';
import { html, type Html } from './page.ts';

export const sitemapPath = '/sitemap.xml';
/** The protocol allows 50,000. So many are 110 kB, and the 50,000 parts of an index have room for 50 million. */
export const urlsPerPart = 1_000;
const kinds = ['orgs', 'alliances'] as const;

/** `path` is that of the index or of a part: `/sitemap/orgs-1.xml`. Throws `not_found` for a part that the index does not have. */
export function readSitemap(reads: CachedReads, path: string): Entry | Promise<Entry> {
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
