/** The pages at `/orgs`, `/alliances` and `/blueprints`: search, filters, sort orders and paging over the API's lists. */
import type { Alliance } from '../../contract/alliance.ts';
import type { Blueprint } from '../../contract/blueprint.ts';
import type { Pagination } from '../../contract/envelope.ts';
import type { FoundBy } from '../../contract/found-by.ts';
import type { Organisation } from '../../contract/organisation.ts';
import { limitDefault } from '../../directory/list-query.ts';
import type { SlugTable } from '../../directory/lock-directory.ts';
import type { Paging } from '../v1/cached-reads.ts';
import { renderDirectoryPage } from './directory-frame.ts';
import { capitalise, countOf, languageName } from './entry-parts.ts';
import { renderAllianceRow, renderBlueprintRow, renderOrgRow } from './list-rows.ts';
import { html, type Html, type Site } from './page.ts';
import { searchScript, searchTextMax } from './search-page.ts';

export type ListContent = {
  data: unknown[];
  pagination: Pagination;
  meta: { facets?: Record<string, { value: string; count: number }[]>; search?: FoundBy };
};
type Parameter = string | number | boolean | string[] | undefined;
type Parameters = Record<string, Parameter>;
export type ListQuery = Paging & { search?: string; sort?: string } & Parameters;
type List = {
  kind: SlugTable;
  query: ListQuery;
  content: ListContent;
  /** The names of alliances by slug. */
  names: Map<string, string>;
};

const kinds = {
  orgs: { noun: 'organisation', title: 'Organisations' },
  alliances: { noun: 'alliance', title: 'Alliances' },
  blueprints: { noun: 'blueprint', title: 'Blueprints' },
};
const sorts: Record<string, string> = {
  name: 'Name',
  '-memberCount': 'Most members',
  '-createdAt': 'Newest',
  '-updatedAt': 'Last changed',
};
/** How many values of a facet are shown before the others are. */
const facetValuesShown = 8;

export function renderList(site: Site, list: List): string {
  const { kind, query, content } = list;
  const { title, noun } = kinds[kind];
  const { page, total } = content.pagination;
  const body = html`<h1 class="plain">${title}</h1>
    ${renderForm(site, list)}
    <p id="count" class="count" data-live aria-live="polite">${countOf(total, noun)}</p>
    <div id="results" class="browse" data-live>
      ${renderFacets(site, list)}
      <div>
        ${renderFilters(site, list)} ${renderSorts(site, list)}
        ${renderFoundBy(content.meta.search)} ${renderRows(site, list)} ${renderPager(site, list)}
      </div>
    </div>
    ${{ html: `<script>${searchScript}</script>` }}`;
  return renderDirectoryPage(site, {
    title: page === 1 ? title : `${title}, page ${page}`,
    // Search engines index the list and its pages, and none of its searches.
    path: addressOf(kind, narrowing(query).length > 0 ? {} : { page, limit: query.limit }),
    summary: `Search and browse ${countOf(total, noun)} of ${site.brand.name}.`,
    body,
  });
}

/** The parameters that leave entries out. */
function narrowing({ page: _page, limit: _limit, sort: _sort, ...others }: ListQuery) {
  return Object.entries(others).flatMap(([name, value]) =>
    [value].flat().map((each) => ({ name, value: String(each) })),
  );
}

/** Parameters with their default are left out, so that a page has one address. */
function addressOf(kind: SlugTable, query: Parameters): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (!(name === 'page' && value === 1) && !(name === 'limit' && value === limitDefault))
      for (const each of [value].flat()) if (each !== undefined) params.append(name, String(each));
  return params.size > 0 ? `/${kind}?${params.toString()}` : `/${kind}`;
}

function link({ basePath }: Site, { kind, query }: List, changes: Parameters): string {
  return basePath + addressOf(kind, { ...query, page: 1, ...changes });
}

function renderForm(site: Site, { kind, query }: List): Html {
  const { search, page: _page, limit: _limit, ...others } = query;
  const kept = Object.entries(others).flatMap(([name, value]) =>
    [value]
      .flat()
      .map((each) => html`<input type="hidden" name="${name}" value="${String(each)}" />`),
  );
  return html`<form role="search" action="${site.basePath}/${kind}" class="find">
    <label for="search">Search ${kinds[kind].title.toLowerCase()}</label>
    <div class="search">
      <input
        id="search"
        name="search"
        type="search"
        maxlength="${searchTextMax}"
        autocomplete="off"
        dir="auto"
        value="${search ?? ''}"
      /><button>Search</button>
    </div>
    ${kept}
  </form>`;
}

const facetLabels: Record<string, string> = {
  memberCountMin: 'Members at least',
  memberCountMax: 'Members at most',
};

/** `recruiting=true` is `Recruiting`, `language=de` is `German`. */
function valueLabel({ names }: List, name: string, value: string): string {
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
  if (facets.length === 0) return html``;
  return html`<details class="facets">
    <summary>Filters</summary>
    ${facets.map(([name, values]) => {
      const items = values.map(
        ({ value, count }) =>
          html`<li>
            <a href="${link(site, list, { [name]: value })}" dir="auto"
              >${valueLabel(list, name, value)}</a
            >
            <span>${count.toLocaleString('en')}</span>
          </li>`,
      );
      const more = items.slice(facetValuesShown);
      return html`<section>
        <h2>${capitalise(name)}</h2>
        <ul>
          ${items.slice(0, facetValuesShown)}
        </ul>
        ${
          more.length > 0
            ? html`<details>
                <summary>${more.length} more</summary>
                <ul>
                  ${more}
                </ul>
              </details>`
            : html``
        }
      </section>`;
    })}
  </details>`;
}

/** The filters that are set, each a link that removes it. */
function renderFilters(site: Site, list: List): Html {
  const set = narrowing(list.query).filter(({ name }) => name !== 'search');
  if (set.length === 0) return html``;
  return html`<ul class="chips" aria-label="Filters">
    ${set.map(({ name, value }) => {
      const others = set.filter((each) => each.name === name && each.value !== value);
      const text = valueLabel(list, name, value);
      const isFlag = value === 'true' || value === 'false';
      return html`<li>
        <a
          href="${link(site, list, { [name]: others.map((each) => each.value) })}"
          aria-label="Remove the filter ${text}"
          >${isFlag ? '' : `${facetLabels[name] ?? capitalise(name)}: `}<bdi>${text}</bdi>
          <span aria-hidden="true">×</span></a
        >
      </li>`;
    })}
  </ul>`;
}

function renderSorts(site: Site, list: List): Html {
  const { kind, query } = list;
  const isSearch = query.search !== undefined;
  const current = query.sort ?? (isSearch ? undefined : 'name');
  const offered = Object.entries(sorts).filter(
    ([sort]) => kind !== 'blueprints' || !sort.includes('memberCount'),
  );
  const choices = isSearch ? [[undefined, 'Most relevant'] as const, ...offered] : offered;
  return html`<nav class="sorts" aria-label="Sort">
    ${choices.map(
      ([sort, label]) =>
        html`<a
          href="${link(site, list, { sort })}"
          ${sort === current ? html`aria-current="true"` : html``}
          >${label}</a
        >`,
    )}
  </nav>`;
}

function renderFoundBy(found: FoundBy | undefined): Html {
  if (!found?.relaxed) return html``;
  const { ignored } = found;
  const left =
    ignored.length === 0 ? '' : ` without ${ignored.map((word) => `“${word}”`).join(', ')}`;
  return html`<p class="soft">
    Nothing matches all of the search, so this is what comes close${left}.
  </p>`;
}

function renderRows(site: Site, list: List): Html {
  const { kind, content } = list;
  if (content.data.length === 0) return renderNothing(site, list);
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
  const { title } = kinds[kind];
  const { total, totalPages } = content.pagination;
  const all = html`<a href="${site.basePath}/${kind}">Show all ${title.toLowerCase()}</a>`;
  if (total > 0)
    return html`<div class="nothing">
      <h2>This page is past the last one.</h2>
      <p>
        <a href="${link(site, list, { page: totalPages })}"
          >Go to page ${totalPages}, the last one</a
        >
      </p>
    </div>`;
  if (narrowing(query).length === 0)
    return html`<div class="nothing"><h2>There are no ${title.toLowerCase()} yet.</h2></div>`;
  return html`<div class="nothing">
    <h2>No ${title.toLowerCase()} match.</h2>
    <p>Check the spelling, use fewer words, or remove a filter. ${all}</p>
  </div>`;
}

function renderPager(site: Site, list: List): Html {
  const { page, totalPages } = list.content.pagination;
  if (totalPages < 2 || page > totalPages) return html``;
  const to = (number: number, rel: string, label: string): Html =>
    number < 1 || number > totalPages
      ? html`<span></span>`
      : html`<a href="${link(site, list, { page: number })}" rel="${rel}">${label}</a>`;
  return html`<nav class="pager" aria-label="Pages">
    ${to(page - 1, 'prev', 'Previous')}
    <span>Page ${page.toLocaleString('en')} of ${totalPages.toLocaleString('en')}</span>
    ${to(page + 1, 'next', 'Next')}
  </nav>`;
}
