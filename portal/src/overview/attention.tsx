/** The lists of what needs attention: webhooks that fail, and keys that expire. */
import { Badge, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { ExpiringKey, TroubledWebhook } from '../api/types.ts';
import { nameOfKey } from '../keys/key-state.ts';
import { Note } from '../ui/note.tsx';
import { PageLink } from '../ui/page-link.tsx';
import { Section } from '../ui/section.tsx';
import { Time } from '../ui/time.tsx';
import { deactivationReasons, describeFailures } from '../webhooks/describe-webhook.ts';

export function TroubledWebhooks({ webhooks }: { webhooks: TroubledWebhook[] }) {
  return (
    <Attention
      title="Webhooks that need attention"
      nothing="No webhooks are failing or deactivated."
      entries={webhooks.map((webhook) => (
        <li key={webhook.webhookId}>
          <PageLink to={`/apps/${webhook.appId}/webhooks/${webhook.webhookId}`}>
            {webhook.host}
          </PageLink>{' '}
          <Note span>of {webhook.appName}</Note>
          <Text size="sm">
            {describeTrouble(webhook)} {webhook.since && <Time at={webhook.since} />}
          </Text>
        </li>
      ))}
    />
  );
}

function describeTrouble({ state, reason, exhaustedInARow }: TroubledWebhook): string {
  return state === 'failing'
    ? `Failing: ${describeFailures({ exhaustedInARow })}`
    : `Deactivated: ${deactivationReasons[reason ?? 'owner']},`;
}

export function ExpiringKeys({ keys }: { keys: ExpiringKey[] }) {
  return (
    <Attention
      title="Expiring keys"
      nothing="No keys expire within 14 days."
      entries={keys.map((key) => (
        <li key={key.keyId}>
          <PageLink to={`/apps/${key.appId}/keys`}>{nameOfKey(key)}</PageLink>{' '}
          <Note span>of {key.appName}</Note>
          <Text size="sm">
            Expires <Time at={key.expiresAt} />. Rotate it before then.
          </Text>
        </li>
      ))}
    />
  );
}

type Props = {
  title: string;
  /** The text for an empty list. */
  nothing: string;
  entries: ReactNode[];
};

function Attention({ title, nothing, entries }: Props) {
  const count = entries.length;
  return (
    <Section
      title={title}
      actions={
        count > 0 && (
          <Badge color="red.9" circle={count < 10}>
            {count}
          </Badge>
        )
      }
    >
      {count === 0 ? <Text c="dimmed">{nothing}</Text> : <ul className="plain-list">{entries}</ul>}
    </Section>
  );
}
