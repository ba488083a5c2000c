import { useQuery } from '@tanstack/react-query';
import { useSearchParams } from 'react-router';
import { audit } from '../api/operations.ts';
import type { Page as Listed } from '../api/read.ts';
import type { PortalAuditEntry } from '../api/types.ts';
import { AppSelect } from '../apps/app-select.tsx';
import { Page } from '../layout/page.tsx';
import { Empty } from '../ui/empty.tsx';
import { PageLink } from '../ui/page-link.tsx';
import { PagedList } from '../ui/paged-list.tsx';
import { usePage } from '../ui/use-page.ts';
import { AuditEntry } from './audit-entry.tsx';

const perPage = 25;

/** Lists the changes to the user's apps. The address holds the filter and the page number. */
export function AuditPage() {
  const [query, setQuery] = useSearchParams();
  const [page] = usePage();
  const app = query.get('app') ?? '';
  const read = (at: number) => audit({ page: at, limit: perPage, ...(app !== '' && { app }) });
  const log = useQuery(read(page)).data;
  return (
    <Page
      title="Audit log"
      lead="Who changed what in your apps, whether here, with a key, or on the service itself. Newest first."
    >
      <AppSelect
        label="App"
        none="All your apps"
        value={app}
        missing={log && describeMissingApp(app, log)}
        choose={(id) => setQuery(id === '' ? {} : { app: id })}
      />
      <PagedList
        name="Audit log"
        read={read}
        reset={{ label: 'All your apps', run: () => setQuery({}) }}
        empty={
          <Empty
            title="No entries yet"
            action={
              <PageLink to="/apps">{app === '' ? 'Create an app' : 'See your apps'}</PageLink>
            }
          >
            Entries appear here when you create or bind an app, or add a key or a webhook.
          </Empty>
        }
      >
        {(entry) => <AuditEntry key={entry.id} entry={entry} />}
      </PagedList>
    </Page>
  );
}

/** The log keeps the entries of deleted apps, and never shows those of other users' apps. */
function describeMissingApp(
  app: string,
  { entries, pagination }: Listed<PortalAuditEntry>,
): string {
  if (pagination.total === 0) return 'None of your apps';
  const entry = entries.find(({ appId }) => appId === app);
  return entry ? `${entry.appName} (deleted)` : 'A deleted app';
}
