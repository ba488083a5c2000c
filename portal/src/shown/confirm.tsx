import { Button, Group, Modal, Stack, TextInput } from '@mantine/core';
import { useState, type ReactNode } from 'react';
import { Problem } from './problem.tsx';

/** Asks before something that cannot be undone. `typed`: what has to be typed first, where much would be lost. */
export function Confirm({
  opened,
  title,
  children,
  action,
  typed,
  busy,
  error,
  confirm,
  close,
}: {
  opened: boolean;
  title: string;
  children: ReactNode;
  /** The words of the button, such as `Delete app`. */
  action: string;
  typed?: string;
  busy: boolean;
  error: unknown;
  confirm: () => void;
  close: () => void;
}) {
  const [text, setText] = useState('');
  const mayConfirm = typed === undefined || text.trim() === typed.trim();
  return (
    <Modal
      opened={opened}
      onClose={close}
      title={title}
      closeButtonProps={{ 'aria-label': 'Close' }}
      centered
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (mayConfirm) confirm();
        }}
      >
        <Stack>
          {children}
          {typed !== undefined && (
            <TextInput
              label={`Type “${typed}” to confirm`}
              value={text}
              onChange={(event) => setText(event.currentTarget.value)}
              autoComplete="off"
              data-autofocus
            />
          )}
          {error !== null && error !== undefined && <Problem error={error} />}
          <Group justify="flex-end">
            <Button
              variant="default"
              onClick={close}
              {...(typed === undefined && { 'data-autofocus': true })}
            >
              Cancel
            </Button>
            <Button type="submit" color="red.9" loading={busy} disabled={!mayConfirm}>
              {action}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
