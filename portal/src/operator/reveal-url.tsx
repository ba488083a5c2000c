import { Code, Modal, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { reasonCharsMax } from '../../../service/src/contract/suspension.ts';
import { revealUrl } from '../api/operations.ts';
import type { OperatorWebhook } from '../api/types.ts';
import { useWrite } from '../api/use-write.ts';
import { BusyButton } from '../ui/busy-button.tsx';
import { Form } from '../ui/form.tsx';

function focus(element: HTMLElement | null): void {
  element?.focus();
}

/** Shows the URL of a webhook to somebody who says why. */
export function RevealUrl({ webhook: { id, host } }: { webhook: OperatorWebhook }) {
  const [isOpen, setIsOpen] = useState(false);
  const [reason, setReason] = useState('');
  const write = useWrite(() => revealUrl(id, reason.trim()), ['/operator/audit']);
  const open = () => {
    write.reset();
    setReason('');
    setIsOpen(true);
  };
  // What was asked for is in the log, so its result is shown.
  const close = () => {
    if (!write.isPending) setIsOpen(false);
  };
  return (
    <>
      <BusyButton
        variant="default"
        size="xs"
        busy={false}
        onClick={open}
        aria-label={`Show URL of ${host}`}
      >
        Show URL
      </BusyButton>
      <Modal opened={isOpen} onClose={close} title={`The URL of a webhook at ${host}`}>
        {write.data ? (
          <Code block role="status" tabIndex={-1} ref={focus}>
            {write.data.url}
          </Code>
        ) : (
          <Form
            layout="dialog"
            action="Show"
            write={write}
            disabled={reason.trim() === ''}
            cancel={close}
            submit={() => write.mutate(undefined)}
          >
            <Text size="sm">
              It may contain a token of its owner. The audit log keeps that you have seen it and
              why, and the members of its app see that, without your name.
            </Text>
            <TextInput
              label="Reason"
              maxLength={reasonCharsMax}
              value={reason}
              onChange={({ currentTarget: { value } }) => setReason(value)}
              data-autofocus
            />
          </Form>
        )}
      </Modal>
    </>
  );
}
