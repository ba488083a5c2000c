/** The pages at `/orgs/{slug}` and `/alliances/{slug}`: everything public about one entry. */
import type { AllianceDetail } from '../../contract/alliance.ts';
import { cutText } from '../../contract/cut-text.ts';
import type { Organisation } from '../../contract/organisation.ts';
import {
  capitalise,
  countOf,
  languageName,
  renderBadges,
  renderLink,
  renderMark,
  secureAddress,
  toWebUrl,
} from './entry-parts.ts';
import { html, type Html, type Site } from './page.ts';
import { renderDirectoryPage } from './directory-frame.ts';

type Entry = Organisation | AllianceDetail;
type Fact = [label: string, value: Html | string | null];

/** Search engines show about so much of a description. */
const summaryCharsMax = 160;
/** Keeps the page of the largest alliance small; the list of organisations has all of them. */
const membersShownMax = 100;

export function renderOrg(site: Site, org: Organisation): string {
  const { basePath } = site;
  const filtered = (name: string, value: string | null, label = value): Html | null =>
    value === null
      ? null
      : html`<a href="${basePath}/orgs?${name}=${encodeURIComponent(value)}" dir="auto"
          >${label ?? ''}</a
        >`;
  const facts: Fact[] = [
    ['Members', org.memberCount.toLocaleString('en')],
    [
      'Alliance',
      org.alliance &&
        html`<a href="${basePath}/alliances/${org.alliance.slug}" dir="auto"
          >${org.alliance.name}</a
        >`,
    ],
    ['Main activity', filtered('activity', org.primaryActivity)],
    ['Other activity', filtered('activity', org.secondaryActivity)],
    ['Commitment', org.commitment],
    ['Language', filtered('language', org.language, org.language && languageName(org.language))],
    ['Location', filtered('location', org.location)],
    ['Time zone', org.timezone],
    ...commonFacts(org),
  ];
  return renderEntry(site, 'orgs', org, { facts, more: html``, memberOf: org.alliance?.name });
}

export function renderAlliance(site: Site, alliance: AllianceDetail): string {
  const facts: Fact[] = [
    ['Organisations', alliance.orgCount.toLocaleString('en')],
    ['Members', alliance.memberCount.toLocaleString('en')],
    ...commonFacts(alliance),
  ];
  return renderEntry(site, 'alliances', alliance, { facts, more: renderMembers(site, alliance) });
}

function commonFacts({ foundedAt, createdAt, updatedAt }: Entry): Fact[] {
  return [
    ['Founded', foundedAt && renderDay(foundedAt)],
    ['In the directory since', renderDay(createdAt)],
    ['Last changed', renderDay(updatedAt)],
  ];
}

function renderDay(time: string): Html {
  return html`<time datetime="${time}">${time.slice(0, 10)}</time>`;
}

type Parts = { facts: Fact[]; more: Html; memberOf?: string | undefined };

function renderEntry(
  site: Site,
  kind: 'orgs' | 'alliances',
  entry: Entry,
  { facts, more, memberOf }: Parts,
): string {
  const { basePath } = site;
  const { slug, name, tag, aliases, description } = entry;
  const path = `/${kind}/${slug}`;
  const body = html`<nav class="trail" aria-label="Breadcrumb">
      <a href="${basePath}/${kind}">${kind === 'orgs' ? 'Organisations' : 'Alliances'}</a>
    </nav>
    ${renderBanner(site, entry)}
    <div class="title">
      ${renderMark(site, entry)}
      <div>
        <h1><bdi>${name}</bdi></h1>
        <p>
          ${tag === null ? html`` : html`<span class="tag" dir="auto">${tag}</span>`}
          ${renderBadges(entry)}
        </p>
      </div>
    </div>
    <div class="entry">
      <div>
        ${description ? html`<p class="description" dir="auto">${description}</p>` : html`<p class="soft">No description yet.</p>`}
        ${
          aliases.length > 0
            ? html`<h2>Also known as</h2>
                <p class="names">${aliases.map((alias) => html`<bdi>${alias}</bdi>`)}</p>`
            : html``
        }
        ${renderLinks(entry)} ${more}
      </div>
      <aside aria-label="Facts">
        <dl class="facts">${facts.map(renderFact)}</dl>
        <p class="soft">In the API: <code>/api/v1${path}</code></p>
      </aside>
    </div>`;
  return renderDirectoryPage(site, {
    title: name,
    path,
    summary: cutText(description ?? `${name} in ${site.brand.name}`, summaryCharsMax),
    image: site.directoryPagesImages ? secureAddress(entry.logoUrl) : null,
    data: toJsonLd(site, path, entry, memberOf),
    body,
  });
}

function renderBanner({ directoryPagesImages }: Site, { bannerUrl }: Entry): Html {
  const address = directoryPagesImages ? secureAddress(bannerUrl) : null;
  if (address === null) return html``;
  return html`<img class="banner" src="${address}" alt="" referrerpolicy="no-referrer" />`;
}

function renderFact([label, value]: Fact): Html {
  if (value === null || value === '') return html``;
  return html`<div>
    <dt>${label}</dt>
    <dd dir="auto">${value}</dd>
  </div>`;
}

function renderLinks({ links }: Entry): Html {
  const items = Object.entries(links).flatMap(([name, address]) => {
    const link = renderLink(address, ({ host, pathname }) =>
      cutText(`${host}${pathname === '/' ? '' : pathname}`, 60),
    );
    return link ? [html`<li><span class="soft">${capitalise(name)}</span> ${link}</li>`] : [];
  });
  return items.length === 0
    ? html``
    : html`<h2>Links</h2>
        <ul class="links">
          ${items}
        </ul>`;
}

function renderMembers({ basePath }: Site, { slug, orgs, orgCount }: AllianceDetail): Html {
  if (orgs.length === 0)
    return html`<h2>Organisations</h2>
      <p class="soft">None yet.</p>`;
  return html`<h2>Organisations</h2>
    <ul class="members">
      ${orgs.slice(0, membersShownMax).map(
        ({ slug: org, name, memberCount }) =>
          html`<li>
            <a href="${basePath}/orgs/${org}" dir="auto">${name}</a>
            <span class="soft">${countOf(memberCount, 'member')}</span>
          </li>`,
      )}
    </ul>
    <p>
      <a href="${basePath}/orgs?alliance=${slug}"
        >Search and sort ${countOf(orgCount, 'organisation')}</a
      >
    </p>`;
}

/** schema.org, as search engines read it. */
function toJsonLd(site: Site, path: string, entry: Entry, memberOf: string | undefined): object {
  const { name, aliases, description, foundedAt, links } = entry;
  return {
    '@context': 'https://schema.org',
    '@type': 'Organization',
    name,
    url: `${site.publicUrl}${path}`,
    ...(aliases.length > 0 && { alternateName: aliases }),
    ...(description && { description }),
    ...(foundedAt && { foundingDate: foundedAt.slice(0, 10) }),
    ...(memberOf !== undefined && { memberOf: { '@type': 'Organization', name: memberOf } }),
    sameAs: Object.values(links).flatMap((link) => toWebUrl(link)?.href ?? []),
  };
}
