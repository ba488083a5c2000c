import { Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useLocation, useSearchParams } from 'react-router';
import { catalogue, events as eventsOperation } from '../api/operations.ts';
import type { CatalogueEvent, PortalEvent } from '../api/types.ts';
import { AppSelect } from '../apps/app-select.tsx';
import { Page } from '../layout/page.tsx';
import { byAudience } from '../ui/by-audience.ts';
import { isFocusTaken } from '../ui/move-focus.ts';
import { Loaded } from '../ui/loaded.tsx';
import { Note } from '../ui/note.tsx';
import { PageLink } from '../ui/page-link.tsx';
import { Problem } from '../ui/problem.tsx';
import { EventEntry } from './event-entry.tsx';

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
      <AppSelect
        label="For the app"
        description="Choose an app to see which events it can get."
        none="None"
        value={appId ?? ''}
        missing="Not one of your apps"
        noApps={
          <Text>
            To get events, you need an app with a webhook.{' '}
            <PageLink to="/apps">Create an app</PageLink>
          </Text>
        }
        choose={(id) => setQuery(id === '' ? {} : { app: id })}
      />
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

type Props = { entries: CatalogueEvent[]; permissions: PortalEvent[] };

function Catalogue({ entries, permissions }: Props) {
  useLinkedEvent();
  const permissionOf = new Map(permissions.map((each) => [each.event, each]));
  return (
    <Stack gap="xl">
      {byAudience(entries).map(({ title, lead, events }) => (
        <Stack key={title} gap="sm" component="section">
          <div>
            <Title order={2} size="h3">
              {title}
            </Title>
            <Note>{lead}</Note>
          </div>
          {events.map((entry) => (
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

/** Opens the event in the hash of the address and scrolls to it, unless somebody is elsewhere on the page by then. */
function useLinkedEvent(): void {
  const { hash, key } = useLocation();
  useEffect(() => {
    // Waits until the page's heading has taken the focus.
    const frame = requestAnimationFrame(() => {
      const found = document.getElementById(hash.slice(1));
      if (!(found instanceof HTMLDetailsElement)) return;
      found.open = true;
      if (isFocusTaken()) return;
      found.querySelector('summary')?.focus({ preventScroll: true });
      found.scrollIntoView();
    });
    return () => cancelAnimationFrame(frame);
  }, [hash, key]);
}
