import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useEffect } from 'react';
import { NavigationType, useBlocker } from 'react-router';
import { useSession } from '../session/use-session.ts';
import { useUnsaved } from '../session/unsaved.ts';

type Props = { lost: 'secret' | 'key' | 'recovery codes' | 'changes' };

/**
 * While it is rendered, asks before the user leaves the page, because something on it would be lost: what is shown only once,
 * or what was typed. One at a time. A navigation that replaces the page is not asked about: what the user did has that result.
 */
export function LeaveGuard({ lost }: Props) {
  const { state, proceed, reset } = useBlocker(
    ({ currentLocation, nextLocation, historyAction }) =>
      historyAction !== NavigationType.Replace &&
      currentLocation.pathname !== nextLocation.pathname,
  );
  const isTyped = lost === 'changes';
  // What is shown only once does not outlast the session.
  useUnsaved(isTyped);
  const { data: session } = useSession();
  const hasEnded = session?.hasEnded ?? false;
  // A question from before the end is not asked after it; `global.css` shows one about the way back from there.
  useEffect(() => {
    if (hasEnded) reset?.();
  }, [hasEnded]);
  useEffect(() => {
    // The browser asks in its own words when the window closes or reloads.
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener('beforeunload', ask);
    return () => window.removeEventListener('beforeunload', ask);
  }, []);
  return (
    <Modal
      data-leave-guard
      opened={state === 'blocked'}
      onClose={() => reset?.()}
      title={`Leave without saving ${isTyped ? 'your changes' : `the ${lost}`}?`}
    >
      <Stack>
        <Text size="sm">
          {isTyped
            ? 'What you entered on this page will be lost.'
            : `The ${lost} ${lost === 'recovery codes' ? 'are' : 'is'} on this page and won't be shown again.`}
        </Text>
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
  );
}
