/** Serves the landing page, the logo, and errors as pages to browsers. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Database } from '../../database/database.ts';
import type { Revisions } from '../../database/revisions.ts';
import { listOrgs } from '../../directory/orgs.ts';
import type { ServiceError } from '../../errors.ts';
import type { Health } from '../../system/health.ts';
import { rejectOtherMethods } from '../methods.ts';
import { entryOf, type Entry } from '../response-cache.ts';
import { sendEntry } from '../send-entry.ts';
import type { Brand } from './brand.ts';
import { renderLanding } from './landing-page.ts';
import { html, htmlType, pageHeaders, renderPage, toSite } from './page.ts';

export type SiteDependencies = {
  brand: Brand;
  publicUrl: string;
  database: Database;
  health: Health;
  revisions: Revisions;
};

declare module 'fastify' {
  interface FastifyInstance {
    /** Renders an error for browsers; only on the public port. */
    errorPage?: (error: ServiceError) => { headers: Record<string, string>; body: string };
  }
}

const newestShown = 6;
/** Counts are refreshed each second, so an older page would be wrong for as long as it is kept. */
const cacheControl = 'public, max-age=5';

export function registerSite(app: FastifyInstance, dependencies: SiteDependencies): void {
  const { brand } = dependencies;
  const readLanding = createLanding(dependencies);
  page(app, '/', async (request, reply) => {
    reply.headers(pageHeaders(brand));
    return sendEntry(request, reply, await readLanding(), cacheControl, htmlType);
  });
  const logo = entryOf(0, brand.logo.bytes);
  for (const url of ['/logo', '/favicon.ico'])
    page(app, url, async (request, reply) => {
      // An SVG that somebody opens by its address could contain a script.
      reply.header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'");
      return sendEntry(request, reply, logo, 'public, max-age=86400', brand.logo.type);
    });
}

/** Call it for each application of the public port. */
export function showErrorPages(
  app: FastifyInstance,
  given: Pick<SiteDependencies, 'brand' | 'publicUrl'>,
): void {
  const site = toSite(given);
  app.decorate('errorPage', ({ status, message }: ServiceError) => ({
    headers: { ...pageHeaders(site.brand), 'content-type': htmlType },
    body: renderPage(
      site,
      `${message} – ${site.brand.name}`,
      html`<h1>${status === 404 ? 'There is no such page' : message}</h1>
        <p class="soft">
          Error ${status}.
          ${status === 404 ? 'The address may be misspelt, or the page has moved.' : ''}
        </p>
        <div class="actions"><a href="${site.basePath}/">Go to the start page</a></div>`,
    ),
  }));
}

function page(
  app: FastifyInstance,
  url: string,
  handler: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>,
): void {
  rejectOtherMethods(app, url, new Set(['GET', 'HEAD']), false);
  app.route({
    method: ['GET', 'HEAD'],
    url,
    exposeHeadRoute: false,
    schema: { hide: true },
    handler,
  });
}

/** Renders the page again when what it shows has changed. */
function createLanding(dependencies: SiteDependencies): () => Entry | Promise<Entry> {
  const { database, health, revisions, publicUrl } = dependencies;
  const site = toSite(dependencies);
  let shown: { state: string; entry: Entry | Promise<Entry> } | null = null;

  async function render(): Promise<Entry> {
    const { counts, maintenance, components } = health.snapshot();
    const query = { page: 1, limit: newestShown, sort: '-createdAt' } as const;
    // Without the database, the page has no organisations.
    const list =
      components.database === 'ok'
        ? await listOrgs(database, query, publicUrl).catch(() => null)
        : null;
    return entryOf(
      0,
      Buffer.from(renderLanding(site, { counts, maintenance, newest: list?.rows ?? [] })),
    );
  }

  return () => {
    const state = JSON.stringify([revisions.current('directory'), health.snapshot()]);
    if (shown?.state !== state) shown = { state, entry: render() };
    return shown.entry;
  };
}
