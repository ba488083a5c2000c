import { Button, Group, Stack, Text } from '@mantine/core';
import { useEffect, useRef, type ReactNode } from 'react';
import { moveFocusAfterWait } from '../ui/move-focus.ts';

type Props = { children: string; action?: ReactNode; close: () => void };

/** Replaces the form of a dialog when its request has succeeded. */
export function DialogResult({ children, action, close }: Props) {
  const message = useRef<HTMLParagraphElement>(null);
  // The form that had the focus is gone.
  useEffect(() => moveFocusAfterWait(message.current), []);
  return (
    <Stack>
      <Text ref={message} tabIndex={-1} style={{ outline: 'none' }}>
        {children}
      </Text>
      <Group justify="flex-end">
        {action}
        <Button onClick={close}>Done</Button>
      </Group>
    </Stack>
  );
}
