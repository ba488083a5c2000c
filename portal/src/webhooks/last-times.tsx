import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Webhook } from '../api/types.ts';
import { Time } from '../ui/time.tsx';

/** When a webhook last took a delivery, and when it last did not. */
export function LastTimes({ webhook: { lastSuccessAt, lastFailureAt } }: { webhook: Webhook }) {
  return (
    <Text size="sm" c="dimmed">
      Last success: {timeOr(lastSuccessAt)}. Last failure: {timeOr(lastFailureAt)}.
    </Text>
  );
}

function timeOr(at: string | null): ReactNode {
  return at === null ? 'never' : <Time at={at} />;
}
