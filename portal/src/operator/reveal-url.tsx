import { Code, Text } from '@mantine/core';
import { revealUrl } from '../api/operations.ts';
import type { OperatorWebhook } from '../api/types.ts';
import { useWrite } from '../api/use-write.ts';
import { DialogButton } from '../ui/dialog-button.tsx';
import { ReasonForm } from './reason-form.tsx';

function focus(element: HTMLElement | null): void {
  element?.focus();
}

/** Shows the URL of a webhook to somebody who says why. */
export function RevealUrl({ webhook: { id, host } }: { webhook: OperatorWebhook }) {
  const write = useWrite((reason: string) => revealUrl(id, reason), ['/operator/audit']);
  return (
    <DialogButton
      button={{ size: 'xs', 'aria-label': `Show URL of ${host}`, children: 'Show URL' }}
      title={`The URL of a webhook at ${host}`}
      // The dialog shows the result.
      write={{ ...write, isSuccess: false }}
    >
      {(close) =>
        write.data ? (
          <Code block role="status" tabIndex={-1} ref={focus}>
            {write.data.url}
          </Code>
        ) : (
          <ReasonForm action="Show" write={write} cancel={close}>
            <Text size="sm">
              It may contain a token of its owner. The audit log keeps that you have seen it and
              why, and the members of its app see that, without your name.
            </Text>
          </ReasonForm>
        )
      }
    </DialogButton>
  );
}
