// @ts-check
/** Lists blueprints, with search and pages. The URL has the search and page, so that it can be shared. */
import { createClient, OrgdirError } from './client/index.js';

/** @import { Blueprint, Page } from '@orgdir/client' */

const { baseUrl = new URL('.', document.baseURI).href, apiKey } = document.body.dataset;
const client = createClient({ baseUrl, apiKey });

const search = element('#search', HTMLInputElement);
const status = element('#status', HTMLElement);
const list = element('#list', HTMLElement);
const rows = element('tbody', HTMLElement);
const pages = element('nav', HTMLElement);
const pageNumber = element('#page', HTMLElement);
const previous = element('#previous', HTMLButtonElement);
const next = element('#next', HTMLButtonElement);

/** Aborts the running request when another starts, so that a late response does not replace a newer one. */
let running = new AbortController();
/** @type {ReturnType<typeof setTimeout> | undefined} */
let typing;

search.addEventListener('input', () => {
  clearTimeout(typing);
  typing = setTimeout(() => navigate({ search: search.value.trim(), page: 1 }), 250);
});
element('form', HTMLFormElement).addEventListener('submit', (event) => event.preventDefault());
previous.addEventListener('click', () =>
  navigate({ ...currentView(), page: currentView().page - 1 }),
);
next.addEventListener('click', () => navigate({ ...currentView(), page: currentView().page + 1 }));
addEventListener('popstate', () => void load());
search.value = currentView().search;
void load();

/** The search and page in the URL. */
function currentView() {
  const query = new URLSearchParams(location.search);
  return {
    search: (query.get('search') ?? '').slice(0, 100),
    page: Math.max(1, Number.parseInt(query.get('page') ?? '1', 10) || 1),
  };
}

/** @param {{ search: string, page: number }} to */
function navigate(to) {
  const query = new URLSearchParams({
    ...(to.search && { search: to.search }),
    page: String(to.page),
  });
  history.pushState(null, '', `?${query}`);
  void load();
}

async function load() {
  running.abort();
  running = new AbortController();
  const { signal } = running;
  const { search: text, page } = currentView();
  try {
    const query = { search: text || undefined, page, active: true };
    show(await client.blueprints.list(query, { signal }));
  } catch (error) {
    if (!signal.aborted) showFailure(error);
  }
}

/** @param {Page<Blueprint>} response */
function show({ data, pagination }) {
  const { page, total, totalPages } = pagination;
  // Names are untrusted, so they are inserted as text and never as HTML.
  rows.replaceChildren(...data.map(toRow));
  list.hidden = data.length === 0;
  pages.hidden = totalPages < 2;
  previous.disabled = page <= 1;
  next.disabled = page >= totalPages;
  pageNumber.textContent = `Page ${page} of ${totalPages}`;
  status.classList.remove('failed');
  status.textContent = total === 1 ? '1 blueprint' : `${total} blueprints`;
}

/** @param {unknown} error */
function showFailure(error) {
  status.classList.add('failed');
  status.textContent =
    error instanceof OrgdirError
      ? 'The directory is not available. Please try again later.'
      : 'Something went wrong on this page.';
  console.error(error);
}

/** @param {Blueprint} blueprint */
function toRow({ name, category, output, ingredients }) {
  const row = document.createElement('tr');
  const heading = document.createElement('th');
  heading.scope = 'row';
  heading.textContent = name;
  const made = `${output.quantity} × ${output.name}`;
  const needed = ingredients.map((each) =>
    [each.quantity, each.unit, each.name].filter((part) => part !== null).join(' '),
  );
  row.append(heading, ...[category, made, needed.join(', ')].map(toCell));
  return row;
}

/** @param {string} text */
function toCell(text) {
  const cell = document.createElement('td');
  cell.textContent = text;
  return cell;
}

/**
 * @template {Element} T
 * @param {string} selector
 * @param {new () => T} kind
 * @returns {T}
 */
function element(selector, kind) {
  const found = document.querySelector(selector);
  if (found instanceof kind) return found;
  throw new Error(`index.html has no ${selector}`);
}
