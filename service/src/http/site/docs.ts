/**
 * Serves the documentation below /docs, and /llms.txt. npm builds its pages from `docs/` on installation. They get the
 * service's frame, name, address and version here, at their first request. It is loaded at the first request.
 */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { version } from '../../runtime/version.ts';
import { publicEntry, type Entry } from '../responses/response-cache.ts';
import { sendEntry } from '../responses/send-entry.ts';
import { serveAssets } from './serve-assets.ts';
import {
  sendNotBuilt,
  servePage,
  escape,
  html,
  htmlType,
  pageHeaders,
  renderMainLinks,
  renderPage,
  toSite,
  type Site,
  type SiteSettings,
} from './page.ts';

/** Written by docs/site/write-dist.ts. */
type Built = {
  /** File names. */
  assets: { style: string; script: string; search: string };
  /** HTML. */
  navigation: string;
  /** The content of llms.txt. */
  overview: string;
  pages: Record<string, { title: string; body: string; markdown: string }>;
};

const built = fileURLToPath(new URL('../../../../docs/dist/', import.meta.url));
const notBuilt = 'The documentation is not built: run `npm run build -w @orgdir/docs`.';
const markdownType = 'text/markdown; charset=utf-8';
/** The pages name files of this version, which the next one does not have. */
const cacheControl = 'no-cache';

export async function registerDocs(
  app: FastifyInstance,
  given: SiteSettings,
  folder = built,
): Promise<void> {
  const content = await readFile(`${folder}pages.json`, 'utf8').catch(() => null);
  if (content === null) return registerNotBuilt(app);
  const docs = JSON.parse(content) as Built;
  const site = toSite({ ...given, publicUrl: given.publicUrl.replace(/\/$/, '') });
  const headers = pageHeaders(site, 'own');
  const entries = createEntries();

  servePage(app, '/llms.txt', (request, reply) =>
    send(request, reply, 'text/plain; charset=utf-8', 'llms.txt', () =>
      fillText(site, docs.overview),
    ),
  );
  for (const [path, page] of Object.entries(docs.pages)) {
    servePage(app, `/docs${path && `/${path}`}`, (request, reply) =>
      send(request, reply.headers(headers), htmlType, path, () => render(site, docs, path, page)),
    );
    servePage(app, `/docs/${path || 'index'}.md`, (request, reply) =>
      send(request, reply, markdownType, `${path}.md`, () => fillText(site, page.markdown)),
    );
  }
  const { errorPage } = app;
  app.errorPage = (error, url) =>
    errorPage && error.status !== 404
      ? errorPage(error, url)
      : {
          headers: { ...headers, 'content-type': htmlType },
          body: renderNotFound(site, docs, url),
        };
  servePage(app, '/docs/', async (_request, reply) => reply.redirect(`${site.basePath}/docs`, 301));
  await serveAssets(app, { root: `${folder}assets`, prefix: '/docs/assets/' });

  async function send(
    request: FastifyRequest,
    reply: FastifyReply,
    type: string,
    name: string,
    make: () => string,
  ): Promise<FastifyReply> {
    return sendEntry(request, reply, entries(name, make), cacheControl, type);
  }
}

const nearMax = 5;
/** Of an address; each is looked for in every page. */
const wordsMax = 10;

/** Keeps the navigation and the search, and names pages whose address has words of this one. */
function renderNotFound(site: Site, docs: Built, url: string): string {
  const words = (url.toLowerCase().match(/[a-z0-9]{4,}/g) ?? []).slice(0, wordsMax);
  const sharedWith = (path: string, title: string) => {
    const name = `${path} ${title.replaceAll(' ', '')}`.toLowerCase();
    const shared = words.filter((word) => word !== 'docs' && name.includes(word));
    return shared.join('').length;
  };
  const near = Object.entries(docs.pages)
    .map(([path, { title }]) => ({ path, title, shared: sharedWith(path, title) }))
    .filter(({ shared }) => shared > 0)
    .sort((a, b) => b.shared - a.shared)
    .slice(0, nearMax)
    .map(({ path, title }) => `<li><a href="{{base}}/docs/${path}">${escape(title)}</a></li>`);
  const body = `<article class="doc"><h1>There is no such page</h1>
    <p>The documentation has no page at this address. Search for it, or choose a page of the navigation.</p>
    ${near.length > 0 ? `<p>Perhaps you want one of these:</p><ul>${near.join('')}</ul>` : ''}</article>`;
  return render(site, docs, null, { title: 'There is no such page', body });
}

/** `path`: null for a page that has no address. */
function render(
  site: Site,
  { assets, navigation }: Built,
  path: string | null,
  { title, body }: Pick<Built['pages'][string], 'title' | 'body'>,
): string {
  const address = (asset: string) => `${site.basePath}/docs/assets/${asset}`;
  const current = `href="{{base}}/docs${path && `/${path}`}"`;
  const links =
    path === null ? navigation : navigation.replace(current, `${current} aria-current="page"`);
  return renderPage(
    site,
    `${title} – ${site.brand.name}`,
    { html: fillHtml(site, body) },
    {
      head: html`<link rel="stylesheet" href="${address(assets.style)}" />
        ${
          path !== null &&
          html`<link
            rel="alternate"
            type="text/markdown"
            href="${site.basePath}/docs/${path || 'index'}.md"
          />`
        }
        <script
          src="${address(assets.script)}"
          data-search="${address(assets.search)}"
          data-docs="${site.basePath}/docs"
        ></script>`,
      tools: html`<button type="button" id="open-search">Search <kbd>/</kbd></button
        ><button type="button" id="open-menu" aria-expanded="false" aria-controls="menu">
          Menu
        </button>`,
      current: '/docs',
      aside: html`<nav id="menu" aria-label="Documentation">
        ${{ html: fillHtml(site, links) }}
        <div class="parts">${renderMainLinks(site, '/docs')}</div>
      </nav>`,
    },
  );
}

function fillHtml({ basePath, publicUrl, brand }: Site, text: string): string {
  return fill(text, { base: basePath, url: escape(publicUrl), version, ...namesOf(brand) });
}

function fillText({ basePath, publicUrl, brand }: Site, text: string): string {
  return fill(text, { base: basePath, url: publicUrl, version, ...namesOf(brand) });
}

/** A name is ASCII letters and digits, so HTML needs no escaping of it. */
function namesOf({ name }: Site['brand']): Record<string, string> {
  return { name, lowerName: name.toLowerCase() };
}

function fill(text: string, values: Record<string, string>): string {
  return text.replace(/\{\{(\w+)\}\}/g, (mark, name: string) => values[name] ?? mark);
}

/** Renders each page once. There are as many entries as pages. */
function createEntries(): (name: string, make: () => string) => Entry {
  const entries = new Map<string, Entry>();
  return (name, make) => {
    const entry = entries.get(name) ?? publicEntry(Buffer.from(make()));
    entries.set(name, entry);
    return entry;
  };
}

function registerNotBuilt(app: FastifyInstance): void {
  for (const url of ['/docs', '/docs/*', '/llms.txt'])
    servePage(app, url, async (_request, reply) => sendNotBuilt(reply, notBuilt));
}
