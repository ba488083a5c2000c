import { Modal } from '@mantine/core';
import { useState, type ComponentProps, type ReactNode } from 'react';
import { BusyButton } from './busy-button.tsx';

type Props = {
  button: Partial<ComponentProps<typeof BusyButton>>;
  title: string;
  /** What the dialog sends. */
  write?: { isPending: boolean; isSuccess: boolean; reset: () => void };
  children: (close: () => void) => ReactNode;
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
  // A running request cannot be cancelled, so the dialog stays open until its result is known.
  const close = () => {
    if (!write?.isPending) setIsOpen(false);
  };
  return (
    <>
      <BusyButton variant="default" busy={false} onClick={open} {...button} />
      <Modal opened={isOpen && !isDone} onClose={close} title={title} returnFocus={!isDone}>
        {children(close)}
      </Modal>
    </>
  );
}
