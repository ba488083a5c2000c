import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useEffect, useRef, type ReactNode } from 'react';
import { useBlocker } from 'react-router';

/**
 * Asks before the user leaves the page while something is on it that is shown only once. `dialog` must be rendered.
 * `release` lets the next navigation pass, for pages that go on by themselves.
 */
export function useLeaveGuard(
  isShown: boolean,
  thing: string,
): { dialog: ReactNode; release: () => void } {
  const isReleased = useRef(false);
  const { state, proceed, reset } = useBlocker(
    ({ currentLocation, nextLocation }) =>
      isShown && !isReleased.current && currentLocation.pathname !== nextLocation.pathname,
  );
  useEffect(() => {
    if (!isShown) return undefined;
    // The browser asks in its own words when the window closes or reloads.
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener('beforeunload', ask);
    return () => window.removeEventListener('beforeunload', ask);
  }, [isShown]);
  return {
    release: () => {
      isReleased.current = true;
    },
    dialog: (
      <Modal
        opened={state === 'blocked'}
        onClose={() => reset?.()}
        title={`Leave without saving the ${thing}?`}
      >
        <Stack>
          <Text size="sm">The {thing} is on this page and won't be shown again.</Text>
          <Group justify="flex-end">
            <Button variant="default" onClick={() => reset?.()} data-autofocus>
              Stay
            </Button>
            <Button color="red.9" onClick={() => proceed?.()}>
              Leave
            </Button>
          </Group>
        </Stack>
      </Modal>
    ),
  };
}
