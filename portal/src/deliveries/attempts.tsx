import { Text } from '@mantine/core';
import type { Attempt, DeliveryDetail } from '../api/types.ts';
import { AttemptDetail } from '../ui/attempt-detail.tsx';
import { describeAttempt } from '../ui/describe-attempt.ts';
import { formatDuration } from '../ui/format-duration.ts';
import { Fold } from '../ui/fold.tsx';
import { Time } from '../ui/time.tsx';

const triggers: Record<Attempt['trigger'], string> = {
  event: 'triggered by the event',
  test: 'as a test',
  redelivery: 'sent again',
};

/** Lists all attempts, newest first, because the last one matters most. */
export function Attempts({ attempts, status }: Pick<DeliveryDetail, 'attempts' | 'status'>) {
  if (attempts.length === 0)
    return (
      <Text c="dimmed">
        {status === 'pending'
          ? 'None yet. The first attempt appears here when it ends.'
          : 'No attempts were made.'}
      </Text>
    );
  return (
    <ol className="plain-list" role="list">
      {attempts.toReversed().map((attempt, index) => (
        <li key={attempt.number}>
          <Fold
            title={`Attempt ${attempt.number}`}
            summary={<Summary attempt={attempt} />}
            open={index === 0}
          >
            <AttemptDetail attempt={attempt} />
          </Fold>
        </li>
      ))}
    </ol>
  );
}

function Summary({ attempt }: { attempt: Attempt }) {
  const { trigger, startedAt, durationMs } = attempt;
  return (
    <>
      {describeAttempt(attempt).title}, {triggers[trigger]}, <Time at={startedAt} />,{' '}
      {formatDuration(durationMs)}
    </>
  );
}
