/** Finds sections of all pages. The index is loaded when the search is opened for the first time. */
import MiniSearch, { type SearchResult } from 'minisearch';
import { searchOptions, type Found } from '../search-options.ts';

const resultsMax = 12;

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
      if (query === input.value) render(query, index.search(query).slice(0, resultsMax));
    } catch {
      loading = undefined;
      status.textContent = 'The search could not be loaded. Try again.';
    }
  }

  function render(query: string, results: SearchResult[]): void {
    list.replaceChildren(...results.map((result) => item(result as SearchResult & Found)));
    const count = results.length === 1 ? '1 result' : `${results.length} results`;
    status.textContent = query.trim() === '' ? 'Type to search.' : count;
  }

  function item({ id, page, title }: Found): HTMLElement {
    const link = document.createElement('a');
    link.href = id === '' || id.startsWith('#') ? `${docs}${id}` : `${docs}/${id}`;
    link.append(title, Object.assign(document.createElement('small'), { textContent: page }));
    const entry = document.createElement('li');
    entry.append(link);
    return entry;
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
