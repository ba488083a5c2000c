import { Anchor, Stack } from '@mantine/core';
import { Link } from 'react-router';
import { testWebhook, type WebhookId } from '../api/operations.ts';
import { useWrite } from '../api/use-write.ts';
import { Empty } from '../ui/empty.tsx';
import { Problem } from '../ui/problem.tsx';
import { useWebhookId } from '../webhooks/use-webhook-id.ts';
import { BusyButton } from '../ui/busy-button.tsx';

/** Shown for an empty list, with a button that sends a test. */
export function NoDeliveries({ id, sent }: { id: WebhookId; sent: () => void }) {
  const { page } = useWebhookId();
  const test = useWrite(() => testWebhook(id, null), [page], {
    done: () => {
      // The button that had the focus is gone, unless the user has moved on.
      if (document.activeElement === document.body) sent();
    },
  });
  return (
    <Empty
      title="No deliveries yet"
      action={
        <Stack gap="sm" align="flex-start">
          {test.isError && <Problem error={test.error} />}
          <BusyButton busy={test.isPending} onClick={() => test.mutate()}>
            Send a test
          </BusyButton>
        </Stack>
      }
    >
      Every event sent to this webhook appears here, with all attempts and responses. Send a test to
      see one now, or wait for one of{' '}
      <Anchor component={Link} to={`/events?app=${id.appId}`}>
        the events
      </Anchor>
      .
    </Empty>
  );
}
