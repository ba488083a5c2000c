/**
 * Makes the Markdown of the repository fit for the site: links between files lead to pages, and the addresses of the
 * examples become `{{url}}`, which the service replaces with its own.
 */
import { posix } from 'node:path';
import type { Page } from './page.ts';

/** Links to these files lead to what the service serves at run time. */
const served: Record<string, string> = { 'openapi.json': '{{url}}/api/v1/openapi.json' };

const exampleAddresses = /http:\/\/127\.0\.0\.1:3000|https:\/\/directory\.example\.org/g;
/** Headers that have the name of the service. */
const exampleName = /\bX-Service-|\bService-Webhooks/g;

export function resolveLinks(page: Page, pages: Page[]): string {
  const folder = page.source === null ? 'docs' : posix.dirname(page.source);
  const byFile = new Map(pages.map((each) => [fileOf(each), each]));
  return outsideFences(page.markdown, (text) =>
    text.replace(
      /\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g,
      (link, label: string, target: string) => {
        if (/^(https?:|#)/.test(target)) return link;
        const [path = '', anchor] = target.split('#');
        const file = posix.join(folder, path);
        const found = byFile.get(file);
        const address = found ? markdownAddress(found) : served[file];
        // Other files of the repository are not part of the site.
        return address ? `[${label}](${address}${anchor ? `#${anchor}` : ''})` : label;
      },
    ),
  )
    .replace(exampleAddresses, '{{url}}')
    .replace(exampleName, (name) => name.replace('Service', '{{name}}'));
}

function fileOf({ source, path }: Page): string {
  return source ?? `docs/${path}.md`;
}

/** Every page is also served as Markdown. */
export function markdownAddress({ path }: Page): string {
  return `{{url}}/docs/${path || 'index'}.md`;
}

function outsideFences(markdown: string, change: (text: string) => string): string {
  return markdown
    .split(/^(```.*?^```)/ms)
    .map((part) => (part.startsWith('```') ? part : change(part)))
    .join('');
}
