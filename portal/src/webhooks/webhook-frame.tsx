import { Anchor, Group, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { describeHealth } from '../../../service/src/contract/webhook-in-words.ts';
import { webhook as webhookOperation } from '../api/operations.ts';
import type { Webhook } from '../api/types.ts';
import { can } from '../apps/can.ts';
import { useApp } from '../apps/use-app.ts';
import { PageTabs } from '../layout/page-tabs.tsx';
import { Page } from '../layout/page.tsx';
import { capitalise } from '../ui/capitalise.ts';
import { isGone, Loaded } from '../ui/loaded.tsx';
import { isChat, nameOf } from './describe-webhook.ts';
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

/** Messages for a chat channel are not signed. */
const tabsOf = (webhook: Webhook | undefined) =>
  webhook && isChat(webhook) ? tabs.filter(({ below }) => below !== '/signing') : tabs;

export type WebhookTabProps = { webhook: Webhook; mayChange: boolean };

type Props = { tab: string; children: (props: WebhookTabProps) => ReactNode };

/** Loads the webhook of the address, and frames each of its tabs with its name, its state and the tabs. */
export function WebhookFrame({ tab, children }: Props) {
  const id = useWebhookId();
  const mayChange = can(useApp(), 'changeWebhooks');
  const query = useQuery({ ...webhookOperation(id), refetchInterval: refreshMs });
  const isMissing = isGone(query.error);
  const webhook = isMissing ? undefined : query.data;
  // Deliveries come first on their page: the advice is one click away there.
  const [isAdvised, { toggle }] = useDisclosure(tab !== 'Deliveries');
  return (
    <Page
      title={webhook ? nameOf(webhook) : isMissing ? 'No such webhook' : 'Webhook'}
      tab={tab}
      lead={
        webhook && (
          <State webhook={webhook}>
            <Reason webhook={webhook} isAdvised={isAdvised} toggle={toggle} />
          </State>
        )
      }
      crumbs={useWebhookCrumbs().slice(0, -1)}
      actions={webhook && mayChange && <WebhookActions webhook={webhook} />}
    >
      {webhook && (isAdvised || webhook.suspendedAt !== null) && (
        <WebhookTrouble webhook={webhook} mayChange={mayChange} />
      )}
      {!isMissing && <PageTabs label="Webhook sections" root={id.page} tabs={tabsOf(webhook)} />}
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

function State({ webhook, children }: { webhook: Webhook; children: ReactNode }) {
  return (
    <Group gap="4px 12px">
      <WebhookBadge webhook={webhook} />
      {children}
      <Text size="sm" ff="monospace">
        {webhook.url}
      </Text>
      <LastTimes webhook={webhook} />
    </Group>
  );
}

type ReasonProps = { webhook: Webhook; isAdvised: boolean; toggle: () => void };

/** Why it is not healthy, which opens and closes what to do. */
function Reason({ webhook, isAdvised, toggle }: ReasonProps) {
  const reason = describeHealth({ ...webhook, reason: webhook.deactivatedReason });
  if (reason === null || webhook.suspendedAt !== null) return null;
  return (
    <Anchor component="button" size="sm" onClick={toggle} aria-expanded={isAdvised}>
      {capitalise(reason)}
    </Anchor>
  );
}
