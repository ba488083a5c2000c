import { Anchor, Button, Stack } from '@mantine/core';
import { Link } from 'react-router';
import { path } from '../api/call.ts';
import { testWebhook, type WebhookId } from '../api/operations.ts';
import { useWrite } from '../api/use-write.ts';
import { Empty } from '../shown/empty.tsx';
import { Problem } from '../shown/problem.tsx';

/** How to get a first one. */
export function NoDeliveries({ id }: { id: WebhookId }) {
  const test = useWrite(
    () => testWebhook(id, null),
    [path('apps', id.appId, 'webhooks', id.webhookId)],
  );
  return (
    <Empty
      title="No deliveries yet"
      action={
        <Stack gap="sm" align="flex-start">
          {test.isError && <Problem error={test.error} />}
          <Button loading={test.isPending} onClick={() => test.mutate(undefined)}>
            Send a test
          </Button>
        </Stack>
      }
    >
      Each event that is sent to this webhook appears here, with every attempt and every answer.
      Send a test to see one now, or wait for one of{' '}
      <Anchor component={Link} to={`/events?app=${id.appId}`}>
        the events
      </Anchor>
      .
    </Empty>
  );
}
