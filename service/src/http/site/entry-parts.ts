/** What lists and pages of entries have in common: their frame, and parts of an entry. */
import { readFileSync } from 'node:fs';
import type { Alliance } from '../../contract/alliance.ts';
import type { Organisation } from '../../contract/organisation.ts';
import { html, type Html, type Site, noExtras, renderPage } from './page.ts';

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
const languages = new Intl.DisplayNames('en', { type: 'language' });

/** The logo, or the first letters of the name. */
export function renderMark(site: Site, { name, logoUrl }: Organisation | Alliance): Html {
  const address = imageOf(site, logoUrl);
  if (address !== null)
    return html`<img class="mark" src="${address}" alt="" loading="lazy" width="40" height="40" />`;
  const words = name.match(/[\p{L}\p{N}][^\s-]*/gu) ?? [];
  const initials = words.slice(0, 2).map((word) => [...graphemes.segment(word)][0]?.segment ?? '');
  return html`<span class="mark" aria-hidden="true">${initials.join('').toUpperCase()}</span>`;
}

/** Null unless this installation shows images of other sites. Pages that came over TLS show no others than https. */
export function imageOf({ directoryPagesImages }: Site, address: string | null): string | null {
  return directoryPagesImages && toWebUrl(address)?.protocol === 'https:' ? address : null;
}

/** Null unless the address is one that a link may lead to. */
export function toWebUrl(address: string | null): URL | null {
  const url = address === null ? null : URL.parse(address);
  return url && ['http:', 'https:'].includes(url.protocol) ? url : null;
}

/** The tag, and what is special about an entry. */
export function renderBadges(entry: Organisation | Alliance): Html {
  const { tag, recruiting, status } = entry;
  const labels = [
    'verified' in entry && entry.verified && 'Verified',
    recruiting && 'Recruiting',
    status !== 'active' && capitalise(status),
  ].filter((label) => label !== false);
  return html`${tag && html`<span class="tag" dir="auto">${tag}</span> `}${labels.map((label) => html`<span class="badge">${label}</span> `)}`;
}

export function capitalise(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The English name of a language tag, or the tag if it has none. */
export function languageName(tag: string): string {
  try {
    return languages.of(tag) ?? tag;
  } catch {
    return tag;
  }
}

/** `1 member`, `1,234 members` */
export function countOf(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
}

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

/** Adds to the head what search engines and messengers read, and the style. */
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
