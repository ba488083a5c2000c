import { TextInput } from '@mantine/core';
import { useState, type ComponentProps, type ReactNode } from 'react';
import type { BusyButton } from './busy-button.tsx';
import { DialogButton } from './dialog-button.tsx';
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

/** Asks before an action. */
export function Confirm({ button, title, ...question }: ConfirmProps) {
  return (
    <DialogButton button={button} title={title} write={question.write}>
      {(close) => <ConfirmForm {...question} cancel={close} />}
    </DialogButton>
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
