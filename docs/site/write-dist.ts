/**
 * Builds the documentation into docs/dist, which the service serves below /docs: npm run build -w @orgdir/docs. Pages are
 * parts of HTML that the service puts into its own frame, because its name, colour and address are settings. The same
 * source gives the same bytes.
 */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import MiniSearch from 'minisearch';
import { build, type Rolldown } from 'vite';
import { compressFolder } from '../../portal/build/compress-assets.ts';
import { escapeHtml } from './highlight.ts';
import { sections } from './navigation.ts';
import { addressOf, type Page } from './page.ts';
import { renderMarkdown, type Rendered } from './render-markdown.ts';
import { renderRequestForm } from './request-form.ts';
import { markdownAddress, resolveLinks } from './resolve-links.ts';
import { searchOptions } from './search-options.ts';

const dist = fileURLToPath(new URL('../dist/', import.meta.url));
const requestMark = '<!--request-->';

const pages = sections.flatMap((section) => section.pages);
const kinds = new Map(
  sections.flatMap(({ kind, pages: inside }) => inside.map((page) => [page, kind] as const)),
);
const targets = new Map(pages.flatMap((page) => namesOf(page).map((name) => [name, page.path])));
const rendered = pages.map((page) => {
  const markdown = resolveLinks(page, pages);
  return { page, markdown, ...renderMarkdown(markdown, page, targets) };
});

await rm(dist, { recursive: true, force: true });
await mkdir(`${dist}assets`, { recursive: true });
const assets = {
  style: await writeAsset('docs.css', await readFile(new URL('docs.css', import.meta.url))),
  search: await writeAsset('search.json', JSON.stringify(indexSections())),
  script: await writeAsset('docs.js', await bundle()),
};
await compressFolder(`${dist}assets`);
await writeFile(
  `${dist}pages.json`,
  JSON.stringify({
    assets,
    navigation: renderNavigation(),
    overview: renderOverview(),
    pages: toServed(),
  }),
);

/** The names in the text that lead to a page. */
function namesOf({ path, request }: Page): string[] {
  if (request) return [`${request.method} ${request.path.replace('/api/v1', '')}`];
  return path.startsWith('events/') ? [path.slice('events/'.length)] : [];
}

function toServed() {
  const entries = rendered.map(({ page, markdown, html, sections: parts }) => {
    const form = page.request ? renderRequestForm(page.request) : '';
    const body = `<article class="doc">${html.replace(requestMark, () => form)}${renderNeighbours(page)}</article>${renderContents(parts)}`;
    return [
      page.path,
      { title: page.title, body, markdown: markdown.replace(`${requestMark}\n\n`, '') },
    ];
  });
  return Object.fromEntries(entries);
}

function renderNavigation(): string {
  return sections
    .map(({ title, pages: inside }) => {
      const links = inside.map((page) => `<li>${link(page)}</li>`);
      return `<h2>${title}</h2><ul>${links.join('')}</ul>`;
    })
    .join('');
}

function link({ path, title }: Page, attributes = ''): string {
  return `<a href="${addressOf(path)}"${attributes}>${escapeHtml(title)}</a>`;
}

function renderNeighbours(page: Page): string {
  const at = pages.indexOf(page);
  const [before, next] = [pages[at - 1], pages[at + 1]];
  return `<nav class="neighbours" aria-label="Neighbouring pages">${before ? link(before, ' rel="prev"') : ''}${next ? link(next, ' rel="next"') : ''}</nav>`;
}

function renderContents(parts: Rendered['sections']): string {
  const headings = parts.filter(({ anchor }) => anchor !== '');
  if (headings.length < 3) return '';
  const items = headings.map(
    ({ anchor, title }) => `<li><a href="#${anchor}">${escapeHtml(title)}</a></li>`,
  );
  return `<nav class="contents" aria-label="On this page"><h2>On this page</h2><ul>${items.join('')}</ul></nav>`;
}

/** The content of llms.txt (https://llmstxt.org). */
function renderOverview(): string {
  const parts = sections.map(({ title, pages: inside }) =>
    [`## ${title}`, ...inside.map((page) => `- [${page.title}](${markdownAddress(page)})`)].join(
      '\n',
    ),
  );
  return (
    [
      '# {{name}}',
      '> A directory of organisations, alliances and blueprints with an HTTP API and signed webhooks. Each page is Markdown.',
      'The OpenAPI description is at {{url}}/api/v1/openapi.json.',
      ...parts,
    ].join('\n\n') + '\n'
  );
}

function indexSections() {
  const index = new MiniSearch(searchOptions);
  for (const { page, sections: parts } of rendered)
    index.addAll(
      parts.map(({ anchor, title, text }) => ({
        id: `${page.path}${anchor && `#${anchor}`}`,
        page: page.title,
        kind: kinds.get(page),
        title,
        text: text.replaceAll(/\s+/g, ' ').trim(),
      })),
    );
  return index;
}

async function bundle(): Promise<string> {
  const result = await build({
    configFile: false,
    root: fileURLToPath(new URL('browser/', import.meta.url)),
    logLevel: 'warn',
    build: {
      write: false,
      target: 'es2023',
      lib: { entry: 'main.ts', formats: ['iife'], name: 'docs' },
    },
  });
  const [{ output }] = result as Rolldown.RolldownOutput[] as [Rolldown.RolldownOutput];
  return output[0].code;
}

/** Returns the file's name, which changes with its content. */
async function writeAsset(name: string, content: string | Buffer): Promise<string> {
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 10);
  const file = name.replace('.', `-${hash}.`);
  await writeFile(`${dist}assets/${file}`, content);
  return file;
}
