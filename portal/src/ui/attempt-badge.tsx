import { Badge } from '@mantine/core';
import type { Attempt } from '../api/types.ts';
import { describeAttempt } from './describe-attempt.ts';

/** Shows if an attempt succeeded or failed. */
export function AttemptBadge({
  attempt,
}: {
  attempt: Pick<Attempt, 'statusCode' | 'error' | 'durationMs'>;
}) {
  const hasSucceeded = describeAttempt(attempt).outcome === 'succeeded';
  return (
    <Badge color={hasSucceeded ? 'green.9' : 'red.9'} variant="filled">
      {hasSucceeded ? 'Succeeded' : 'Failed'}
    </Badge>
  );
}
