/**
 * Makes the Markdown of the repository fit for the site: links between files lead to pages, and the addresses of the
 * examples become `{{url}}` and the version of its client `{{version}}`, which the service replaces with its own.
 */
import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import type { Page } from './page.ts';

const root = new URL('../../', import.meta.url);

/** Links to these files lead to what the service serves at run time. */
const served: Record<string, string> = { 'openapi.json': '{{url}}/api/v1/openapi.json' };

const exampleAddresses = /http:\/\/127\.0\.0\.1:3000|https:\/\/directory\.example\.org/g;
/** Headers that have the name of the service, also in lower case as Node.js has them. */
const exampleName = /\bX-Service-|\bx-service-|\bService-Webhooks/g;
/** Links in parentheses, with nothing else. */
const references = /\s\((?:\[[^\]]+\]\([^)\s]+\)(?:,\s)?)+\)/g;
const link = /\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g;

export function resolveLinks(page: Page, pages: Page[]): string {
  const folder = page.source === null ? 'docs' : posix.dirname(page.source);
  const byFile = new Map(pages.map((each) => [fileOf(each), each]));
  return outsideFences(includeSources(page.markdown, folder), (text) =>
    text
      .replace(references, (found) =>
        [...found.matchAll(link)].some(([, , target = '']) => resolve(target)) ? found : '',
      )
      .replace(link, (_, label: string, target: string) => {
        const address = resolve(target);
        return address === null ? label : `[${label}](${address})`;
      }),
  )
    .replace(exampleAddresses, '{{url}}')
    .replaceAll('orgdir-client-X.Y.Z', 'orgdir-client-{{version}}')
    .replace(exampleName, (name) =>
      name.replace('Service', '{{name}}').replace('service', '{{lowerName}}'),
    );

  /** Null for files of the repository that the site does not have. */
  function resolve(target: string): string | null {
    if (/^(https?:|#)/.test(target)) return target;
    const [path = '', anchor] = target.split('#');
    const file = posix.join(folder, path);
    const found = byFile.get(file);
    const address = found ? markdownAddress(found) : served[file];
    return address ? `${address}${anchor ? `#${anchor}` : ''}` : null;
  }
}

const languages: Record<string, string> = { py: 'python' };
const sourceLink = /^- \[([^\]]+)\]\((\S+\.(ts|py|go|php|sh))\)$/gm;

/** A list of links to source files becomes the files. */
function includeSources(markdown: string, folder: string): string {
  return markdown.replace(sourceLink, (_, title: string, file: string, ending: string) => {
    const code = readFileSync(new URL(posix.join(folder, file), root), 'utf8').trimEnd();
    return `\`\`\`${languages[ending] ?? ending} title="${title}"\n${code}\n\`\`\``;
  });
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
