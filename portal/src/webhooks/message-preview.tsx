import { Anchor, NativeSelect, Paper, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { events as eventsOperation } from '../api/operations.ts';
import type { PortalEvent } from '../api/types.ts';
import { DescriptionList } from '../ui/description-list.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { Time } from '../ui/time.tsx';

const colors = { good: 'green', info: 'blue', warning: 'yellow', bad: 'red' };

type Props = {
  appId: string;
  /** The events of the webhook; null for all. */
  chosen: string[] | null;
};

/** What a channel shows of an event. The platforms draw it in different ways. */
export function MessagePreview({ appId, chosen }: Props) {
  const query = useQuery(eventsOperation(appId));
  const [selected, select] = useState<string | null>(null);
  return (
    <Loaded query={query}>
      {({ entries }) => {
        const shown = entries.filter(
          ({ event, allowed, optIn }) => chosen?.includes(event) ?? (allowed && !optIn),
        );
        const entry = shown.find(({ event }) => event === selected) ?? shown[0];
        if (!entry) return null;
        return (
          <Stack gap="xs">
            <NativeSelect
              label="Example message"
              description="About as the channel shows it."
              data={shown.map((one) => one.event)}
              value={entry.event}
              onChange={({ currentTarget }) => select(currentTarget.value)}
            />
            <Message message={entry.message} />
          </Stack>
        );
      }}
    </Loaded>
  );
}

function Message({ message }: { message: PortalEvent['message'] }) {
  const { title, text, fields, url, color, time } = message;
  return (
    <Paper
      withBorder
      p="sm"
      role="figure"
      aria-label="Preview of the message"
      style={{ borderInlineStart: `4px solid var(--mantine-color-${colors[color]}-6)` }}
    >
      <Stack gap={6}>
        <Text fw={600}>{url === null ? title : <Anchor href={url}>{title}</Anchor>}</Text>
        {text !== null && (
          <Text size="sm" style={{ whiteSpace: 'pre-line' }}>
            {text}
          </Text>
        )}
        <DescriptionList entries={fields.map(({ name, value }) => [name, value])} />
        <Text size="xs" c="dimmed">
          <Time at={time} />
        </Text>
      </Stack>
    </Paper>
  );
}
