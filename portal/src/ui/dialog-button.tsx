import { Modal } from '@mantine/core';
import { useState, type ComponentProps, type ReactNode } from 'react';
import { BusyButton } from './busy-button.tsx';
import { useClosing } from './use-closing.ts';

type Props = {
  button: Partial<ComponentProps<typeof BusyButton>>;
  title: string;
  /** What the dialog sends. */
  write?: { isSuccess: boolean; reset: () => void };
  /** `close` is for a dialog without `write`, once what it sends has succeeded. */
  children: (cancel: () => void, close: () => void) => ReactNode;
};

/**
 * A button and the dialog that it opens. The dialog closes when the write has succeeded, and the write then moves the focus,
 * because the button is often gone.
 */
export function DialogButton({ button, title, write, children }: Props) {
  const [isOpen, setIsOpen] = useState(false);
  const isDone = write?.isSuccess ?? false;
  const open = () => {
    write?.reset();
    setIsOpen(true);
  };
  const close = () => setIsOpen(false);
  const cancel = useClosing(close);
  return (
    <>
      <BusyButton variant="default" busy={false} onClick={open} {...button} />
      <Modal opened={isOpen && !isDone} onClose={cancel} title={title} returnFocus={!isDone}>
        {children(cancel, close)}
      </Modal>
    </>
  );
}
