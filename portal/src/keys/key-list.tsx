import { Stack } from '@mantine/core';
import type { PortalKey } from '../api/types.ts';
import { KeyEntry } from './key-entry.tsx';
import type { MadeKey } from './new-key.tsx';

export function KeyList({
  appId,
  keys,
  made,
}: {
  appId: string;
  keys: PortalKey[];
  /** Called with the new key after a rotation. */
  made: (key: MadeKey) => void;
}) {
  return (
    <Stack component="ul" gap="sm" m={0} p={0} style={{ listStyle: 'none' }} aria-label="Keys">
      {keys.map((key) => (
        <li key={key.id}>
          <KeyEntry appId={appId} apiKey={key} made={made} />
        </li>
      ))}
    </Stack>
  );
}
