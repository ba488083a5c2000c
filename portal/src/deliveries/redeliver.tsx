import { Group, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { RotateCw } from '../ui/icons.tsx';
import type { ReactNode } from 'react';
import { attemptsMaxInWords } from '../../../service/src/contract/delivery-rules.ts';
import { delivery as deliveryOperation, redeliver, type DeliveryId } from '../api/operations.ts';
import type { DeliveryDetail, Webhook } from '../api/types.ts';
import { appChanges, useWrite } from '../api/use-write.ts';
import { BusyButton } from '../ui/busy-button.tsx';
import { describeAttempt } from '../ui/describe-attempt.ts';
import { Note } from '../ui/note.tsx';
import { PageLink } from '../ui/page-link.tsx';
import { Problem } from '../ui/problem.tsx';
import { useWebhookId } from '../webhooks/use-webhook-id.ts';

export type DeliveryProps = {
  id: DeliveryId;
  delivery: DeliveryDetail;
  /** Undefined while loading. */
  webhook: Webhook | undefined;
};

/** Sends the delivery again and shows the result. The page polls while it is pending. */
export function Redeliver({ id, delivery, webhook }: DeliveryProps) {
  const { page } = useWebhookId();
  const client = useQueryClient();
  const write = useWrite(async () => {
    // Stores the pending delivery at once, so that the page polls it even if the refetch fails.
    client.setQueryData(deliveryOperation(id).queryKey, await redeliver(id));
  }, appChanges);
  const refusal = refusalOf(delivery, webhook, page);
  return (
    <Stack gap="xs" align="flex-start">
      <Group gap="sm">
        <BusyButton
          leftSection={<RotateCw size={16} aria-hidden />}
          busy={write.isPending}
          disabled={refusal !== null}
          onClick={() => write.mutate(undefined)}
          aria-describedby="redeliver-note"
        >
          Redeliver
        </BusyButton>
        <Note id="redeliver-note" flex="1 1 14rem">
          {refusal ?? `Keeps the id and the body, with up to ${attemptsMaxInWords} new attempts.`}
        </Note>
      </Group>
      {write.isError && <Problem error={write.error} />}
      <Text size="sm" role="status">
        {write.isSuccess && describeResult(delivery)}
      </Text>
    </Stack>
  );
}

/** The reason why the delivery cannot be sent again, or null. */
function refusalOf(
  { status, event, body }: DeliveryDetail,
  webhook: Webhook | undefined,
  page: string,
): ReactNode {
  if (status === 'pending') return 'This delivery is pending and is retried automatically.';
  if (event === 'webhook.probe') return "Probes can't be redelivered.";
  if (event === 'webhook.test')
    return (
      <>
        Tests can't be redelivered. <PageLink to={`${page}/test`}>Send a new one</PageLink>
      </>
    );
  if (body === null) return 'The app can no longer get this event.';
  if (webhook && !webhook.active)
    return (
      <>
        The webhook is deactivated. <PageLink to={page}>Reactivate it first</PageLink>
      </>
    );
  return null;
}

function describeResult({ status, attempts }: DeliveryDetail): string {
  if (status === 'pending') return 'Sent again. This page updates until it ends.';
  const last = attempts.at(-1);
  const attempt = last ? `: ${describeAttempt(last).title}` : '';
  return status === 'succeeded' ? `Delivered${attempt}` : `Delivery failed${attempt}`;
}
