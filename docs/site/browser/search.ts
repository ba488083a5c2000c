/** Finds sections of all pages, and shows them by page. The index is loaded when the search is opened for the first time. */
import MiniSearch, { type SearchResult } from 'minisearch';
import { searchOptions, type Found } from '../search-options.ts';

const pagesMax = 8;
const sectionsPerPage = 3;
/** Letters of a section that are shown, and of those the ones before the first word that was found. */
const snippetLength = 150;
const snippetBefore = 40;

type Result = SearchResult & Found;

export function startSearch({ search, docs }: { search: string; docs: string }): void {
  const { dialog, input, list, status } = createDialog();
  let loading: Promise<MiniSearch> | undefined;

  document.querySelector('#open-search')?.addEventListener('click', open);
  document.addEventListener('keydown', (event) => {
    const isTyping = (event.target as HTMLElement).closest('input, textarea, select');
    if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    open();
  });
  input.addEventListener('input', () => void show());
  dialog.addEventListener('keydown', moveByArrow);
  dialog.addEventListener('click', ({ target }) => {
    if (target === dialog || (target as HTMLElement).closest('a, button')) dialog.close();
  });

  function open(): void {
    dialog.showModal();
    input.select();
    void show();
  }

  async function show(): Promise<void> {
    const query = input.value;
    try {
      loading ??= load(search);
      const index = await loading;
      // A later key press has its own results.
      if (query === input.value) render(query, index.search(query) as Result[]);
    } catch {
      loading = undefined;
      status.textContent = 'The search could not be loaded. Try again.';
    }
  }

  /** The best page first. */
  function render(query: string, results: Result[]): void {
    const byPath = new Map<string, Result[]>();
    for (const result of results) {
      const path = pathOf(result.id);
      byPath.set(path, [...(byPath.get(path) ?? []), result]);
    }
    const pages = [...byPath.values()].slice(0, pagesMax);
    list.replaceChildren(...pages.map(group));
    const count = pages.length === 1 ? '1 page' : `${pages.length} pages`;
    status.textContent = query.trim() === '' ? 'Type to search.' : count;
  }

  function group(results: Result[]): HTMLElement {
    const [{ page, kind } = { page: '', kind: '' }] = results;
    const inside = element('ul', ...results.slice(0, sectionsPerPage).map(item));
    inside.setAttribute('aria-label', page);
    const heading = element('p', element('strong', page), ' ', element('span', kind));
    return element('li', heading, inside);
  }

  function item(result: Result): HTMLElement {
    const { id, title } = result;
    const link = element('a', title, element('small', ...snippetOf(result)));
    link.setAttribute('href', pathOf(id) === '' ? `${docs}${id}` : `${docs}/${id}`);
    return element('li', link);
  }

  function moveByArrow(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const first = list.querySelector('a');
    if (event.key === 'Enter' && event.target === input) first?.click();
    if (step === undefined) return;
    event.preventDefault();
    const stops = [input, ...list.querySelectorAll('a')];
    const at = stops.indexOf(document.activeElement as HTMLInputElement);
    stops.at((at + step) % stops.length)?.focus();
  }
}

function pathOf(id: string): string {
  return id.split('#')[0] ?? '';
}

/** The text around the first word that was found, with those words marked. */
function snippetOf({ text, match }: Result): (string | HTMLElement)[] {
  const words = Object.keys(match).map((word) => word.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&'));
  const pattern = new RegExp(`(${words.join('|')})`, 'giu');
  const at = Math.max(0, text.search(pattern) - snippetBefore);
  const from = at === 0 ? 0 : text.indexOf(' ', at) + 1;
  const part = text.slice(from, from + snippetLength);
  // Every second piece is a word that was found.
  const pieces = part
    .split(pattern)
    .map((piece, index) => (index % 2 ? element('mark', piece) : piece));
  return [from > 0 ? '… ' : '', ...pieces, from + part.length < text.length ? ' …' : ''];
}

function element(name: string, ...content: (string | Node)[]): HTMLElement {
  const made = document.createElement(name);
  made.append(...content);
  return made;
}

async function load(address: string): Promise<MiniSearch> {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`status ${response.status}`);
  return MiniSearch.loadJSONAsync(await response.text(), searchOptions);
}

function createDialog() {
  const dialog = document.createElement('dialog');
  dialog.setAttribute('aria-label', 'Search the documentation');
  // Escape closes the dialog at once; in an input of the type `search` it would clear the text first.
  const input = document.createElement('input');
  Object.assign(input, { role: 'searchbox', placeholder: 'Search', autocomplete: 'off' });
  input.setAttribute('aria-label', 'Search');
  const status = document.createElement('p');
  status.role = 'status';
  const list = document.createElement('ul');
  const close = document.createElement('button');
  Object.assign(close, { type: 'button', textContent: 'Close' });
  const field = document.createElement('div');
  field.className = 'search';
  field.append(input, close);
  dialog.append(field, status, list);
  document.body.append(dialog);
  return { dialog, input, list, status };
}
