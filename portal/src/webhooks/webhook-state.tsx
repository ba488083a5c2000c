import { Badge } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Webhook } from '../api/types.ts';
import { Note } from '../ui/note.tsx';
import { Time } from '../ui/time.tsx';
import { lookOf } from './describe-webhook.ts';

export function WebhookBadge({ webhook: { health, deactivatedReason } }: { webhook: Webhook }) {
  if (!health) return null;
  const { label, color, quiet } = lookOf(health, deactivatedReason);
  const look = quiet ? { variant: 'dot', color } : { color: `${color}.9` };
  return (
    // Without a least width, a column of a table leaves it no room.
    <Badge miw="max-content" {...look}>
      {label}
    </Badge>
  );
}

export function LastTimes({ webhook: { lastSuccessAt, lastFailureAt } }: { webhook: Webhook }) {
  return (
    <Note>
      Last success: {timeOr(lastSuccessAt)}. Last failure: {timeOr(lastFailureAt)}.
    </Note>
  );
}

export function timeOr(at: string | null): ReactNode {
  return at === null ? 'never' : <Time at={at} />;
}
