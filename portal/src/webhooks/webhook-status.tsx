import { Alert, Anchor, Group, List, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { Link } from 'react-router';
import { updateWebhook } from '../api/operations.ts';
import type { Webhook } from '../api/types.ts';
import { useWrite } from '../api/use-write.ts';
import { Confirm } from '../ui/confirm.tsx';
import { Problem } from '../ui/problem.tsx';
import { toastSuccess } from '../ui/toast.ts';
import { Section } from '../ui/section.tsx';
import { Time } from '../ui/time.tsx';
import { LastTimes } from './last-times.tsx';
import { useWebhookId, webhookChanges } from './use-webhook-id.ts';
import { WebhookBadge } from './webhook-badge.tsx';
import { deliveriesInARow, stateOf } from './webhook-words.ts';
import { BusyButton } from '../ui/busy-button.tsx';

/** Shows the state of a webhook with advice, and pauses or resumes it. */
export function WebhookStatus({ webhook }: { webhook: Webhook }) {
  const id = useWebhookId();
  const [asksToPause, setAsksToPause] = useState(false);
  const write = useWrite((active: boolean) => updateWebhook(id, { active }), webhookChanges);
  const isPaused = stateOf(webhook) === 'paused';

  function switchTo(active: boolean): void {
    write.mutate(active, {
      onSuccess: () => {
        setAsksToPause(false);
        toastSuccess(active ? 'The webhook is active again.' : 'The webhook is paused.');
      },
    });
  }

  return (
    <Section
      title="State"
      actions={
        // The button is never busy behind the dialogue, so that it gets the focus back when the dialogue closes.
        <BusyButton
          variant={webhook.active ? 'default' : 'filled'}
          onClick={() => (webhook.active ? setAsksToPause(true) : switchTo(true))}
          busy={write.isPending && write.variables}
        >
          {webhook.active ? 'Pause' : isPaused ? 'Resume' : 'Reactivate'}
        </BusyButton>
      }
    >
      <Stack gap="sm">
        <Group gap="sm">
          <WebhookBadge webhook={webhook} />
          <LastTimes webhook={webhook} />
        </Group>
        <Advice webhook={webhook} />
        {write.isError && !asksToPause && <Problem error={write.error} />}
      </Stack>
      <Confirm
        opened={asksToPause}
        title="Pause this webhook?"
        action="Pause"
        busy={write.isPending}
        error={write.error}
        confirm={() => switchTo(false)}
        close={() => {
          setAsksToPause(false);
          write.reset();
        }}
      >
        <Text size="sm">
          No events are sent until you resume it, and pending deliveries are cancelled now. You can
          recover them afterwards, and read the events you missed from the API.
        </Text>
      </Confirm>
    </Section>
  );
}

function Advice({ webhook }: { webhook: Webhook }) {
  const state = stateOf(webhook);
  if (state === 'active') return null;
  if (state === 'failing') return <Failing webhook={webhook} />;
  return <Off webhook={webhook} />;
}

function Failing({ webhook: { exhaustedInARow } }: { webhook: Webhook }) {
  return (
    <Alert
      color="orange"
      variant="outline"
      title={`${deliveriesInARow(exhaustedInARow)} failed for good`}
    >
      <Text size="sm">
        All attempts failed. If this continues, the webhook is deactivated. Check the recent
        deliveries for the reason, and send a test once it is fixed: the next successful delivery
        resets the count.
      </Text>
    </Alert>
  );
}

const reasons = {
  failing: {
    title: 'Deactivated: too many deliveries failed',
    text: 'All attempts of several deliveries in a row failed.',
  },
  gone: {
    title: 'Deactivated: your server answered 410 Gone',
    text: 'That status means that it wants no more deliveries.',
  },
  owner: {
    title: 'Paused by you',
    text: 'Nothing is sent until you resume it.',
  },
};

function Off({ webhook: { deactivatedAt, deactivatedReason } }: { webhook: Webhook }) {
  const isPaused = deactivatedReason === 'owner';
  const { title, text } = reasons[deactivatedReason ?? 'owner'];
  return (
    <Alert color={isPaused ? 'gray' : 'red'} variant="outline" title={title}>
      <Stack gap="xs">
        <Text size="sm">
          {text}{' '}
          {deactivatedAt && <Since at={deactivatedAt} word={isPaused ? 'Paused' : 'Deactivated'} />}{' '}
          Pending deliveries were cancelled, and events since then are not sent.
        </Text>
        <List size="sm" type="ordered" spacing={2} c="var(--mantine-color-text)">
          {!isPaused && <List.Item>Check the recent deliveries to see why they failed.</List.Item>}
          {!isPaused && <List.Item>Send a test. You can test a disabled webhook.</List.Item>}
          <List.Item>{isPaused ? 'Resume it' : 'Reactivate it'} with the button above.</List.Item>
          <List.Item>
            <Anchor component={Link} to="deliveries" inherit>
              Recover failed deliveries
            </Anchor>{' '}
            of the last 14 days.
          </List.Item>
        </List>
      </Stack>
    </Alert>
  );
}

function Since({ at, word }: { at: string; word: string }) {
  return (
    <>
      {word} <Time at={at} exact />.
    </>
  );
}
