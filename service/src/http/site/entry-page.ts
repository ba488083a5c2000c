/** The pages at `/orgs/{slug}` and `/alliances/{slug}`: everything public about one entry. */
import type { AllianceDetail } from '../../contract/alliance.ts';
import { cutText } from '../../contract/cut-text.ts';
import type { Organisation } from '../../contract/organisation.ts';
import { renderDirectoryPage } from './entry-parts.ts';
import * as parts from './entry-parts.ts';
import { html, type Html, type Site } from './page.ts';

type Entry = Organisation | AllianceDetail;
type Facts = Record<string, Html | string | null>;

/** Search engines show about so much of a description. */
const summaryCharsMax = 160;
const linkCharsMax = 60;
/** Keeps the page of the largest alliance small; the list of organisations has all of them. */
const membersShownMax = 100;

export function renderOrg(site: Site, org: Organisation): string {
  const { alliance, language, primaryActivity, secondaryActivity, location } = org;
  const orgs = `${site.basePath}/orgs`;
  const filter = (name: string, value: string | null, label = value) =>
    value && renderTo(`${orgs}?${name}=${encodeURIComponent(value)}`, label ?? value);
  const facts = {
    Members: org.memberCount.toLocaleString('en'),
    Alliance: alliance && renderTo(`${site.basePath}/alliances/${alliance.slug}`, alliance.name),
    'Main activity': filter('activity', primaryActivity),
    'Other activity': filter('activity', secondaryActivity),
    Commitment: org.commitment,
    Language: filter('language', language, language && parts.languageName(language)),
    Location: filter('location', location),
    'Time zone': org.timezone,
  };
  return renderEntry(site, 'orgs', org, facts, alliance?.name);
}

export function renderAlliance(site: Site, alliance: AllianceDetail): string {
  const { orgCount, memberCount } = alliance;
  const facts = {
    Organisations: orgCount.toLocaleString('en'),
    Members: memberCount.toLocaleString('en'),
  };
  return renderEntry(site, 'alliances', alliance, facts);
}

function renderTo(address: string, label: string): Html {
  return html`<a href="${address}" dir="auto">${label}</a>`;
}

function renderEntry(
  site: Site,
  kind: 'orgs' | 'alliances',
  entry: Entry,
  ownFacts: Facts,
  memberOf?: string,
): string {
  const { name, aliases, description, foundedAt, createdAt, updatedAt } = entry;
  const path = `/${kind}/${entry.slug}`;
  const facts: Facts = {
    ...ownFacts,
    Founded: foundedAt && foundedAt.slice(0, 10),
    'In the directory since': createdAt.slice(0, 10),
    'Last changed': updatedAt.slice(0, 10),
  };
  const body = html`<nav class="trail" aria-label="Breadcrumb">
      <a href="${site.basePath}/${kind}">${kind === 'orgs' ? 'Organisations' : 'Alliances'}</a>
    </nav>
    <div class="title">
      ${parts.renderMark(site, entry)}
      <div>
        <h1><bdi>${name}</bdi></h1>
        ${parts.renderBadges(entry)}
      </div>
    </div>
    <div class="entry">
      <div>
        <p class="description" dir="auto">${description ?? 'There is no description.'}</p>
        ${
          aliases.length > 0 &&
          html`<h2>Also known as</h2>
            <p class="names">${aliases.map((alias) => html`<bdi>${alias}</bdi>`)}</p>`
        }
        ${renderLinks(entry)} ${'orgs' in entry && renderMembers(site, entry)}
      </div>
      <aside aria-label="Facts">
        <dl class="facts">${Object.entries(facts).map(renderFact)}</dl>
        <p class="soft">In the API: <code>/api/v1${path}</code></p>
      </aside>
    </div>`;
  return renderDirectoryPage(site, {
    title: name,
    path,
    summary: cutText(description ?? `${name} in ${site.brand.name}`, summaryCharsMax),
    image: parts.imageOf(site, entry.logoUrl),
    data: toJsonLd(`${site.publicUrl}${path}`, entry, memberOf),
    body,
  });
}

function renderFact([label, value]: [string, Html | string | null]): Html {
  return html`${
    value &&
    html`<div>
      <dt>${label}</dt>
      <dd dir="auto">${value}</dd>
    </div>`
  }`;
}

function renderLinks({ links }: Entry): Html {
  const items = Object.entries(links).flatMap(([name, address]) => {
    const url = parts.toWebUrl(address);
    if (!url) return [];
    const label = cutText(`${url.host}${url.pathname.replace(/^\/$/, '')}`, linkCharsMax);
    return html`<li>
      <span class="soft">${parts.capitalise(name)}</span>
      <a href="${url.href}" rel="ugc nofollow noopener">${label}</a>
    </li>`;
  });
  return html`${
    items.length > 0 &&
    html`<h2>Links</h2>
      <ul class="links">
        ${items}
      </ul>`
  }`;
}

function renderMembers({ basePath }: Site, { slug, orgs, orgCount }: AllianceDetail): Html {
  const members = orgs.slice(0, membersShownMax).map(
    (org) =>
      html`<li>
        ${renderTo(`${basePath}/orgs/${org.slug}`, org.name)}
        <span class="soft">${parts.countOf(org.memberCount, 'member')}</span>
      </li>`,
  );
  const all = `Search and sort ${parts.countOf(orgCount, 'organisation')}`;
  return html`<h2>Organisations</h2>
    <ul class="members">
      ${members}
    </ul>
    <p>
      ${orgCount === 0 ? 'There are none yet.' : renderTo(`${basePath}/orgs?alliance=${slug}`, all)}
    </p>`;
}

/** schema.org, as search engines read it. Without a value, `JSON.stringify` leaves a property out. */
function toJsonLd(url: string, entry: Entry, memberOf: string | undefined): object {
  const { name, aliases, description, foundedAt, links } = entry;
  return {
    '@context': 'https://schema.org',
    '@type': 'Organization',
    name,
    url,
    alternateName: aliases,
    description: description ?? undefined,
    foundingDate: foundedAt?.slice(0, 10),
    memberOf: memberOf && { '@type': 'Organization', name: memberOf },
    sameAs: Object.values(links).flatMap((link) => parts.toWebUrl(link)?.href ?? []),
  };
}
