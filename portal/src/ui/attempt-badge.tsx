import { Badge } from '@mantine/core';
import type { Attempt } from '../api/types.ts';
import { describeAttempt } from './describe-attempt.ts';

/** Whether an attempt succeeded, in a word, with a colour beside it. */
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
