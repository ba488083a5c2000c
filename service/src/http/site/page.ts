/** The pages that the service renders itself: one HTML document with one inline style sheet, and how it is served. */
import { readFileSync } from 'node:fs';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import type { Config } from '../../settings/config.ts';
import type { Brand } from './brand.ts';
import type { Status } from '../../contract/status.ts';
import { fontLink, hashOf, schemeScript, tokensOf } from './tokens.ts';
import { rejectOtherMethods } from '../methods.ts';

/** Text that is HTML already. */
export type Html = { readonly html: string };
type Value = string | number | Html | readonly Html[] | false | null | undefined;

/** Builds HTML. Values are escaped unless they are HTML already; what is false, null or undefined is left out. */
export function html(strings: TemplateStringsArray, ...values: Value[]): Html {
  return { html: String.raw({ raw: strings }, ...values.map(toHtml)) };
}

function toHtml(value: Value): string {
  if (value === false || value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(toHtml).join('');
  if (typeof value === 'object') return (value as Html).html;
  return escape(String(value));
}

export function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** The addresses of the service's parts, below the path of its public address. */
export type Site = SiteSettings & { basePath: string };
export type SiteSettings = { brand: Brand } & Pick<
  Config,
  'publicUrl' | 'directoryPages' | 'directoryPagesImages'
>;

export function toSite(given: SiteSettings): Site {
  const { brand, publicUrl, directoryPages, directoryPagesImages } = given;
  const basePath = basePathOf(publicUrl);
  return { brand, publicUrl, basePath, directoryPages, directoryPagesImages };
}

/** The path of the public address, without a slash at the end. */
export function basePathOf(publicUrl: string): string {
  return new URL(publicUrl).pathname.replace(/\/$/, '');
}

const css = readFileSync(new URL('./page.css', import.meta.url), 'utf8');

/** `head` is added to the document's head, `tools` to its header, and `aside` before its main part. */
type Extras = {
  head: Html;
  tools: Html;
  aside: Html;
  /** The address in the navigation that leads here. */
  current?: string;
};
export const noExtras: Extras = { head: html``, tools: html``, aside: html`` };

export function renderPage(
  site: Site,
  title: string,
  body: Html,
  { head, tools, aside, current } = noExtras,
): string {
  const { brand, basePath } = site;
  const logo = `${basePath}/logo?v=${brand.logo.version}`;
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
        <link rel="icon" href="${logo}" />
        ${{ html: `${fontLink(site)}<style>${styleOf(site)}</style><script>${schemeScript}</script>` }}${head}
      </head>
      <body>
        <a class="skip" href="#main">Skip to the content</a>
        <header>
          <a class="brand" href="${basePath}/"
            ><img src="${logo}" alt="" width="26" height="26" />${brand.name}</a
          >
          <nav aria-label="Main">${renderMainLinks(site, current)}</nav>
          <div class="tools">${tools}${schemeButton}</div>
        </header>
        ${aside}
        <main id="main">${body}</main>
      </body>
    </html> `;
  return page.html;
}

/** Without its script the button would do nothing, so the script shows it. */
const schemeButton = html`<button type="button" id="switch-scheme" class="icon" hidden>
  <svg viewBox="0 0 24 24" aria-hidden="true">
    <path class="auto" d="M3 5h18v11H3zM8 20h8M12 16v4" />
    <path
      class="light"
      d="M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2.5v1.5M12 20v1.5M2.5 12H4M20 12h1.5M5.3 5.3l1 1M17.7 17.7l1 1M5.3 18.7l1-1M17.7 6.3l1-1"
    />
    <path class="dark" d="M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5Z" />
  </svg>
</button>`;

export const directoryLinks = {
  '/orgs': 'Organisations',
  '/alliances': 'Alliances',
  '/blueprints': 'Blueprints',
};
const links = { '/docs': 'Docs', '/status': 'Status', '/profile/developer': 'Developer portal' };

/** To the parts of the service. */
export function renderMainLinks({ basePath, directoryPages }: Site, current?: string): Html {
  const shown = { ...(directoryPages && directoryLinks), ...links };
  return html`${Object.entries(shown).map(
    ([path, label]) =>
      html`<a href="${basePath}${path}" ${path === current && html`aria-current="page"`}
        >${label}</a
      >`,
  )}`;
}

/** A time of the API, to the minute. */
export function formatTime(time: string): string {
  return `${time.slice(0, 10)} ${time.slice(11, 16)} UTC`;
}

export const htmlType = 'text/html; charset=utf-8';

/**
 * Pages load nothing but the logo and the typeface, and run no script but that of the colour scheme, an inline one, or
 * the `own` ones of this server, which may send requests to it. `more` is another inline style sheet, and where else
 * images may come from.
 */
export function pageHeaders(
  site: Site,
  script?: { inline: string } | 'own',
  more: { css?: string; images?: string } = {},
): Record<string, string> {
  const isOwn = script === 'own';
  const { css: moreCss, images = '' } = more;
  const inlineScript = typeof script === 'object' ? script.inline : undefined;
  const sources = (inline: (string | undefined)[]) =>
    [isOwn && "'self'", ...inline.map((text) => text !== undefined && hashOf(text))]
      .filter((source) => source !== false)
      .join(' ');
  const policy = {
    'default-src': "'none'",
    'style-src': sources([styleOf(site), moreCss]),
    'script-src': sources([schemeScript, inlineScript]),
    ...(script && { 'connect-src': "'self'" }),
    'img-src': `'self'${images}`,
    'font-src': "'self'",
    'base-uri': "'none'",
    'form-action': script ? "'self'" : "'none'",
    'frame-ancestors': "'none'",
  };
  return {
    'content-security-policy': renderPolicy(policy),
    'referrer-policy': 'no-referrer',
  };
}

/** A Content-Security-Policy. */
export function renderPolicy(directives: Record<string, string>): string {
  return Object.entries(directives)
    .map((directive) => directive.join(' '))
    .join('; ');
}

function styleOf(site: Site): string {
  return tokensOf(site) + css;
}

export function renderMaintenance({
  message,
  expectedEnd,
}: NonNullable<Status['maintenance']>): Html {
  const end = expectedEnd === null ? '' : ` It is expected to end at ${formatTime(expectedEnd)}.`;
  return html`<p class="notice">
    <strong>Maintenance.</strong> ${message ?? 'The API is not available at the moment.'}${end}
  </p>`;
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;
type Checks = Pick<RouteOptions, 'onRequest' | 'preValidation' | 'schema'>;

/** Serves one address of the site to GET and HEAD, and responds with 405 to other methods. */
export function servePage(
  app: FastifyInstance,
  url: string,
  handler: Handler,
  { schema, ...hooks }: Checks = {},
): void {
  rejectOtherMethods(app, url, new Set(['GET', 'HEAD']), false);
  app.route({
    method: ['GET', 'HEAD'],
    url,
    exposeHeadRoute: false,
    schema: { ...schema, hide: true },
    ...hooks,
    handler,
  });
}

/** `text`: what is not built, and how to build it. */
export function sendNotBuilt(reply: FastifyReply, text: string): FastifyReply {
  return reply
    .code(503)
    .headers({ 'cache-control': 'no-store', 'retry-after': '60' })
    .type('text/plain; charset=utf-8')
    .send(`${text}\n`);
}
