/** Renders the Markdown of a page as HTML and splits its text into sections for the search. */
import { Marked, type Token, type Tokens } from 'marked';
import { escapeHtml, highlight } from './highlight.ts';
import { addressOf, type Page } from './page.ts';

type SearchSection = { anchor: string; title: string; text: string };
export type Rendered = { html: string; sections: SearchSection[] };

/** A code block that is a tab next to its neighbours. */
type Tab = { title: string; language: string; code: string };

/** `targets`: the page of each operation and event, by its name in the text. */
export function renderMarkdown(
  markdown: string,
  page: Page,
  targets: Map<string, string>,
): Rendered {
  const sections: SearchSection[] = [];
  const marked = createMarked(page, targets, () => sections.at(-1)?.title ?? page.title);
  const slugs = new Map<string, number>();
  const html: string[] = [];
  let tabs: Tab[] = [];

  for (const token of marked.lexer(markdown)) {
    const tab = tabOf(token);
    if (tab) tabs.push(tab);
    if (tab || token.type === 'space') continue;
    flushTabs();
    html.push(token.type === 'heading' ? heading(token as Tokens.Heading) : marked.parser([token]));
    const section = sections.at(-1);
    if (section && token.type !== 'heading') section.text += ` ${plain(token.raw)}`;
  }
  flushTabs();
  return { html: html.join('\n'), sections };

  function flushTabs(): void {
    if (tabs.length > 0) html.push(renderTabs(tabs, html.length));
    tabs = [];
  }

  function heading({ depth, text, tokens }: Tokens.Heading): string {
    const anchor = depth === 1 ? '' : uniqueSlug(text, slugs);
    sections.push({ anchor, title: plain(text), text: '' });
    const inner = marked.Parser.parseInline(tokens, marked.defaults);
    if (depth === 1) return `<h1>${inner}</h1>`;
    return `<h${depth} id="${anchor}"><a href="#${anchor}">${inner}</a></h${depth}>`;
  }
}

/** `currentTitle`: of the section that is being rendered; it names its tables. */
function createMarked(
  page: Page,
  targets: Map<string, string>,
  currentTitle: () => string,
): Marked {
  let isInLink = false;
  return new Marked({
    renderer: {
      code: ({ text, lang }) => renderCode(text, lang?.split(' ')[0] ?? ''),
      codespan({ text }) {
        const target = isInLink ? undefined : targets.get(text);
        const code = `<code>${escapeHtml(text)}</code>`;
        return target === undefined || target === page.path
          ? code
          : `<a href="${addressOf(target)}">${code}</a>`;
      },
      link({ href, tokens }) {
        isInLink = true;
        const text = this.parser.parseInline(tokens);
        isInLink = false;
        return `<a href="${escapeHtml(pageAddress(href))}">${text}</a>`;
      },
      table(token) {
        const head = token.header.map((cell) =>
          cell.text === ''
            ? '<td></td>'
            : `<th scope="col">${this.parser.parseInline(cell.tokens)}</th>`,
        );
        const rows = token.rows.map(
          (cells) =>
            `<tr>${cells.map((cell) => `<td>${this.parser.parseInline(cell.tokens)}</td>`).join('')}</tr>`,
        );
        return `<div class="table" role="group" aria-label="${escapeHtml(`Table: ${currentTitle()}`)}" tabindex="0"><table><thead><tr>${head.join('')}</tr></thead><tbody>${rows.join('')}</tbody></table></div>`;
      },
    },
  });
}

/** Links within the site lead to the HTML page. */
function pageAddress(href: string): string {
  return href
    .replace(/^\{\{url\}\}\/docs\/(.+?)\.md(?=#|$)/, (_, path: string) =>
      addressOf(path === 'index' ? '' : path),
    )
    .replace(/^\{\{url\}\}/, '{{base}}');
}

function tabOf(token: Token): Tab | null {
  if (token.type !== 'code') return null;
  const { lang = '', text } = token as Tokens.Code;
  const [, language = '', title] = /^(\S+) .*?title="([^"]+)"/.exec(lang) ?? [];
  return title ? { title, language, code: text } : null;
}

/** Radio buttons, so that the tabs work without a script. */
function renderTabs(tabs: Tab[], index: number): string {
  const [only] = tabs;
  if (tabs.length === 1 && only) return renderCode(only.code, only.language, only.title);
  const choices = tabs.map(
    ({ title }, at) =>
      `<label><input type="radio" name="tabs-${index}" value="${escapeHtml(title)}"${at === 0 ? ' checked' : ''}>${escapeHtml(title)}</label>`,
  );
  const panels = tabs.map(({ title, code, language }) =>
    renderBlock(code, language, `Code: ${title}`),
  );
  return `<fieldset class="tabs"><legend>Language</legend>${choices.join('')}${panels.join('')}</fieldset>`;
}

function renderCode(code: string, language: string, title = ''): string {
  const head = title && `<div class="title">${escapeHtml(title)}</div>`;
  return renderBlock(code, language, `Code: ${title || language}`, head);
}

/** It can be focused, so that the keyboard scrolls it. */
function renderBlock(code: string, language: string, label: string, head = ''): string {
  return `<div class="code">${head}<pre role="group" aria-label="${escapeHtml(label)}" tabindex="0"><code>${highlight(code, language)}</code></pre></div>`;
}

/** As GitHub makes them, because the files link to each other. */
function uniqueSlug(text: string, seen: Map<string, number>): string {
  const slug = text
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
  const count = seen.get(slug) ?? 0;
  seen.set(slug, count + 1);
  return count === 0 ? slug : `${slug}-${count}`;
}

function plain(markdown: string): string {
  return markdown
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/^```.*$/gm, '')
    .replace(/[`*|]|-{3,}/g, ' ')
    .replace(/\{\{(url|base|version)\}\}/g, '')
    .replaceAll('{{name}}', 'Service')
    .replaceAll('{{lowerName}}', 'service')
    .replace(/\s+/g, ' ')
    .trim();
}
