import { Code, Group } from '@mantine/core';
import { CopyButton } from './copy-button.tsx';

/** An id with a button that copies it. In a narrow column of a table it takes two lines, not five. */
export function CopiedId({ id, thing }: { id: string; thing: string }) {
  return (
    <Group gap={4} wrap="nowrap" miw="12.5rem">
      <Code>{id}</Code>
      <CopyButton value={id} label={`Copy ${thing} id`} />
    </Group>
  );
}
