import { Group, NativeSelect, VisuallyHidden } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { events as eventsOperation, testWebhook } from '../api/operations.ts';
import type { Webhook } from '../api/types.ts';
import { useWrite } from '../api/use-write.ts';
import { describeAttempt } from '../ui/describe-attempt.ts';
import { Problem } from '../ui/problem.tsx';
import { Section } from '../ui/section.tsx';
import { TestResult } from './test-result.tsx';
import { useWebhookId } from './use-webhook-id.ts';
import { BusyButton } from '../ui/busy-button.tsx';

const noSample = '';

/** Sends a test delivery now and shows the result. */
export function SendTest({ webhook }: { webhook: Webhook }) {
  const id = useWebhookId();
  const events = useQuery(eventsOperation(id.appId));
  const [event, setEvent] = useState(noSample);
  const send = useWrite(
    (name: string) => testWebhook(id, name === noSample ? null : name),
    [id.page],
  );
  const allowed = events.data?.entries.filter((each) => each.allowed) ?? [];
  const attempt = send.data?.attempts.at(-1);

  return (
    <Section
      title="Send a test"
      lead="Sends one webhook.test delivery now. You can test a disabled webhook; tests don't affect its health. At most 10 per minute for each app."
    >
      <form
        onSubmit={(submitted) => {
          submitted.preventDefault();
          send.mutate(event);
        }}
      >
        <Group align="flex-end" gap="sm">
          <NativeSelect
            label="Sample event"
            value={event}
            onChange={({ currentTarget }) => setEvent(currentTarget.value)}
            data={[
              { value: noSample, label: 'None' },
              ...allowed.map(({ event: name }) => ({ value: name, label: name })),
            ]}
          />
          <BusyButton type="submit" busy={send.isPending}>
            Send a test
          </BusyButton>
        </Group>
      </form>
      <VisuallyHidden role="status">
        {send.isPending ? 'Sending' : attempt ? describeAttempt(attempt).title : ''}
      </VisuallyHidden>
      {send.isError && <Problem error={send.error} />}
      {send.data && <TestResult delivery={send.data} url={webhook.url} />}
    </Section>
  );
}
