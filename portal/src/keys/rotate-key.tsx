import { Button, Group, Modal, Radio, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useState } from 'react';
import { rotateKey } from '../api/operations.ts';
import type { PortalKey } from '../api/types.ts';
import { useWrite } from '../api/use-write.ts';
import { Problem } from '../ui/problem.tsx';
import { nameOfKey } from './name-of-key.ts';
import type { MadeKey } from './new-key.tsx';
import { BusyButton } from '../ui/busy-button.tsx';

const graces = [
  { value: '0', label: 'Expires immediately' },
  { value: '3600', label: '1 hour' },
  { value: '86400', label: '24 hours' },
  { value: '604800', label: '7 days' },
];

/** Replaces a key. The old one keeps working for the chosen time. */
export function RotateKey({
  appId,
  apiKey,
  made,
}: {
  appId: string;
  apiKey: PortalKey;
  made: (key: MadeKey) => void;
}) {
  const name = nameOfKey(apiKey);
  const [opened, { open, close }] = useDisclosure(false);
  const [grace, setGrace] = useState('86400');
  const write = useWrite(
    async (overlapSeconds: number) => {
      const rotated = await rotateKey(appId, apiKey.id, overlapSeconds);
      // Before the list reloads: the old key may have expired by then, and this component unmounts with it.
      close();
      made(rotated);
    },
    ['/apps', '/overview', '/audit'],
  );
  // A running request cannot be cancelled, and its result appears here.
  const closeUnlessBusy = () => {
    if (!write.isPending) close();
  };
  return (
    <>
      <Button
        variant="default"
        size="xs"
        aria-label={`Rotate ${name}`}
        onClick={() => {
          write.reset();
          open();
        }}
      >
        Rotate
      </Button>
      <Modal
        opened={opened}
        onClose={closeUnlessBusy}
        title={`Rotate ${name}`}
        closeButtonProps={{ 'aria-label': 'Close' }}
        // The new key takes the focus.
        returnFocus={!write.isPending}
        centered
      >
        <form
          onSubmit={(event) => {
            event.preventDefault();
            write.mutate(Number(grace));
          }}
        >
          <Stack>
            <Text size="sm">You get a new key with the same name, scopes and expiry.</Text>
            <Radio.Group
              label="How long the old key keeps working"
              value={grace}
              onChange={setGrace}
            >
              <Stack gap="xs" mt="xs">
                {graces.map(({ value, label }) => (
                  <Radio
                    key={value}
                    value={value}
                    label={label}
                    data-autofocus={value === grace || undefined}
                  />
                ))}
              </Stack>
            </Radio.Group>
            {write.error && <Problem error={write.error} />}
            <Group justify="flex-end">
              <Button variant="default" onClick={closeUnlessBusy}>
                Cancel
              </Button>
              <BusyButton type="submit" busy={write.isPending}>
                Rotate key
              </BusyButton>
            </Group>
          </Stack>
        </form>
      </Modal>
    </>
  );
}
