import { Stack, Text } from '@mantine/core';
import { DescriptionList } from './description-list.tsx';
import { Note } from './note.tsx';

export function HeaderList({ label, headers }: { label: string; headers: Record<string, string> }) {
  const entries = Object.entries(headers);
  if (entries.length === 0) return <Note>{label}: none.</Note>;
  return (
    <Stack gap={6}>
      <Text size="sm" fw={600}>
        {label}
      </Text>
      <DescriptionList entries={entries} isCode />
    </Stack>
  );
}
