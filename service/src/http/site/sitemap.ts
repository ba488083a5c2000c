/** The sitemap (sitemaps.org): an index at /sitemap.xml, and parts that cost about as much as a page of a list. */
import { listSlugs } from '../../directory/list-slugs.ts';
import { ServiceError } from '../../errors.ts';
import type { Entry } from '../responses/response-cache.ts';
import { scopeOf, type CachedReads } from '../v1/cached-reads.ts';
import { html, type Html } from './page.ts';

export const sitemapPath = '/sitemap.xml';

/** The protocol allows 50,000. So many are 250 kB, and the 50,000 parts of an index have room for 100 million. */
export const urlsPerPart = 2_000;
const kinds = ['orgs', 'alliances'] as const;
const listPaths = ['/orgs', '/alliances', '/blueprints'];
const namespace = 'http://www.sitemaps.org/schemas/sitemap/0.9';

export function readSitemap(reads: CachedReads, address: string): Entry | Promise<Entry> {
  return readXml(reads, sitemapPath, address, async () => {
    const firsts = await Promise.all(kinds.map((kind) => readSlugs(reads, kind, 1, 1)));
    const parts = firsts.flatMap(({ total }, index) =>
      Array.from(
        { length: Math.ceil(total / urlsPerPart) },
        (_, part) => `${kinds[index]}-${part + 1}`,
      ),
    );
    const sitemaps = ['lists', ...parts].map(
      (part) => html`<sitemap>${locate(reads, `/sitemap/${part}.xml`)}</sitemap>`,
    );
    return {
      revision: Math.min(...firsts.map(({ revision }) => revision)),
      xml: html`<sitemapindex xmlns="${namespace}">${sitemaps}</sitemapindex>`,
    };
  });
}

/** `name` is the file's, such as `orgs-1.xml`. Throws `not_found` for one that the index does not have. */
export function readSitemapPart(
  reads: CachedReads,
  name: string,
  address: string,
): Entry | Promise<Entry> {
  const [, kindName, number] = /^([a-z]+)-([1-9]\d{0,4})\.xml$/.exec(name) ?? [];
  const kind = kinds.find((each) => each === kindName);
  if (!kind) throw new ServiceError('not_found');
  return readXml(reads, `/sitemap/${name}`, address, async () => {
    const { revision, rows } = await readSlugs(reads, kind, Number(number), urlsPerPart);
    if (rows.length === 0) throw new ServiceError('not_found');
    const urls = rows.map(
      ({ slug, updated_at: updatedAt }) =>
        html`<url
          >${locate(reads, `/${kind}/${slug}`)}<lastmod>${updatedAt.toISOString()}</lastmod></url
        >`,
    );
    return { revision, xml: html`<urlset xmlns="${namespace}">${urls}</urlset>` };
  });
}

/** The pages that are always there. */
export function renderSitemapOfLists(site: { publicUrl: string }): Buffer {
  const urls = listPaths.map((path) => html`<url>${locate(site, path)}</url>`);
  return toXml(html`<urlset xmlns="${namespace}">${urls}</urlset>`);
}

function readXml(
  { responseCache }: CachedReads,
  key: string,
  address: string,
  load: () => Promise<{ revision: number; xml: Html }>,
): Entry | Promise<Entry> {
  return responseCache.get({ scope: scopeOf('orgs'), key, address }, async () => {
    const { revision, xml } = await load();
    return { revision, content: toXml(xml) };
  });
}

function readSlugs(
  { replicas }: CachedReads,
  kind: (typeof kinds)[number],
  page: number,
  limit: number,
) {
  return replicas.read(scopeOf(kind), (database) => listSlugs(database, kind, { page, limit }));
}

function locate({ publicUrl }: { publicUrl: string }, path: string): Html {
  return html`<loc>${publicUrl}${path}</loc>`;
}

function toXml({ html: xml }: Html): Buffer {
  return Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>\n${xml}\n`);
}
