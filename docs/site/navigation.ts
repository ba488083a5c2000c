/** The pages in the order of the navigation. Files are relative to the root of the repository. */
import { readFileSync } from 'node:fs';
import { apiSections } from './api-pages.ts';
import type { Page, Section } from './page.ts';

const root = new URL('../../', import.meta.url);

function page(path: string, label: string, source: string): Page {
  return { path, label, source, markdown: readFileSync(new URL(source, root), 'utf8') };
}

const guide = (name: string, label: string) => page(name, label, `docs/guides/${name}.md`);

export const sections: Section[] = [
  {
    title: 'Start',
    kind: 'Guide',
    pages: [page('', 'Overview', 'docs/guides/README.md'), guide('quick-start', 'Quick start')],
  },
  {
    title: 'Guides',
    kind: 'Guide',
    pages: [
      guide('verify-signatures', 'Verify signatures'),
      guide('retries-and-idempotency', 'Retries and idempotency'),
      guide('deactivation-and-recovery', 'Deactivation and recovery'),
      guide('poll-events', 'Poll /events'),
      guide('pages-and-search', 'Pages and search'),
      guide('bind-an-app', 'Bind an app'),
      page('client', 'TypeScript client', 'client/README.md'),
      page('generated-clients', 'Generated clients', 'docs/reference/clients.md'),
    ],
  },
  {
    title: 'Rules of the API',
    kind: 'Reference',
    pages: [
      page('versioning', 'Conventions and versioning', 'docs/reference/README.md'),
      page('reading', 'Reading the directory', 'docs/reference/reads.md'),
      page('keys', 'Keys, apps and bindings', 'docs/reference/keys.md'),
      page('events', 'Events', 'docs/reference/events.md'),
      page('deliveries', 'Webhook deliveries', 'docs/reference/deliveries.md'),
      page('errors-and-limits', 'Errors and limits', 'docs/reference/errors-and-limits.md'),
    ],
  },
  ...apiSections(),
  {
    title: 'For operators',
    kind: 'Operators',
    pages: [
      page('operations', 'Run, upgrade and monitor', 'docs/operations.md'),
      page('feeding', 'Ways to feed the directory', 'docs/reference/feeding.md'),
      page('internal-api', 'Write over HTTP', 'docs/internal-api.md'),
      page('publish-from-sql', 'Publish from SQL', 'docs/publish-from-sql.md'),
      page('syncs', 'Syncs', 'docs/syncs.md'),
      page('command-line', 'Command line', 'docs/command-line.md'),
    ],
  },
];
