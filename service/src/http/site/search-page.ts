/** The search of the start page: its form, and the page at `/?q=…` with what it finds. */
import { readFileSync } from 'node:fs';
import type { Suggestion } from '../../contract/list-meta.ts';
import { html, renderPage, type Html, type Site } from './page.ts';

export const searchTextMax = 100;

export const searchScript = readFileSync(new URL('./search.js', import.meta.url), 'utf8');

/** `found` is null if the database is away. */
export function renderSearch(site: Site, text: string, found: Suggestion[] | null): string {
  const body = html`<h1>Search</h1>
    ${renderForm(site, text, found === null ? renderFailure() : renderFound(site, found))}`;
  return renderPage(site, `${text} – ${site.brand.name}`, body);
}

/** The script replaces what is marked with `data-live` while somebody types. */
export function renderForm({ basePath }: Site, text = '', results: Html = html``): Html {
  return html`<form role="search" action="${basePath}/">
      ${renderSearchField({ name: 'q', label: 'Find an organisation, alliance or blueprint', value: text })}
    </form>
    <div id="results" data-live aria-live="polite">${results}</div>
    ${{ html: `<script>${searchScript}</script>` }}`;
}

type SearchField = {
  name: string;
  label: string;
  placeholder?: string;
  value?: string | undefined;
};

export function renderSearchField({ name, label, placeholder, value }: SearchField): Html {
  return html`<label for="${name}">${label}</label>
    <div class="search">
      <input
        id="${name}"
        name="${name}"
        type="search"
        maxlength="${searchTextMax}"
        autocomplete="off"
        dir="auto"
        ${placeholder && html`placeholder="${placeholder}"`}
        value="${value}"
      /><button>Search</button>
    </div>`;
}

const kinds = {
  organization: { label: 'Organisation', path: 'orgs' },
  alliance: { label: 'Alliance', path: 'alliances' },
  blueprint: { label: 'Blueprint', path: 'blueprints' },
};

function renderFound({ basePath, directoryPages }: Site, found: Suggestion[]): Html {
  if (found.length === 0) return html`<p>Nothing found.</p>`;
  return html`<ul class="cards">
    ${found.map(({ kind, slug, name }) => {
      const { label, path } = kinds[kind];
      // A blueprint has no page of its own: the list shows all of it.
      const page = path === 'blueprints' ? `${path}?slug=${slug}` : `${path}/${slug}`;
      const shown = directoryPages ? html`<a href="${basePath}/${page}">${name}</a>` : name;
      return html`<li>
        <strong dir="auto">${shown}</strong>
        <p>${label}${directoryPages ? '' : html`, <code>/api/v1/${path}/${slug}</code>`}</p>
      </li>`;
    })}
  </ul>`;
}

function renderFailure(): Html {
  return html`<p>The search is not available at the moment.</p>`;
}
