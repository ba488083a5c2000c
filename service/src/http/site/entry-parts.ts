/** What the pages of the directory have in common: how they show an entry, its links and its image. */
import type { Alliance } from '../../contract/alliance.ts';
import type { Organisation } from '../../contract/organisation.ts';
import { html, type Html, type Site } from './page.ts';

type Shown = Pick<Organisation | Alliance, 'name' | 'logoUrl'>;

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
const initialsMax = 2;

/** The logo, if this installation shows images of other sites; otherwise the first letters of the name. */
export function renderMark({ directoryPagesImages }: Site, { name, logoUrl }: Shown): Html {
  const address = directoryPagesImages ? secureAddress(logoUrl) : null;
  if (address !== null)
    return html`<img
      class="mark"
      src="${address}"
      alt=""
      loading="lazy"
      referrerpolicy="no-referrer"
      width="40"
      height="40"
    />`;
  const words = name.match(/[\p{L}\p{N}][^\s-]*/gu) ?? [];
  const initials = words.slice(0, initialsMax).map((word) => firstGrapheme(word).toUpperCase());
  return html`<span class="mark" aria-hidden="true">${initials.join('')}</span>`;
}

function firstGrapheme(word: string): string {
  const [first] = graphemes.segment(word);
  return first?.segment ?? '';
}

/** Null unless it is an https: address: a page that is loaded over TLS shows no other images. */
export function secureAddress(address: string | null): string | null {
  return toWebUrl(address)?.protocol === 'https:' ? address : null;
}

/** A link that somebody else has chosen; nothing unless it leads to a web site. */
export function renderLink(address: string | null, label: (url: URL) => string): Html | null {
  const url = toWebUrl(address);
  if (!url) return null;
  return html`<a href="${url.href}" rel="ugc nofollow noopener" dir="auto">${label(url)}</a>`;
}

export function toWebUrl(address: string | null): URL | null {
  const url = address === null ? null : URL.parse(address);
  return url && ['http:', 'https:'].includes(url.protocol) ? url : null;
}

export function renderBadges({ status, ...flags }: Partial<Organisation | Alliance>): Html[] {
  const { verified, recruiting } = flags as Partial<Organisation>;
  const labels = [
    verified && 'Verified',
    recruiting && 'Recruiting',
    status !== 'active' && status !== undefined && capitalise(status),
  ];
  return labels.flatMap((label) => (label ? [html`<span class="badge">${label}</span>`] : []));
}

export function capitalise(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const languages = new Intl.DisplayNames('en', { type: 'language' });

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
