import { Button, Group, Text } from '@mantine/core';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { deleteWebhook } from '../api/operations.ts';
import type { Webhook } from '../api/types.ts';
import { useWrite } from '../api/use-write.ts';
import { Confirm } from '../ui/confirm.tsx';
import { toastSuccess } from '../ui/toast.ts';
import { Section } from '../ui/section.tsx';
import { useWebhookId, webhookChanges } from './use-webhook-id.ts';

export function DeleteWebhook({ webhook }: { webhook: Webhook }) {
  const id = useWebhookId();
  const navigate = useNavigate();
  const [isAsking, setIsAsking] = useState(false);
  const write = useWrite(async () => deleteWebhook(id), webhookChanges, {
    gone: id.page,
    done: () => {
      toastSuccess('The webhook is deleted.');
      void navigate(id.list, { replace: true });
    },
  });

  return (
    <Section
      title="Delete this webhook"
      lead="Pending deliveries are cancelled, and past deliveries can no longer be read. To stop deliveries for a while, pause the webhook instead."
    >
      <Group>
        <Button variant="outline" color="red" onClick={() => setIsAsking(true)}>
          Delete webhook
        </Button>
      </Group>
      <Confirm
        opened={isAsking}
        title="Delete this webhook?"
        action="Delete webhook"
        busy={write.isPending}
        error={write.error}
        confirm={() => write.mutate(undefined)}
        close={() => {
          setIsAsking(false);
          write.reset();
        }}
      >
        <Text size="sm">
          Nothing more is sent to {webhook.url}, including pending deliveries. This can't be undone.
        </Text>
      </Confirm>
    </Section>
  );
}
