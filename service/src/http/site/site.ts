/**
 * Serves the start page with its search, the status page, the logo, robots.txt, errors as pages to browsers, and redirects
 * from addresses that people try.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import pLimit from 'p-limit';
import { startOf } from '../../contract/texts.ts';
import { coalesce } from '../../database/coalesce.ts';
import type { Database } from '../../database/database.ts';
import type { Revisions } from '../../database/revisions.ts';
import { listPublic } from '../../directory/public-entries.ts';
import type { Search } from '../../directory/search/search.ts';
import { ServiceError, type Issue } from '../../errors.ts';
import { suggest } from '../../directory/suggest.ts';
import type { Health } from '../../system/health.ts';
import { createLimit, type Limit } from '../admission/admit.ts';
import { inTurnOfCaller } from '../admission/caller-turns.ts';
import { listPastMaintenance } from '../../system/maintenance.ts';
import { readServiceStats } from '../../webhooks/management/service-stats.ts';
import { entryOf, publicEntry, type Entry } from '../responses/response-cache.ts';
import { sendEntry } from '../responses/send-entry.ts';
import { stateOf } from '../v1/status.ts';
import { within } from '../within.ts';
import { renderLanding } from './landing-page.ts';
import { renderSearch, searchScript, searchTextMax } from './search-page.ts';
import { renderStatus, type StatusContent } from './status-page.ts';
import {
  registerDirectoryPages,
  type DirectoryPagesDependencies,
  sitemapPath,
} from './directory-pages.ts';
import {
  html,
  htmlType,
  noExtras,
  pageHeaders,
  renderPage,
  toSite,
  type Html,
  type Site,
  type SiteSettings,
  servePage,
} from './page.ts';
import { font } from './tokens.ts';

export type SiteDependencies = SiteSettings &
  DirectoryPagesDependencies & {
    database: Database;
    search: Search;
    health: Health;
    revisions: Revisions;
    rateLimitPerMinute: number;
  };

declare module 'fastify' {
  interface FastifyInstance {
    /** Renders an error for browsers; only on the public port. */
    errorPage?: (
      error: ServiceError,
      url: string,
    ) => { headers: Record<string, string>; body: string };
  }
}

const newestShown = 6;
/** For entries of the directory. Without them the pages are still useful. */
const entriesWaitMs = 2_000;
const readsAtOnce = 3;
/** Counts are refreshed each second, so an older page would be wrong for as long as it is kept. */
const cacheControl = 'public, max-age=5';
/** The history moves slowly. Without it the page is still useful, so nobody waits long for it. */
const historyBounds = { timeoutMs: 2_000, reuseMs: 5_000 };

export function registerSite(app: FastifyInstance, dependencies: SiteDependencies): void {
  const { brand, directoryPages, rateLimitPerMinute } = dependencies;
  const site = toSite(dependencies);
  // Of an address, for everything here that reads the directory without a key.
  const limit = createLimit(rateLimitPerMinute);
  if (directoryPages) registerDirectoryPages(app, site, limit, dependencies);
  const readLanding = createLanding(site, dependencies);
  const readResults = createResults(site, dependencies, limit);
  const landingHeaders = pageHeaders(site, { inline: searchScript });
  servePage(app, '/', async (request, reply) => {
    const entry = await (readResults(request, reply) ?? readLanding());
    reply.headers(landingHeaders);
    return sendEntry(request, reply, entry, cacheControl, htmlType);
  });
  const readStatus = createStatus(site, dependencies);
  const statusHeaders = pageHeaders(site);
  servePage(app, '/status', async (request, reply) => {
    reply.headers(statusHeaders);
    return sendEntry(request, reply, await readStatus(), cacheControl, htmlType);
  });
  const logo = entryOf(0, brand.logo.bytes);
  for (const url of ['/logo', '/favicon.ico'])
    servePage(app, url, async (request, reply) => {
      // An SVG that somebody opens by its address could contain a script.
      reply.header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'");
      return sendEntry(request, reply, logo, 'public, max-age=86400', brand.logo.type);
    });
  const typeface = entryOf(0, font);
  servePage(app, '/font.woff2', async (request, reply) =>
    sendEntry(request, reply, typeface, 'public, max-age=31536000, immutable', 'font/woff2'),
  );
  const { basePath } = site;
  const robots = entryOf(0, Buffer.from(renderRobots(site)));
  servePage(app, '/robots.txt', async (request, reply) =>
    sendEntry(request, reply, robots, 'public, max-age=86400', 'text/plain; charset=utf-8'),
  );
  for (const [from, to] of Object.entries(redirects))
    servePage(app, from, async (_request, reply) =>
      reply.header('access-control-allow-origin', '*').redirect(`${basePath}${to}`, 301),
    );
}

const description = '/api/v1/openapi.json';

const redirects = {
  '/openapi.json': description,
  '/api/v1': description,
  '/api/v1/': description,
  '/client/': '/client',
};

/** Lets crawlers read the pages and the API's description. Data of the API needs a key, and searches have no end. */
function renderRobots({ basePath, publicUrl, directoryPages }: Site): string {
  const searches = directoryPages ? ['/orgs?', '/alliances?', '/blueprints?'] : [];
  const disallowed = ['/?q=', '/api/', '/portal/api', '/profile/developer', ...searches];
  return [
    'User-agent: *',
    ...disallowed.map((path) => `Disallow: ${basePath}${path}`),
    `Allow: ${basePath}${description}`,
    ...(directoryPages ? [`Sitemap: ${publicUrl}${sitemapPath}`] : []),
    '',
  ].join('\n');
}

/** Call it for each application of the public port. */
export function showErrorPages(app: FastifyInstance, given: SiteSettings): void {
  const site = toSite(given);
  const headers = { ...pageHeaders(site), 'content-type': htmlType };
  app.decorate('errorPage', (error: ServiceError, url: string) => {
    const { status, message, details } = error;
    const issues = (details['issues'] as Issue[] | undefined) ?? [];
    const [path = '', query] = url.split('?');
    const title =
      status === 404
        ? 'There is no such page.'
        : issues.length > 0
          ? 'This address has a mistake.'
          : message;
    return {
      headers,
      body: renderPage(
        site,
        `${title} – ${site.brand.name}`,
        html`<h1>${title}</h1>
          ${issues.map(renderIssue)}
          <p class="soft">
            Error ${status}.
            ${status === 404 ? 'The address may be misspelt, or the page has moved.' : ''}
          </p>
          <div class="actions">
            ${issues.length > 0 && query !== undefined ? html`<a href="${site.basePath}${path}">Open the page without search and filters</a>` : html``}
            <a href="${site.basePath}/">Go to the start page</a>
          </div>`,
        { ...noExtras, head: html`<meta name="robots" content="noindex" />` },
      ),
    };
  });
}

function renderIssue({ path, message }: Issue): Html {
  return html`<p><code>${path.replace(/^query\./, '')}</code> ${message}.</p>`;
}

/** Finds what `/?q=…` asks for; null without a text. Needs no key, so an address may search as often as a key may. */
function createResults(site: Site, dependencies: SiteDependencies, limit: Limit) {
  const { health } = dependencies;

  async function render(request: FastifyRequest, text: string): Promise<Entry> {
    const isUp = health.snapshot().components.database === 'ok';
    // A search that nobody waits for any more keeps its turn, because it still has its connection.
    const search = () =>
      inTurnOfCaller(request, () => suggest(dependencies, text)).catch((error: unknown) => {
        if (error instanceof ServiceError && error.code === 'rate_limited') return error;
        throw error;
      });
    const found = isUp ? await within(entriesWaitMs, search()) : undefined;
    if (found instanceof ServiceError) throw found;
    return entryOf(0, Buffer.from(renderSearch(site, text, found ?? null)));
  }

  return (request: FastifyRequest, reply: FastifyReply): Promise<Entry> | null => {
    const { q } = request.query as { q?: string | string[] };
    const text = startOf([q].flat().join(' ').replaceAll('\0', '').trim(), searchTextMax);
    if (text === '') return null;
    const exceeded = limit(request, reply, null);
    if (exceeded) throw exceeded;
    return render(request, text);
  };
}

/** Renders the page again when what it shows has changed. */
function createLanding(site: Site, dependencies: SiteDependencies): () => Entry | Promise<Entry> {
  const { health, revisions, publicUrl } = dependencies;
  let shown: { state: string; entry: Entry | Promise<Entry> } | null = null;
  // A read that nobody waits for any more still has its connection, which may be dead.
  const inTurn = pLimit(readsAtOnce);

  async function render(): Promise<Entry> {
    const { counts, maintenance, components } = health.snapshot();
    const query = { page: 1, limit: newestShown, sort: '-createdAt' } as const;
    const isUp = components.database === 'ok';
    // Without the database, the page has no organisations.
    const read = () => listPublic(dependencies, 'orgs', query, publicUrl);
    const list = isUp ? await within(entriesWaitMs, inTurn(read)) : undefined;
    // The next request reads again.
    if (isUp && list === undefined) shown = null;
    const newest = list?.rows ?? [];
    return publicEntry(Buffer.from(renderLanding(site, { counts, maintenance, newest })));
  }

  return () => {
    const state = JSON.stringify([revisions.current('directory'), health.snapshot()]);
    if (shown?.state !== state) shown = { state, entry: render() };
    return shown.entry;
  };
}

function createStatus(site: Site, dependencies: SiteDependencies): () => Promise<Entry> {
  const { database, health } = dependencies;
  let shown: Entry | undefined;
  const readHistory = coalesce(async (): Promise<StatusContent['history']> => {
    const [stats, past] = await Promise.all([
      readServiceStats(database),
      listPastMaintenance(database),
    ]);
    return { stats, past };
  }, historyBounds);
  return async () => {
    const snapshot = health.snapshot();
    const { components, maintenance, announcements } = snapshot;
    const history = components.database === 'ok' ? await readHistory().catch(() => null) : null;
    const content = { state: stateOf(snapshot), components, maintenance, announcements, history };
    shown = publicEntry(Buffer.from(renderStatus(site, content)), shown);
    return shown;
  };
}
