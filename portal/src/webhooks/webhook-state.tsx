import { Badge } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Webhook } from '../api/types.ts';
import { Note } from '../ui/note.tsx';
import { Time } from '../ui/time.tsx';
import { stateOf, type WebhookState } from './describe-webhook.ts';

const badges: Record<WebhookState, { label: string; color: string }> = {
  active: { label: 'Active', color: 'green.9' },
  failing: { label: 'Failing', color: 'red.9' },
  deactivated: { label: 'Deactivated', color: 'gray.7' },
  suspended: { label: 'Suspended', color: 'red.9' },
};

export function WebhookBadge({ webhook }: { webhook: Webhook }) {
  const { label, color } = badges[stateOf(webhook)];
  return <Badge color={color}>{label}</Badge>;
}

export function LastTimes({ webhook: { lastSuccessAt, lastFailureAt } }: { webhook: Webhook }) {
  return (
    <Note>
      Last success: {timeOr(lastSuccessAt)}. Last failure: {timeOr(lastFailureAt)}.
    </Note>
  );
}

function timeOr(at: string | null): ReactNode {
  return at === null ? 'never' : <Time at={at} />;
}
