import { Anchor, NativeSelect } from '@mantine/core';
import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { Link, useSearchParams } from 'react-router';
import { apps, audit } from '../api/operations.ts';
import type { Page as Listed } from '../api/read.ts';
import type { PortalApp, PortalAuditEntry } from '../api/types.ts';
import { Page } from '../layout/page.tsx';
import { Empty } from '../ui/empty.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { moveFocus } from '../ui/move-focus.ts';
import { Paged } from '../ui/paged.tsx';
import { Problem } from '../ui/problem.tsx';
import { usePage } from '../ui/use-page.ts';
import { AuditEntry } from './audit-entry.tsx';
import classes from './audit.module.css';

const perPage = 25;

/** Lists the changes to the user's apps. The address holds the filter and the page number. */
export function AuditPage() {
  const [query, setQuery] = useSearchParams();
  const [page, go] = usePage();
  const app = query.get('app') ?? '';
  const own = useQuery(apps());
  const log = useQuery(audit({ page, limit: perPage, ...(app !== '' && { app }) }));
  return (
    <Page
      title="Audit log"
      lead="Who changed what in your apps, whether here, with a key, or on the service itself. Newest first."
    >
      <AppFilter
        apps={own}
        log={log.data}
        app={app}
        choose={(id) => setQuery(id === '' ? {} : { app: id })}
      />
      <Loaded query={log}>
        {({ entries, pagination }) =>
          entries.length === 0 ? (
            <Nothing page={page} isFiltered={app !== ''} />
          ) : (
            <Paged name="Audit log" page={page} pagination={pagination} go={go}>
              <ul className={classes['list']} aria-label="Audit log entries">
                {entries.map((entry) => (
                  <AuditEntry key={entry.id} entry={entry} />
                ))}
              </ul>
            </Paged>
          )
        }
      </Loaded>
    </Page>
  );
}

function AppFilter({
  apps: { data, error, refetch },
  log,
  app,
  choose,
}: {
  apps: UseQueryResult<Listed<PortalApp>>;
  log: Listed<PortalAuditEntry> | undefined;
  app: string;
  choose: (id: string) => void;
}) {
  if (!data && error) return <Problem error={error} retry={() => void refetch()} />;
  const all = data?.entries ?? [];
  const isUnknown = app !== '' && !all.some(({ id }) => id === app);
  return (
    <NativeSelect
      label="App"
      maw="20rem"
      value={app}
      onChange={(event) => choose(event.currentTarget.value)}
      data={[
        { value: '', label: 'All your apps' },
        ...all.map(({ id, name }) => ({ value: id, label: name })),
        ...(isUnknown
          ? [{ value: app, label: data && log ? describeMissingApp(app, log) : 'Loading' }]
          : []),
      ]}
    />
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

function Nothing({ page, isFiltered }: { page: number; isFiltered: boolean }) {
  if (page > 1)
    return (
      <Empty
        title="This page is past the last one"
        action={
          <Anchor component={Link} to="/audit" onClick={() => moveFocus()}>
            Go to the first page
          </Anchor>
        }
      >
        The audit log has fewer pages.
      </Empty>
    );
  return (
    <Empty
      title="No entries yet"
      action={
        <Anchor component={Link} to="/apps">
          {isFiltered ? 'See your apps' : 'Create an app'}
        </Anchor>
      }
    >
      Entries appear here when you create or bind an app, or add a key or a webhook.
    </Empty>
  );
}
