/** The frame of the pages that the service renders itself: one HTML document, one inline style sheet. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Config } from '../../settings/config.ts';
import type { Brand } from './brand.ts';
import type { Status } from '../../contract/status.ts';

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

/** `head` is added to the document's head, `tools` to its navigation, and `aside` before its main part. */
type Extras = { head: Html; tools: Html; aside: Html };
export const noExtras: Extras = { head: html``, tools: html``, aside: html`` };

export function renderPage(
  site: Site,
  title: string,
  body: Html,
  { head, tools, aside } = noExtras,
): string {
  const { brand, basePath } = site;
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
        <link rel="icon" href="${basePath}/logo?v=${brand.logo.version}" />
        ${{ html: `<style>${styleOf(brand)}</style>` }}${head}
      </head>
      <body>
        <a class="skip" href="#main">Skip to the content</a>
        <header>
          <a class="brand" href="${basePath}/"
            ><img
              src="${basePath}/logo?v=${brand.logo.version}"
              alt=""
              width="28"
              height="28"
            />${brand.name}</a
          >
          <nav aria-label="Main">${renderMainLinks(site)}${tools}</nav>
        </header>
        ${aside}
        <main id="main">${body}</main>
      </body>
    </html> `;
  return page.html;
}

/** To the parts of the service. */
export function renderMainLinks({ basePath, directoryPages }: Site): Html {
  const directory =
    directoryPages &&
    html`<a href="${basePath}/orgs">Organisations</a><a href="${basePath}/alliances">Alliances</a
      ><a href="${basePath}/blueprints">Blueprints</a>`;
  return html`${directory}<a href="${basePath}/docs">Docs</a><a href="${basePath}/status">Status</a
    ><a href="${basePath}/profile/developer">Developer portal</a>`;
}

/** A time of the API, to the minute. */
export function formatTime(time: string): string {
  return `${time.slice(0, 10)} ${time.slice(11, 16)} UTC`;
}

export const htmlType = 'text/html; charset=utf-8';

/**
 * Pages load nothing but the logo and run no script, except for an inline one, or the `own` ones of this server, which
 * may send requests to it. `more` is another inline style sheet, and where else images may come from.
 */
export function pageHeaders(
  brand: Brand,
  script?: { inline: string } | 'own',
  more: { css?: string; images?: string } = {},
): Record<string, string> {
  const source = script === 'own' ? "'self'" : script && `'${hashOf(script.inline)}'`;
  const scripts = source ? `script-src ${source}; connect-src 'self'; ` : '';
  const { css: moreCss, images = '' } = more;
  const inlineStyles = [styleOf(brand), ...(moreCss === undefined ? [] : [moreCss])].map(
    (style) => `'${hashOf(style)}'`,
  );
  const styles = [...(script === 'own' ? ["'self'"] : []), ...inlineStyles].join(' ');
  const form = source ? "'self'" : "'none'";
  return {
    'content-security-policy': `default-src 'none'; style-src ${styles}; ${scripts}img-src 'self'${images}; base-uri 'none'; form-action ${form}; frame-ancestors 'none'`,
    'referrer-policy': 'no-referrer',
  };
}

function hashOf(inline: string): string {
  return `sha256-${createHash('sha256').update(inline).digest('base64')}`;
}

function styleOf({ color, onColor }: Brand): string {
  return `:root{--brand:${color};--on-brand:${onColor}}${css}`;
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
