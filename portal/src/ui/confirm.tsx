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
  children: ReactNode;
};

type Sending<Input> = Write & {
  isSuccess: boolean;
  reset: () => void;
  mutate: (input: Input) => void;
};

/** The button that asks. */
type ButtonProps = { button: Partial<ComponentProps<typeof BusyButton>> };

export type ConfirmProps = Question & ButtonProps & { title: string; write: Sending<undefined> };

/** Asks before an action. */
export function Confirm(props: ConfirmProps) {
  return <ConfirmAbout {...props} about={undefined} ask={() => props} />;
}

type AboutProps<Input> = ButtonProps & {
  about: Input;
  ask: (about: Input) => Question & { title: string };
  write: Sending<Input>;
};

/** Asks before an action on something that may change while the dialog is open: asks about, and sends, what there was then. */
export function ConfirmAbout<Input>({ button, about, ask, write }: AboutProps<Input>) {
  const [asked, setAsked] = useState({ about });
  const { title, ...question } = ask(asked.about);
  const reset = () => {
    write.reset();
    setAsked({ about });
  };
  return (
    <DialogButton button={button} title={title} write={{ ...write, reset }}>
      {(close) => (
        <ConfirmForm
          {...question}
          write={write}
          submit={() => write.mutate(asked.about)}
          cancel={close}
        />
      )}
    </DialogButton>
  );
}

type ConfirmFormProps = Question & { write: Write; submit: () => void; cancel: () => void };

/**
 * A separate component, so that each opening starts with an empty field. What was typed does not outlast the session: nobody
 * should come back to a button that deletes at once.
 */
function ConfirmForm({ typed, color = 'red.9', children, ...form }: ConfirmFormProps) {
  const [text, setText] = useState('');
  return (
    <Form
      {...form}
      layout="dialog"
      color={color}
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
