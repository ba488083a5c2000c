import { Anchor, Group, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { RotateCw } from 'lucide-react';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { attemptsMaxInWords } from '../../../service/src/contract/delivery-rules.ts';
import { delivery as deliveryOperation, redeliver, type DeliveryId } from '../api/operations.ts';
import { useWrite } from '../api/use-write.ts';
import type { DeliveryDetail, Webhook } from '../api/types.ts';
import { describeAttempt } from '../ui/describe-attempt.ts';
import { Problem } from '../ui/problem.tsx';
import { useWebhookId, webhookChanges } from '../webhooks/use-webhook-id.ts';
import { BusyButton } from '../ui/busy-button.tsx';

/** Sends the delivery again and shows the result. The page polls while it is pending. */
export function Redeliver({
  id,
  delivery,
  webhook,
}: {
  id: DeliveryId;
  delivery: DeliveryDetail;
  webhook: Webhook | undefined;
}) {
  const { page: root } = useWebhookId();
  const client = useQueryClient();
  const write = useWrite(async () => {
    // Stores the pending delivery at once, so that the page polls it even if the refetch fails.
    client.setQueryData(deliveryOperation(id).queryKey, await redeliver(id));
  }, webhookChanges);
  const refusal = refusalOf(delivery, webhook, root);
  return (
    <Stack gap="xs" align="flex-start">
      <Group gap="sm">
        <BusyButton
          leftSection={<RotateCw size={16} aria-hidden />}
          busy={write.isPending}
          disabled={refusal !== null}
          onClick={() => write.mutate()}
          aria-describedby="redeliver-said"
        >
          Redeliver
        </BusyButton>
        <Text size="sm" c="dimmed" id="redeliver-said" flex="1 1 14rem">
          {refusal ?? `Keeps the id and the body, with up to ${attemptsMaxInWords} new attempts.`}
        </Text>
      </Group>
      {write.isError && <Problem error={write.error} />}
      <Text size="sm" role="status">
        {write.isSuccess && answerOf(delivery)}
      </Text>
    </Stack>
  );
}

/** The reason why the delivery cannot be sent again, or null. */
function refusalOf(
  { status, event, body }: DeliveryDetail,
  webhook: Webhook | undefined,
  root: string,
): ReactNode {
  if (status === 'pending') return 'This delivery is pending and is retried automatically.';
  if (event === 'webhook.test')
    return (
      <>
        Tests can't be redelivered.{' '}
        <Anchor component={Link} to={root} inherit>
          Send a new one
        </Anchor>
      </>
    );
  if (body === null) return 'The app can no longer get this event.';
  if (webhook && !webhook.active)
    return (
      <>
        The webhook is disabled.{' '}
        <Anchor component={Link} to={root} inherit>
          Resume or reactivate it first
        </Anchor>
      </>
    );
  return null;
}

function answerOf({ status, attempts }: DeliveryDetail): string {
  if (status === 'pending') return 'Sent again. This page updates until it ends.';
  const last = attempts.at(-1);
  const said = last ? `: ${describeAttempt(last).title}` : '';
  return status === 'succeeded' ? `Delivered${said}` : `Delivery failed${said}`;
}
