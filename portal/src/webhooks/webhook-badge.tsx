import { Badge } from '@mantine/core';
import type { Webhook } from '../api/types.ts';
import { stateOf, type WebhookState } from './webhook-words.ts';

const shown: Record<WebhookState, { word: string; color: string }> = {
  active: { word: 'Active', color: 'green.9' },
  failing: { word: 'Failing', color: 'red.9' },
  deactivated: { word: 'Deactivated', color: 'red.9' },
  paused: { word: 'Paused', color: 'gray.7' },
};

export function WebhookBadge({ webhook }: { webhook: Webhook }) {
  const { word, color } = shown[stateOf(webhook)];
  return (
    <Badge color={color} variant="filled">
      {word}
    </Badge>
  );
}
