import { Alert, Group, List, Stack, Text } from '@mantine/core';
import { useRef } from 'react';
import { updateWebhook } from '../api/operations.ts';
import type { Webhook } from '../api/types.ts';
import { appChanges, useWrite } from '../api/use-write.ts';
import { Confirm } from '../ui/confirm.tsx';
import { moveFocus } from '../ui/move-focus.ts';
import { PageLink } from '../ui/page-link.tsx';
import { Problem } from '../ui/problem.tsx';
import { Section } from '../ui/section.tsx';
import { Time } from '../ui/time.tsx';
import { toastSuccess } from '../ui/toast.ts';
import { useWebhookId } from './use-webhook-id.ts';
import { LastTimes, WebhookBadge } from './webhook-state.tsx';
import { deactivationReasons, describeFailures, stateOf } from './describe-webhook.ts';

type Props = { webhook: Webhook; mayChange: boolean };

/** Shows the state of a webhook, with buttons and advice for those who may change it. */
export function WebhookStatus({ webhook, mayChange }: Props) {
  const id = useWebhookId();
  const reactivate = useWrite(() => updateWebhook(id, { active: true }), appChanges, {
    done: () => toastSuccess('The webhook is active again.'),
  });
  const state = stateOf(webhook);
  return (
    <Section
      title="State"
      actions={mayChange && <StateButton webhook={webhook} reactivate={reactivate} />}
    >
      <Group gap="sm">
        <WebhookBadge webhook={webhook} />
        <LastTimes webhook={webhook} />
      </Group>
      {state === 'failing' && <Failing webhook={webhook} mayChange={mayChange} />}
      {state === 'deactivated' && <Deactivated webhook={webhook} mayChange={mayChange} />}
      {reactivate.isError && <Problem error={reactivate.error} />}
    </Section>
  );
}

type StateButtonProps = {
  webhook: Webhook;
  reactivate: { isPending: boolean; mutate: (input: undefined) => void };
};

/** Only deactivating asks. One button for both, so that it keeps the focus. */
function StateButton({ webhook: { active }, reactivate }: StateButtonProps) {
  const id = useWebhookId();
  const button = useRef<HTMLButtonElement>(null);
  const deactivate = useWrite(() => updateWebhook(id, { active: false }), appChanges, {
    done: () => {
      toastSuccess('The webhook is deactivated.');
      moveFocus(button.current);
    },
  });
  const { isPending: busy, mutate } = reactivate;
  const whenInactive = { variant: 'filled', busy, onClick: () => mutate(undefined) };
  return (
    <Confirm
      button={{
        ref: button,
        children: active ? 'Deactivate' : 'Reactivate',
        ...(!active && whenInactive),
      }}
      title="Deactivate this webhook?"
      action="Deactivate"
      write={deactivate}
    >
      <Text size="sm">
        No events are sent until you reactivate it, and pending deliveries are cancelled now. You
        can recover them afterwards, and read the events you missed from the API.
      </Text>
    </Confirm>
  );
}

function Failing({ webhook, mayChange }: Props) {
  return (
    <Alert color="orange" title={describeFailures(webhook)}>
      <Text size="sm">
        All attempts failed. If this continues, the webhook is deactivated. Check the recent
        deliveries for the reason{mayChange && ', and send a test once it is fixed'}: the next
        successful delivery resets the count.
      </Text>
    </Alert>
  );
}

function Deactivated({ webhook: { deactivatedAt, deactivatedReason }, mayChange }: Props) {
  const reason = deactivatedReason ?? 'owner';
  const isByOwner = reason === 'owner';
  return (
    <Alert color={isByOwner ? 'gray' : 'red'} title={`Deactivated: ${deactivationReasons[reason]}`}>
      <Stack gap="xs">
        <Text size="sm">
          {deactivatedAt && (
            <>
              Deactivated <Time at={deactivatedAt} exact />.{' '}
            </>
          )}
          Pending deliveries were cancelled, and events since then are not sent.
        </Text>
        {mayChange && <Steps isByOwner={isByOwner} />}
      </Stack>
    </Alert>
  );
}

function Steps({ isByOwner }: { isByOwner: boolean }) {
  return (
    <List size="sm" type="ordered" spacing={2} c="var(--mantine-color-text)">
      {!isByOwner && <List.Item>Check the recent deliveries to see why they failed.</List.Item>}
      {!isByOwner && <List.Item>Send a test. You can test a deactivated webhook.</List.Item>}
      <List.Item>Reactivate it with the button above.</List.Item>
      <List.Item>
        <PageLink to="deliveries">Recover failed deliveries</PageLink> of the last 14 days.
      </List.Item>
    </List>
  );
}
