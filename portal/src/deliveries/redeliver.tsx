import { Group, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { RotateCw } from '../ui/icons.tsx';
import { attemptsMaxInWords } from '../../../service/src/contract/delivery-rules.ts';
import {
  delivery as deliveryOperation,
  redeliver,
  testWebhook,
  type DeliveryId,
} from '../api/operations.ts';
import type { DeliveryDetail, Webhook } from '../api/types.ts';
import { appChanges, useWrite } from '../api/use-write.ts';
import { BusyButton } from '../ui/busy-button.tsx';
import { describeAttempt } from '../ui/describe-attempt.ts';
import { Note } from '../ui/note.tsx';
import { PageLink } from '../ui/page-link.tsx';
import { Problem } from '../ui/problem.tsx';
import { isMessage } from './request-headers.ts';

export type DeliveryProps = {
  id: DeliveryId;
  delivery: DeliveryDetail;
  /** Undefined while loading. */
  webhook: Webhook | undefined;
};

/** The key `r` presses it. */
export const sendAgainId = 'send-again';

/**
 * Sends the delivery again and shows the result; what shows the delivery polls while it is pending. A deactivated webhook
 * gets a test with the event's sample instead.
 */
export function Redeliver({ id, delivery, webhook }: DeliveryProps) {
  const client = useQueryClient();
  const page = `/apps/${id.appId}/webhooks/${id.webhookId}`;
  const isTest = webhook?.active === false && isEvent(delivery);
  const write = useWrite(async () => {
    if (isTest) return testWebhook(id, delivery.event);
    const queued = await redeliver(id);
    // Stores the pending delivery at once, so that it is polled even if the refetch fails.
    client.setQueryData(deliveryOperation(id).queryKey, queued);
    return null;
  }, appChanges);
  const refusal = refusalOf(delivery, page);
  const note =
    isTest && 'The webhook is deactivated, so this sends a test with the sample of the event.';
  return (
    <Stack gap={4}>
      <Group gap="sm">
        <BusyButton
          id={sendAgainId}
          size="xs"
          leftSection={<RotateCw size={14} aria-hidden />}
          busy={write.isPending}
          disabled={refusal !== null}
          onClick={() => write.mutate(undefined)}
          aria-describedby="redeliver-note"
          {...(!isTest && {
            title: `Keeps the id and the body, with up to ${attemptsMaxInWords} new attempts`,
          })}
        >
          {isTest ? 'Send a test' : 'Send again'}
        </BusyButton>
        <Note size="xs" id="redeliver-note">
          {refusal ?? note}
        </Note>
        <Text size="sm" role="status">
          {write.isSuccess && (write.data ? describeTest(write.data) : describeResult(delivery))}
        </Text>
      </Group>
      {write.isError && <Problem error={write.error} />}
    </Stack>
  );
}

function isEvent({ event }: Pick<DeliveryDetail, 'event'>): boolean {
  return event !== 'webhook.probe' && event !== 'webhook.test';
}

/** The reason why the delivery cannot be sent again, or null. */
function refusalOf({ status, event, body }: DeliveryDetail, page: string): ReactNode {
  if (status === 'pending') return 'This delivery is pending and is retried automatically.';
  if (event === 'webhook.probe') return "Probes can't be sent again.";
  if (event === 'webhook.test')
    return (
      <>
        Tests can't be sent again. <PageLink to={`${page}/test`}>Send a new one</PageLink>
      </>
    );
  if (body === null) return 'The app can no longer get this event.';
  return null;
}

function describeTest(delivery: DeliveryDetail): string {
  const last = describeLast(delivery);
  return last ? `Test: ${last}` : 'The test was not sent.';
}

function describeResult(delivery: DeliveryDetail): string {
  const { status } = delivery;
  if (status === 'pending') return 'Sent again. The result appears here.';
  const last = describeLast(delivery);
  const attempt = last ? `: ${last}` : '';
  return status === 'succeeded' ? `Delivered${attempt}` : `Delivery failed${attempt}`;
}

function describeLast(delivery: DeliveryDetail): string | undefined {
  const last = delivery.attempts.at(-1);
  return last && describeAttempt(last, isMessage(delivery)).title;
}
