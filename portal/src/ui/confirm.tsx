import { Modal, TextInput } from '@mantine/core';
import { useState, type ComponentProps, type ReactNode } from 'react';
import { BusyButton } from './busy-button.tsx';
import { Form, type Write } from './form.tsx';

type Question = {
  action: string;
  color?: string;
  /** Text that the user must type first, if much would be lost. */
  typed?: string;
  write: Write & { isSuccess: boolean; reset: () => void; mutate: (input: undefined) => void };
  children: ReactNode;
};

export type ConfirmProps = Question & {
  /** The button that asks. */
  button: Partial<ComponentProps<typeof BusyButton>>;
  title: string;
};

/**
 * Asks before an action. The dialog closes when the action has succeeded, and the write then moves the focus, because the
 * button that asked is often gone.
 */
export function Confirm({ button, title, ...question }: ConfirmProps) {
  const { write } = question;
  const [isAsking, setIsAsking] = useState(false);
  const ask = () => {
    write.reset();
    setIsAsking(true);
  };
  // A running request cannot be cancelled, so the dialog stays open until its result is known.
  const close = () => {
    if (!write.isPending) setIsAsking(false);
  };
  return (
    <>
      <BusyButton variant="default" busy={false} onClick={ask} {...button} />
      <Modal
        opened={isAsking && !write.isSuccess}
        onClose={close}
        title={title}
        returnFocus={!write.isSuccess}
      >
        <ConfirmForm {...question} cancel={close} />
      </Modal>
    </>
  );
}

type ConfirmFormProps = Question & { cancel: () => void };

/** A separate component, so that each opening starts with an empty field. */
function ConfirmForm({ typed, color = 'red.9', children, ...form }: ConfirmFormProps) {
  const [text, setText] = useState('');
  return (
    <Form
      {...form}
      layout="dialog"
      color={color}
      submit={() => form.write.mutate(undefined)}
      disabled={typed !== undefined && text.trim() !== typed.trim()}
    >
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
    </Form>
  );
}
