import { Anchor, Code, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { events } from '../api/operations.ts';
import type { PortalApp, PortalEvent } from '../api/types.ts';
import { Loaded } from '../ui/loaded.tsx';

const groups: { audience: PortalEvent['audience']; title: string }[] = [
  { audience: 'global', title: 'Events for every app' },
  { audience: 'organization', title: 'Internal events of an organisation' },
  { audience: 'alliance', title: 'Internal events of an alliance' },
];

/** Lists the events that an app can and cannot get with its current binding. */
export function EventsGiven({ app }: { app: PortalApp }) {
  const query = useQuery(events(app.id));
  return (
    <Loaded query={query}>
      {({ entries }) => (
        <Stack gap="sm">
          {groups.map((group) => (
            <EventGroup
              key={group.audience}
              title={group.title}
              events={entries.filter(({ audience }) => audience === group.audience)}
            />
          ))}
          <Text size="sm">
            <Anchor component={Link} to="/events" inherit>
              See what each event contains
            </Anchor>
          </Text>
        </Stack>
      )}
    </Loaded>
  );
}

function EventGroup({ title, events: all }: { title: string; events: PortalEvent[] }) {
  const mayHave = all.every(({ allowed }) => allowed);
  return (
    <div>
      <Text size="sm" fw={600}>
        {title}:{' '}
        <Text span inherit fw={400}>
          {mayHave ? 'this app gets them' : 'this app does not get them'}
        </Text>
      </Text>
      <Group component="ul" gap={6} m={0} mt={4} p={0} style={{ listStyle: 'none' }}>
        {all.map(({ event }) => (
          <li key={event}>
            <Code>{event}</Code>
          </li>
        ))}
      </Group>
    </div>
  );
}
