import { Stack, Text } from '@mantine/core';
import { DescriptionList } from './description-list.tsx';

/** Lists the headers of a request or a response. */
export function HeaderList({ label, headers }: { label: string; headers: Record<string, string> }) {
  const entries = Object.entries(headers);
  if (entries.length === 0)
    return (
      <Text size="sm" c="dimmed">
        {label}: none.
      </Text>
    );
  return (
    <Stack gap={6}>
      <Text size="sm" fw={600}>
        {label}
      </Text>
      <DescriptionList entries={entries} isCode />
    </Stack>
  );
}
