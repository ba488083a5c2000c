/** The head of the directory's pages: style, and what search engines and messengers read. */
import { readFileSync } from 'node:fs';
import { html, noExtras, renderPage, type Html, type Site } from './page.ts';

export const directoryCss = readFileSync(new URL('./directory.css', import.meta.url), 'utf8');

type DirectoryPage = {
  title: string;
  /** Of the address that search engines show for this page. */
  path: string;
  summary: string;
  image?: string | null;
  /** JSON-LD. */
  data?: object;
  body: Html;
};

export function renderDirectoryPage(site: Site, page: DirectoryPage): string {
  const { title, path, summary, image, data, body } = page;
  const { brand, publicUrl } = site;
  const properties = {
    type: 'website',
    site_name: brand.name,
    title,
    description: summary,
    url: `${publicUrl}${path}`,
    ...(image && { image }),
  };
  const head = html`<meta name="description" content="${summary}" />
    <link rel="canonical" href="${properties.url}" />
    ${Object.entries(properties).map(([name, value]) => html`<meta property="og:${name}" content="${value}" />`)}
    ${data && renderData(data)} ${{ html: `<style>${directoryCss}</style>` }}`;
  return renderPage(site, `${title} – ${brand.name}`, body, {
    ...noExtras,
    head,
    current: `/${path.split(/[/?]/)[1]}`,
  });
}

/** `<` is escaped, or a text with `</script>` would end the script. */
function renderData(data: object): Html {
  const json = JSON.stringify(data).replaceAll('<', String.raw`\u003c`);
  return { html: `<script type="application/ld+json">${json}</script>` };
}
