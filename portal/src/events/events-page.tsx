import { Anchor, NativeSelect, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { Link, useLocation, useSearchParams } from 'react-router';
import { apps as appsOperation, catalogue, events as eventsOperation } from '../api/operations.ts';
import type { CatalogueEvent, PortalEvent } from '../api/types.ts';
import { Page } from '../layout/page.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { Problem } from '../ui/problem.tsx';
import { EventEntry } from './event-entry.tsx';

const audiences: { audience: CatalogueEvent['audience']; title: string; lead: string }[] = [
  { audience: 'global', title: 'For every app', lead: 'Public events of the whole directory.' },
  {
    audience: 'organization',
    title: 'For apps of an organisation',
    lead: 'Internal events, only for apps bound to the organisation.',
  },
  {
    audience: 'alliance',
    title: 'For apps of an alliance',
    lead: 'Internal events, only for apps bound to the alliance.',
  },
  {
    audience: 'webhook',
    title: 'For one webhook',
    lead: 'Sent only when you send a test.',
  },
];
/** The catalogue of events, optionally with what one app can get. */
export function EventsPage() {
  const [query, setQuery] = useSearchParams();
  const appId = query.get('app');
  const permissions = useQuery({ ...eventsOperation(appId ?? ''), enabled: appId !== null });
  // Placeholder data belongs to the previously chosen app.
  const isKnown = appId !== null && !permissions.isPlaceholderData;
  const list = useQuery(catalogue());
  return (
    <Page
      title="Events"
      lead="The events that a webhook can get. Each has the same form in a delivery, in a test, and in the API's list of events."
    >
      <AppChoice appId={appId} choose={(id) => setQuery(id === '' ? {} : { app: id })} />
      {appId !== null && permissions.isError && <Problem error={permissions.error} />}
      <Loaded query={list}>
        {({ entries }) => (
          <Catalogue
            entries={entries}
            permissions={isKnown ? (permissions.data?.entries ?? []) : []}
          />
        )}
      </Loaded>
    </Page>
  );
}

function AppChoice({ appId, choose }: { appId: string | null; choose: (id: string) => void }) {
  const query = useQuery(appsOperation());
  const apps = query.data?.entries;
  if (query.isError) return <Problem error={query.error} retry={() => void query.refetch()} />;
  if (apps?.length === 0)
    return (
      <Text>
        To get events, you need an app with a webhook.{' '}
        <Anchor component={Link} to="/apps">
          Create an app
        </Anchor>
      </Text>
    );
  return (
    <NativeSelect
      label="For the app"
      description="Choose an app to see which events it can get."
      maw={360}
      value={appId ?? ''}
      onChange={({ currentTarget }) => choose(currentTarget.value)}
      data={[
        { value: '', label: 'None' },
        ...(apps ?? []).map(({ id, name }) => ({ value: id, label: name })),
      ]}
    />
  );
}

function Catalogue({
  entries,
  permissions,
}: {
  entries: CatalogueEvent[];
  permissions: PortalEvent[];
}) {
  useLinkedEvent();
  const permissionOf = new Map(permissions.map((each) => [each.event, each]));
  return (
    <Stack gap="xl">
      {audiences.map(({ audience, title, lead }) => (
        <Stack key={audience} gap="sm" component="section">
          <div>
            <Title order={2} size="h3">
              {title}
            </Title>
            <Text c="dimmed" size="sm">
              {lead}
            </Text>
          </div>
          {entries
            .filter((entry) => entry.audience === audience)
            .map((entry) => (
              <EventEntry
                key={entry.event}
                entry={entry}
                permission={permissionOf.get(entry.event)}
              />
            ))}
        </Stack>
      ))}
    </Stack>
  );
}

/** Opens the event in the hash of the address and scrolls to it. */
function useLinkedEvent(): void {
  const { hash, key } = useLocation();
  useEffect(() => {
    // Waits until the page's heading has taken the focus.
    const frame = requestAnimationFrame(() => {
      const found = document.getElementById(hash.slice(1));
      if (!(found instanceof HTMLDetailsElement)) return;
      found.open = true;
      found.querySelector('summary')?.focus({ preventScroll: true });
      found.scrollIntoView();
    });
    return () => cancelAnimationFrame(frame);
  }, [hash, key]);
}
