/** The head of the directory's pages: style, and what search engines and messengers read. */
import { readFileSync } from 'node:fs';
import { html, noExtras, renderPage, type Html, type Site } from './page.ts';

export const directoryCss = readFileSync(new URL('./directory.css', import.meta.url), 'utf8');

type DirectoryPage = {
  title: string;
  /** The path and query of the page that this is, or is a view of. */
  path: string;
  summary: string;
  image?: string | null;
  /** JSON-LD. */
  data?: object;
  body: Html;
};

export function renderDirectoryPage(
  site: Site,
  { title, path, summary, image = null, data, body }: DirectoryPage,
): string {
  const { brand, publicUrl } = site;
  const url = `${publicUrl}${path}`;
  const head = html`<meta name="description" content="${summary}" />
    <link rel="canonical" href="${url}" />
    <meta property="og:type" content="website" />
    <meta property="og:site_name" content="${brand.name}" />
    <meta property="og:title" content="${title}" />
    <meta property="og:description" content="${summary}" />
    <meta property="og:url" content="${url}" />
    ${image === null ? html`` : html`<meta property="og:image" content="${image}" />`}
    ${data ? renderData(data) : html``} ${{ html: `<style>${directoryCss}</style>` }}`;
  return renderPage(site, `${title} – ${brand.name}`, body, { ...noExtras, head });
}

/** `<` is escaped, or a text with `</script>` would end the script. */
function renderData(data: object): Html {
  const json = JSON.stringify(data).replaceAll('<', String.raw`\u003c`);
  return { html: `<script type="application/ld+json">${json}</script>` };
}
