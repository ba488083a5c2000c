/** The pages in the order of the navigation. Files are relative to the root of the repository. */
import { readFileSync } from 'node:fs';
import { apiSections } from './api-pages.ts';
import { titled, type Page, type Section } from './page.ts';

const root = new URL('../../', import.meta.url);

function page(path: string, source: string): Page {
  return titled({ path, source, markdown: readFileSync(new URL(source, root), 'utf8') });
}

const guide = (name: string) => page(name, `docs/guides/${name}.md`);

export const sections: Section[] = [
  {
    title: 'Start',
    kind: 'Guide',
    pages: [page('', 'docs/guides/README.md'), guide('quick-start')],
  },
  {
    title: 'Guides',
    kind: 'Guide',
    pages: [
      guide('verify-signatures'),
      guide('retries-and-idempotency'),
      guide('deactivation-and-recovery'),
      guide('chat-channels'),
      guide('poll-events'),
      guide('pages-and-search'),
      guide('bind-an-app'),
      page('client', 'client/README.md'),
      page('generated-clients', 'docs/reference/clients.md'),
    ],
  },
  {
    title: 'Rules of the API',
    kind: 'Reference',
    pages: [
      page('versioning', 'docs/reference/README.md'),
      page('reading', 'docs/reference/reads.md'),
      page('keys', 'docs/reference/keys.md'),
      page('events', 'docs/reference/events.md'),
      page('deliveries', 'docs/reference/deliveries.md'),
      page('errors-and-limits', 'docs/reference/errors-and-limits.md'),
    ],
  },
  ...apiSections(),
  {
    title: 'For operators',
    kind: 'Operators',
    pages: [
      page('operations', 'docs/operations.md'),
      page('feeding', 'docs/reference/feeding.md'),
      page('internal-api', 'docs/internal-api.md'),
      page('publish-from-sql', 'docs/publish-from-sql.md'),
      page('syncs', 'docs/syncs.md'),
      page('command-line', 'docs/command-line.md'),
    ],
  },
];
