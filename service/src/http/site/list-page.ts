/** The pages at `/orgs`, `/alliances` and `/blueprints`: search, filters, sort orders and paging over the API's lists. */
import type { Alliance } from '../../contract/alliance.ts';
import type { Blueprint } from '../../contract/blueprint.ts';
import type { Pagination } from '../../contract/envelope.ts';
import type { FoundBy } from '../../contract/list-meta.ts';
import type { Organisation } from '../../contract/organisation.ts';
import { limitDefault } from '../../directory/list-query.ts';
import type { SlugTable } from '../../directory/lock-directory.ts';
import type { Paging } from '../v1/cached-reads.ts';
import {
  renderDirectoryPage,
  capitalise,
  countOf,
  languageName,
  renderBadges,
  renderMark,
} from './entry-parts.ts';
import { html, type Html, type Site } from './page.ts';
import { renderSearchField, searchScript } from './search-page.ts';
import { cutText } from '../../contract/cut-text.ts';

export type ListContent = {
  data: unknown[];
  pagination: Pagination;
  meta: { facets?: Record<string, { value: string; count: number }[]>; search?: FoundBy };
};
type Value = string | number | boolean;
type Parameters = Record<string, Value | Value[] | undefined>;
export type ListQuery = Paging & { search?: string; sort?: string } & Parameters;
type List = {
  kind: SlugTable;
  query: ListQuery;
  content: ListContent;
  /** The names of alliances by slug. */
  names: Map<string, string>;
};

const nouns = { orgs: 'organisation', alliances: 'alliance', blueprints: 'blueprint' };
const sorts = {
  name: 'Name',
  '-memberCount': 'Most members',
  '-createdAt': 'Newest',
  '-updatedAt': 'Last changed',
};

export function renderList(site: Site, list: List): string {
  const { kind, query, content } = list;
  const { page, total } = content.pagination;
  const noun = nouns[kind];
  const title = `${capitalise(noun)}s`;
  const kept = pairsOf({ sort: query.sort }).concat(filtersOf(query));
  const body = html`<h1 class="plain">${title}</h1>
    <form role="search" action="${site.basePath}/${kind}" class="find">
      ${renderSearchField({ name: 'search', label: `Search ${noun}s`, placeholder: `Search ${noun}s`, value: query.search })}
      ${kept.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
    </form>
    <p id="count" class="count" data-live aria-live="polite">${countOf(total, noun)}</p>
    <div id="results" class="browse" data-live>
      ${renderFacets(site, list)}
      <div>
        ${renderChips(site, list)} ${renderSorts(site, list)} ${renderFoundBy(content.meta.search)}
        ${content.data.length > 0 ? renderRows(site, list) : renderNothing(site, list)}
        ${renderPager(site, list)}
      </div>
    </div>
    ${{ html: `<script>${searchScript}</script>` }}`;
  return renderDirectoryPage(site, {
    title: page === 1 ? title : `${title}, page ${page}`,
    // Search engines index the list and its pages, and none of its searches.
    path: addressOf(kind, isWhole(query) ? { page, limit: query.limit } : {}),
    summary: `Search and browse ${countOf(total, noun)} of ${site.brand.name}.`,
    body,
  });
}

type Pair = [name: string, value: string];
const controls = new Set(['page', 'limit', 'search', 'sort']);
const defaults: Record<string, string> = { page: '1', limit: String(limitDefault) };

/** The filters that are set, one for each value. */
function filtersOf(query: ListQuery): Pair[] {
  return pairsOf(query).filter(([name]) => !controls.has(name));
}

function isWhole(query: ListQuery): boolean {
  return query.search === undefined && filtersOf(query).length === 0;
}

function pairsOf(query: Parameters): Pair[] {
  return Object.entries(query).flatMap(([name, values]) =>
    [values ?? []].flat().map((value): Pair => [name, String(value)]),
  );
}

/** Parameters with their default are left out, so that a page has one address. */
function addressOf(kind: SlugTable, query: Parameters): string {
  const shown = pairsOf(query).filter(([name, value]) => value !== defaults[name]);
  return `/${kind}${shown.length > 0 ? '?' : ''}${new URLSearchParams(shown).toString()}`;
}

/** The address of this list with other parameters, on its first page. */
function linkTo({ basePath }: Site, { kind, query }: List, changes: Parameters): string {
  return basePath + addressOf(kind, { ...query, page: 1, ...changes });
}

const limitLabels: Record<string, string> = {
  memberCountMin: 'Members at least',
  memberCountMax: 'Members at most',
};

/** `recruiting=true` is `Recruiting`, `language=de` is `German`. */
function labelOf({ names }: List, name: string, value: string): string {
  if (value === 'true') return capitalise(name);
  if (value === 'false') return `Not ${name}`;
  if (name === 'language') return languageName(value);
  if (name === 'alliance') return names.get(value) ?? value;
  return name === 'status' ? capitalise(value) : value;
}

/** The facets whose filter is not set, and that would leave something out: clicking a value sets it. */
function renderFacets(site: Site, list: List): Html {
  const { query, content } = list;
  const { total } = content.pagination;
  const facets = Object.entries(content.meta.facets ?? {}).filter(
    ([name, values]) => query[name] === undefined && values.some(({ count }) => count < total),
  );
  const sections = facets.map(([name, values]) => {
    const items = values.map(({ value, count }) => {
      const href = linkTo(site, list, { [name]: value });
      return html`<li>
        <a href="${href}" dir="auto">${labelOf(list, name, value)}</a>
        <span>${count.toLocaleString('en')}</span>
      </li>`;
    });
    return html`<section>
      <h2>${capitalise(name)}</h2>
      <ul>
        ${items}
      </ul>
    </section>`;
  });
  return html`${
    sections.length > 0 &&
    html`<details class="facets">
      <summary>Filters</summary>
      ${sections}
    </details>`
  }`;
}

/** The filters that are set, each a link that removes it. */
function renderChips(site: Site, list: List): Html {
  const filters = filtersOf(list.query);
  const chips = filters.map(([name, value]) => {
    const others = filters.filter((other) => other[0] === name && other[1] !== value);
    const href = linkTo(site, list, { [name]: others.map(([, other]) => other) });
    const text = labelOf(list, name, value);
    const isFlag = value === 'true' || value === 'false';
    const title = isFlag ? '' : `${limitLabels[name] ?? capitalise(name)}: `;
    return html`<li>
      <a href="${href}" aria-label="Remove the filter ${title}${text}"
        >${title}<bdi>${text}</bdi> ×</a
      >
    </li>`;
  });
  return html`${
    chips.length > 0 &&
    html`<ul class="chips" aria-label="Filters">
      ${chips}
    </ul>`
  }`;
}

function renderSorts(site: Site, list: List): Html {
  const { kind, query } = list;
  const isSearch = query.search !== undefined;
  const current = query.sort ?? (isSearch ? undefined : 'name');
  const choices = [...(isSearch ? [[undefined, 'Most relevant']] : []), ...Object.entries(sorts)];
  const links = choices
    .filter(([sort]) => kind !== 'blueprints' || sort !== '-memberCount')
    .map(([sort, label]) => {
      const isCurrent = sort === current && html`aria-current="true"`;
      return html`<a href="${linkTo(site, list, { sort })}" ${isCurrent}>${label}</a>`;
    });
  return html`<nav class="sorts" aria-label="Sort">${links}</nav>`;
}

function renderFoundBy(found: FoundBy | undefined): Html {
  const ignored = found?.ignored.map((word) => `“${word}”`).join(', ');
  const text = `Nothing matches all of the search. This comes close${ignored ? ` without ${ignored}` : ''}.`;
  return html`${found?.relaxed && html`<p class="soft">${text}</p>`}`;
}

function renderRows(site: Site, { kind, content }: List): Html {
  const isOnly = content.pagination.total === 1;
  const rows = content.data.map((entry) => {
    if (kind === 'orgs') return renderOrgRow(site, entry as Organisation);
    if (kind === 'alliances') return renderAllianceRow(site, entry as Alliance);
    return renderBlueprintRow(site, entry as Blueprint, isOnly);
  });
  return html`<ul class="rows">
    ${rows}
  </ul>`;
}

function renderNothing(site: Site, list: List): Html {
  const { kind, query, content } = list;
  const { total, totalPages } = content.pagination;
  const noun = nouns[kind];
  const last = linkTo(site, list, { page: totalPages });
  const [title, advice] =
    total > 0
      ? ['This page is past the last one.', html`<a href="${last}">Go to page ${totalPages}</a>`]
      : isWhole(query)
        ? [`There are no ${noun}s yet.`, '']
        : [
            `No ${noun}s match.`,
            html`Check the spelling, use fewer words, or remove a filter.
              <a href="${site.basePath}/${kind}">Show all ${noun}s</a>`,
          ];
  return html`<div class="nothing">
    <h2>${title}</h2>
    <p>${advice}</p>
  </div>`;
}

function renderPager(site: Site, list: List): Html {
  const { page, totalPages } = list.content.pagination;
  if (totalPages < 2 || page > totalPages) return html``;
  const linkOf = (to: number, rel: string, label: string): Html =>
    to < 1 || to > totalPages
      ? html`<span></span>`
      : html`<a href="${linkTo(site, list, { page: to })}" rel="${rel}">${label}</a>`;
  return html`<nav class="pager" aria-label="Pages">
    ${linkOf(page - 1, 'prev', 'Previous')}
    <span>Page ${page.toLocaleString('en')} of ${totalPages.toLocaleString('en')}</span>
    ${linkOf(page + 1, 'next', 'Next')}
  </nav>`;
}

/** Two lines on a wide screen. */
const descriptionCharsMax = 220;
/** So that a row is about as high as two of organisations. */
const ingredientsShown = 8;

function renderOrgRow(site: Site, org: Organisation): Html {
  const { alliance, primaryActivity, location } = org;
  const href = `${site.basePath}/alliances/${alliance?.slug}`;
  const facts = [
    primaryActivity && html`<bdi>${primaryActivity}</bdi>`,
    location && html`<bdi>${location}</bdi>`,
    alliance && html`<a href="${href}" dir="auto">${alliance.name}</a>`,
  ];
  return renderRow(site, 'orgs', org, [countOf(org.memberCount, 'member')], facts);
}

function renderAllianceRow(site: Site, alliance: Alliance): Html {
  const { orgCount, memberCount } = alliance;
  const sizes = [countOf(orgCount, 'organisation'), countOf(memberCount, 'member')];
  return renderRow(site, 'alliances', alliance, sizes);
}

type Facts = (Html | '' | null)[];

function renderRow(
  site: Site,
  kind: 'orgs' | 'alliances',
  entry: Organisation | Alliance,
  sizes: string[],
  facts: Facts = [],
): Html {
  return html`<li>
    ${renderMark(site, entry)}
    <div class="about">
      <h2><a href="${site.basePath}/${kind}/${entry.slug}" dir="auto">${entry.name}</a></h2>
      ${renderBadges(entry)} ${renderFacts(facts)} ${renderText(entry)}
    </div>
    <p class="sizes">${sizes.map((size) => html`<span>${size}</span>`)}</p>
  </li>`;
}

function renderText({ description }: { description: string | null }): Html {
  const text = cutText(description ?? '', descriptionCharsMax);
  return html`${text !== '' && html`<p dir="auto">${text}</p>`}`;
}

function renderFacts(facts: Facts): Html {
  return html`<p class="parts">
    ${facts.map((fact) => html`${fact && html`<span>${fact}</span>`}`)}
  </p>`;
}

/** `isOnly`: with all of its ingredients. */
function renderBlueprintRow(site: Site, blueprint: Blueprint, isOnly: boolean): Html {
  const { name, category, output, ingredients, sources, active, craftTimeSeconds } = blueprint;
  const list = `${site.basePath}/blueprints`;
  const self = `${list}?slug=${blueprint.slug}`;
  const shown = isOnly ? ingredients : ingredients.slice(0, ingredientsShown);
  const hidden = ingredients.length - shown.length;
  const facts = [
    html`makes ${output.quantity.toLocaleString('en')} × <bdi>${output.name}</bdi>`,
    craftTimeSeconds !== null && html`${craftTimeSeconds.toLocaleString('en')} s`,
    ...sources.map((source) => html`<bdi>${source.name}</bdi>`),
  ].map((fact) => fact || null);
  const items = shown.map(
    (each) =>
      html`<li>
        ${each.quantity.toLocaleString('en')} ${each.unit ?? '×'}
        <a href="${list}?ingredient=${encodeURIComponent(each.item)}" dir="auto">${each.name}</a>
      </li>`,
  );
  return html`<li>
    <div class="about">
      <h2><a href="${self}" dir="auto">${name}</a></h2>
      ${!active && html`<span class="badge">Retired</span>`} ${renderFacts(facts)}
      ${renderText(blueprint)}
      <ul class="ingredients" aria-label="Ingredients">
        ${items}${hidden > 0 && html`<li><a href="${self}">and ${hidden} more</a></li>`}
      </ul>
    </div>
    <p class="sizes">${category}</p>
  </li>`;
}
