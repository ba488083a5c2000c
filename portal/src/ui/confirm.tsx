import { Button, Group, Modal, Stack, TextInput } from '@mantine/core';
import { useState, type ReactNode } from 'react';
import { Problem } from './problem.tsx';

/** Asks before something that cannot be undone. `typed`: what has to be typed first, where much would be lost. */
export function Confirm({
  opened,
  title,
  close,
  ...question
}: Question & { opened: boolean; title: string; close: () => void }) {
  // What is on its way cannot be called back: it stays until it is known what came of it.
  const closeUnlessBusy = () => {
    if (!question.busy) close();
  };
  return (
    <Modal
      opened={opened}
      onClose={closeUnlessBusy}
      title={title}
      closeButtonProps={{ 'aria-label': 'Close' }}
      centered
    >
      <Answer {...question} cancel={closeUnlessBusy} />
    </Modal>
  );
}

type Question = {
  children: ReactNode;
  /** The words of the button, such as `Delete app`. */
  action: string;
  typed?: string;
  busy: boolean;
  error: unknown;
  confirm: () => void;
};

/** A part of its own, which is new with each opening: what was typed before confirms nothing. */
function Answer({
  children,
  action,
  typed,
  busy,
  error,
  confirm,
  cancel,
}: Question & { cancel: () => void }) {
  const [text, setText] = useState('');
  const mayConfirm = typed === undefined || text.trim() === typed.trim();
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (mayConfirm && !busy) confirm();
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
            onClick={cancel}
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
  );
}
