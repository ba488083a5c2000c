import { Badge, Group, Paper, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';

/** A list of entries that need attention, or a text if there are none. */
export function Attention({
  title,
  nothing,
  entries,
}: {
  title: string;
  /** The text for an empty list. */
  nothing: string;
  entries: ReactNode[];
}) {
  return (
    <Paper withBorder p="md" component="section" aria-label={title}>
      <Group gap="xs" mb="sm">
        <Title order={2} size="h4">
          {title}
        </Title>
        {entries.length > 0 && (
          <Badge color="red.9" variant="filled" circle={entries.length < 10}>
            {entries.length}
          </Badge>
        )}
      </Group>
      {entries.length === 0 ? (
        <Text c="dimmed">{nothing}</Text>
      ) : (
        <Stack gap="sm" component="ul" m={0} p={0} style={{ listStyle: 'none' }}>
          {entries}
        </Stack>
      )}
    </Paper>
  );
}
