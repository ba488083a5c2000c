import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Webhook } from '../api/types.ts';
import { Time } from '../ui/time.tsx';

/** Shows the times of the last success and the last failure. */
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
