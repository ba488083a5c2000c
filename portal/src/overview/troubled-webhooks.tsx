import { Anchor, Text } from '@mantine/core';
import { Link } from 'react-router';
import type { TroubledWebhook } from '../api/types.ts';
import { Time } from '../ui/time.tsx';
import { Attention } from './attention.tsx';

export function TroubledWebhooks({ webhooks }: { webhooks: TroubledWebhook[] }) {
  return (
    <Attention
      title="Webhooks that need attention"
      nothing="No webhooks are failing or deactivated."
      entries={webhooks.map((webhook) => (
        <li key={webhook.webhookId}>
          <Anchor component={Link} to={`/apps/${webhook.appId}/webhooks/${webhook.webhookId}`}>
            {webhook.host}
          </Anchor>{' '}
          <Text span c="dimmed" size="sm">
            of {webhook.appName}
          </Text>
          <Text size="sm">
            {describeTrouble(webhook)}
            {webhook.since && (
              <>
                {' '}
                <Time at={webhook.since} />
              </>
            )}
          </Text>
        </li>
      ))}
    />
  );
}

function describeTrouble({ state, reason, exhaustedInARow }: TroubledWebhook): string {
  if (state === 'failing')
    return `Failing: ${exhaustedInARow} ${exhaustedInARow === 1 ? 'delivery' : 'deliveries'} failed since the last success`;
  if (reason === 'gone') return 'Deactivated after a 410 Gone response';
  if (reason === 'owner') return 'Paused by you';
  return 'Deactivated after too many failed deliveries';
}
