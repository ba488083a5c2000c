import { Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { webhook as webhookOperation } from '../api/operations.ts';
import type { Webhook } from '../api/types.ts';
import { can } from '../apps/can.ts';
import { useApp } from '../apps/use-app.ts';
import { PageTabs } from '../layout/page-tabs.tsx';
import { Page } from '../layout/page.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { nameOf } from './describe-webhook.ts';
import { useWebhookCrumbs, useWebhookId } from './use-webhook-id.ts';
import { WebhookActions, WebhookTrouble } from './webhook-health.tsx';
import { WebhookRoleNote } from './webhook-role-note.tsx';
import { LastTimes, WebhookBadge } from './webhook-state.tsx';

/** The polling interval while the page is visible. */
const refreshMs = 15_000;

const tabs = [
  { below: '/deliveries', title: 'Deliveries' },
  { below: '/settings', title: 'Settings' },
  { below: '/signing', title: 'Signing' },
  { below: '/test', title: 'Test' },
];

export type WebhookTabProps = { webhook: Webhook; mayChange: boolean };

type Props = { tab: string; children: (props: WebhookTabProps) => ReactNode };

/** Loads the webhook of the address, and frames each of its tabs with its name, its state and the tabs. */
export function WebhookFrame({ tab, children }: Props) {
  const id = useWebhookId();
  const mayChange = can(useApp(), 'changeWebhooks');
  const query = useQuery({ ...webhookOperation(id), refetchInterval: refreshMs });
  const webhook = query.data;
  return (
    <Page
      title={webhook ? nameOf(webhook) : 'Webhook'}
      tab={tab}
      lead={webhook && <State webhook={webhook} />}
      crumbs={useWebhookCrumbs().slice(0, -1)}
      actions={webhook && mayChange && <WebhookActions webhook={webhook} />}
    >
      {webhook && <WebhookTrouble webhook={webhook} mayChange={mayChange} />}
      <PageTabs label="Webhook sections" root={id.page} tabs={tabs} />
      <Loaded query={query}>
        {(data) => (
          <>
            <WebhookRoleNote />
            {children({ webhook: data, mayChange })}
          </>
        )}
      </Loaded>
    </Page>
  );
}

function State({ webhook }: { webhook: Webhook }) {
  return (
    <Group gap="4px 12px">
      <WebhookBadge webhook={webhook} />
      <Text size="sm" ff="monospace">
        {webhook.url}
      </Text>
      <LastTimes webhook={webhook} />
    </Group>
  );
}
