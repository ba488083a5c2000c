import { Button, Group, Modal, Stack, TextInput } from '@mantine/core';
import { useState, type ReactNode } from 'react';
import { Problem } from './problem.tsx';
import { BusyButton } from './busy-button.tsx';

/** Asks before an action that cannot be undone. `typed`: text that the user must type first, if much would be lost. */
export function Confirm({
  opened,
  title,
  close,
  ...question
}: Question & { opened: boolean; title: string; close: () => void }) {
  // A running request cannot be cancelled, so the dialogue stays open until its result is known.
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
  /** The label of the button, for example `Delete app`. */
  action: string;
  typed?: string;
  busy: boolean;
  error: unknown;
  confirm: () => void;
};

/** A separate component, so that each opening starts with an empty field. */
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
        confirm();
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
          <BusyButton type="submit" color="red.9" busy={busy} disabled={!mayConfirm}>
            {action}
          </BusyButton>
        </Group>
      </Stack>
    </form>
  );
}
