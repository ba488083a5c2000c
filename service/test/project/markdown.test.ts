/**
 * Files, functions and fields that Markdown names in backticks exist, and links and their anchors lead somewhere.
 * CHANGELOG.md and decision records describe the past, so only their links are checked.
 */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '../../..');
const skipped = /(^|\/)(node_modules|dist|data|\.git)$/;
const find = (pattern: string) =>
  globSync(pattern, { cwd: root, exclude: (path) => skipped.test(path) });
const read = (file: string) => readFileSync(join(root, file), 'utf8');

const pages = find('**/*.md');
const current = pages.filter((page) => !/^(CHANGELOG\.md|docs\/decisions\/)/.test(page));
const sources = find('**/*.{ts,tsx,js,sql}');
const words = new Set(sources.flatMap((file) => read(file).match(/\w+/g) ?? []));

const filePath = /^[\w@.-]+(\/[\w@.-]+)*(\/|\.(ts|tsx|js|sql|md|json|ndjson|yaml))$/;
const identifier = /\b[a-z]+[A-Z]\w*|\w+(?=\(\))/g;

const prose = (page: string) => read(page).replace(/^```.*?^```/gms, '');
const codeSpans = (page: string) =>
  [...prose(page).matchAll(/`([^`]+)`/g)].map(([, span = '']) => span);

test('every file that Markdown names exists', () => {
  const missing = current.flatMap((page) =>
    codeSpans(page)
      .filter((span) => filePath.test(span))
      .filter(
        (path) =>
          !['', dirname(page), 'service/src'].some((from) => existsSync(join(root, from, path))),
      )
      .map((path) => `${page}: ${path}`),
  );
  assert.deepEqual(missing, []);
});

test('every function and field that Markdown names is in the sources', () => {
  const missing = current.flatMap((page) =>
    codeSpans(page)
      .filter((span) => !filePath.test(span))
      .flatMap((span) => span.match(identifier) ?? [])
      .filter((name) => !words.has(name))
      .map((name) => `${page}: ${name}`),
  );
  assert.deepEqual(missing, []);
});

test('links between pages and citations of docs/ lead to an existing page and heading', () => {
  const links = pages.flatMap((page) =>
    [...prose(page).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, link = '']) => link)
      .filter((link) => !/^https?:/.test(link))
      .map((link) => ({
        from: page,
        link: link.startsWith('#') ? page + link : join(dirname(page), link),
      })),
  );
  const citations = sources.flatMap((from) =>
    (read(from).match(/\bdocs\/[\w/-]+\.md(#[\w-]+)?/g) ?? []).map((link) => ({ from, link })),
  );
  const broken = [...links, ...citations].filter(({ link }) => !leadsSomewhere(link));
  assert.ok(links.length > 100 && citations.length > 20);
  assert.deepEqual(broken, []);
});

function leadsSomewhere(link: string): boolean {
  const [file = '', anchor] = link.split('#');
  if (!existsSync(join(root, file))) return false;
  return anchor === undefined || anchorsOf(file).includes(anchor);
}

/** The anchors that GitHub creates for headings. */
function anchorsOf(page: string): string[] {
  return [...prose(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
