import { Group, Text } from '@mantine/core';
import { useNavigate } from 'react-router';
import { deleteWebhook } from '../api/operations.ts';
import type { Webhook } from '../api/types.ts';
import { appChanges, useWrite } from '../api/use-write.ts';
import { Confirm } from '../ui/confirm.tsx';
import { Section } from '../ui/section.tsx';
import { toastSuccess } from '../ui/toast.ts';
import { useWebhookId } from './use-webhook-id.ts';

export function DeleteWebhook({ webhook }: { webhook: Webhook }) {
  const id = useWebhookId();
  const navigate = useNavigate();
  const write = useWrite(() => deleteWebhook(id), appChanges, {
    gone: id.page,
    done: () => {
      toastSuccess('Webhook deleted.');
      void navigate(id.list, { replace: true });
    },
  });
  return (
    <Section
      title="Delete this webhook"
      lead="Pending deliveries are cancelled, and past deliveries can no longer be read. To stop deliveries for a while, deactivate the webhook instead."
    >
      <Group>
        <Confirm
          button={{ children: 'Delete webhook', variant: 'outline', color: 'red' }}
          title="Delete this webhook?"
          action="Delete webhook"
          write={write}
        >
          <Text size="sm">
            Nothing more is sent to {webhook.url}, including pending deliveries. This can't be
            undone.
          </Text>
        </Confirm>
      </Group>
    </Section>
  );
}
