import { Button, Group, Modal, Radio, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { Problem } from '../ui/problem.tsx';
import { BusyButton } from '../ui/busy-button.tsx';

const overlaps = [
  {
    seconds: 0,
    label: 'Expires immediately',
    description:
      'For a secret that may have leaked. Deliveries fail until your server uses the new one.',
  },
  { seconds: 3_600, label: '1 hour' },
  { seconds: 86_400, label: '24 hours' },
  { seconds: 604_800, label: '7 days' },
];
const defaultSeconds = 86_400;

export function RotateSecretDialogue({
  opened,
  hasOverlap,
  busy,
  error,
  returnFocus,
  rotate,
  close,
}: {
  opened: boolean;
  /** True if two secrets are already valid. */
  hasOverlap: boolean;
  busy: boolean;
  error: unknown;
  returnFocus: boolean;
  rotate: (overlapSeconds: number) => void;
  close: () => void;
}) {
  const [seconds, setSeconds] = useState(defaultSeconds);
  // A running request cannot be cancelled, and its result appears here.
  const closeUnlessBusy = () => {
    if (!busy) close();
  };
  return (
    <Modal
      opened={opened}
      onClose={closeUnlessBusy}
      title="Replace the secret"
      closeButtonProps={{ 'aria-label': 'Close' }}
      returnFocus={returnFocus}
      centered
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          rotate(seconds);
        }}
      >
        <Stack>
          <Text size="sm">
            The webhook gets a new secret, which is shown once. While the old one is still valid,
            deliveries are signed with both, so that none fails while you switch to the new one.
          </Text>
          <Radio.Group
            label="How long the old secret stays valid"
            value={String(seconds)}
            onChange={(value) => setSeconds(Number(value))}
          >
            <Stack gap="xs" mt={6}>
              {overlaps.map(({ seconds: each, label, description }) => (
                <Radio
                  key={each}
                  value={String(each)}
                  label={label}
                  description={description}
                  {...(each === seconds && { 'data-autofocus': true })}
                />
              ))}
            </Stack>
          </Radio.Group>
          {hasOverlap && (
            <Text size="sm">
              Two secrets are valid now. The older one stops working immediately.
            </Text>
          )}
          {error !== null && error !== undefined && <Problem error={error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={closeUnlessBusy}>
              Cancel
            </Button>
            <BusyButton type="submit" busy={busy}>
              Replace the secret
            </BusyButton>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
