import { Divider, Group, NativeSelect, Stack, Text, VisuallyHidden } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { events as eventsOperation, testWebhook } from '../api/operations.ts';
import type { Webhook } from '../api/types.ts';
import { appChanges, useWrite } from '../api/use-write.ts';
import { Exchange } from '../deliveries/exchange.tsx';
import { BusyButton } from '../ui/busy-button.tsx';
import { describeAttempt } from '../ui/describe-attempt.ts';
import { formatDuration } from '../ui/format-duration.ts';
import { Problem } from '../ui/problem.tsx';
import { Section } from '../ui/section.tsx';
import { isChat } from './describe-webhook.ts';

const noSample = '';

export function SendTest({ appId, webhook }: { appId: string; webhook: Webhook }) {
  const events = useQuery(eventsOperation(appId));
  const [event, setEvent] = useState(noSample);
  const send = useWrite(
    () => testWebhook({ appId, webhookId: webhook.id }, event === noSample ? null : event),
    appChanges,
  );
  const allowed = events.data?.entries.filter((each) => each.allowed) ?? [];
  const attempt = send.data?.attempts.at(-1);
  const result = attempt && describeAttempt(attempt, isChat(webhook)).title;
  return (
    <Section
      title="Send a test"
      lead="Sends one webhook.test delivery now. You can test a deactivated webhook; tests don't affect its health. At most 10 per minute for each app."
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
        <BusyButton busy={send.isPending} onClick={() => send.mutate(undefined)}>
          Send a test
        </BusyButton>
      </Group>
      <VisuallyHidden role="status">{send.isPending ? 'Sending' : result}</VisuallyHidden>
      {send.isError && <Problem error={send.error} />}
      {send.data && attempt && (
        <Stack gap="sm">
          <Divider />
          <Text size="sm" fw={600}>
            {result}, took {formatDuration(attempt.durationMs)}
          </Text>
          <Exchange delivery={send.data} attempt={attempt} url={webhook.url} order={3} />
        </Stack>
      )}
    </Section>
  );
}
