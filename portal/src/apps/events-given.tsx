import { Code, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { events } from '../api/operations.ts';
import type { PortalApp, PortalEvent } from '../api/types.ts';
import { byAudience } from '../ui/by-audience.ts';
import { Loaded } from '../ui/loaded.tsx';
import { PageLink } from '../ui/page-link.tsx';

/** Lists the events that an app can and cannot get with its current binding. */
export function EventsGiven({ app }: { app: PortalApp }) {
  const query = useQuery(events(app.id));
  return (
    <Loaded query={query}>
      {({ entries }) => (
        <Stack gap="sm">
          {byAudience(entries).map((group) => (
            <EventGroup key={group.title} {...group} />
          ))}
          <PageLink to="/events" size="sm">
            See what each event contains
          </PageLink>
        </Stack>
      )}
    </Loaded>
  );
}

function EventGroup({ title, events: group }: { title: string; events: PortalEvent[] }) {
  const gets = group.every(({ allowed }) => allowed);
  return (
    <div>
      <Text size="sm">
        <strong>{title}:</strong> {gets ? 'this app gets them' : 'this app does not get them'}
      </Text>
      <Group gap={6} mt={4}>
        {group.map(({ event }) => (
          <Code key={event}>{event}</Code>
        ))}
      </Group>
    </div>
  );
}
