import { Code, Group } from '@mantine/core';
import { CopyButton } from './copy-button.tsx';

/** An id with a button that copies it. */
export function CopiedId({ id, thing }: { id: string; thing: string }) {
  return (
    <Group gap={4} wrap="nowrap">
      <Code>{id}</Code>
      <CopyButton value={id} label={`Copy ${thing} id`} />
    </Group>
  );
}
