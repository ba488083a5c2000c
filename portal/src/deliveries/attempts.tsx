import { Text } from '@mantine/core';
import type { Attempt, DeliveryDetail } from '../api/types.ts';
import { AttemptDetail } from '../ui/attempt-detail.tsx';
import { describeAttempt } from '../ui/describe-attempt.ts';
import { formatDuration, formatSpan } from '../ui/format-duration.ts';
import { Fold } from '../ui/fold.tsx';
import { CircleCheck, CircleX } from '../ui/icons.tsx';
import { Time } from '../ui/time.tsx';
import classes from './attempts.module.css';

const triggers: Record<Attempt['trigger'], string> = {
  event: 'triggered by the event',
  test: 'as a test',
  redelivery: 'sent again',
};

type Props = Pick<DeliveryDetail, 'attempts' | 'status' | 'event'>;

/** Lists all attempts, newest first, because the last one matters most. */
export function Attempts({ attempts, status, event }: Props) {
  if (attempts.length === 0)
    return (
      <Text c="dimmed">
        {status === 'pending'
          ? 'None yet. The first attempt appears here when it ends.'
          : 'No attempts were made.'}
      </Text>
    );
  return (
    <ol className={classes['timeline']} role="list">
      {attempts.toReversed().map((attempt, index) => (
        <li key={attempt.number}>
          <Mark attempt={attempt} />
          <Fold
            title={`Attempt ${attempt.number}`}
            summary={
              <Summary
                attempt={attempt}
                cause={event === 'webhook.probe' ? 'as a probe' : triggers[attempt.trigger]}
                before={attempts[attempts.indexOf(attempt) - 1]}
              />
            }
            open={index === 0}
          >
            <AttemptDetail attempt={attempt} />
          </Fold>
        </li>
      ))}
    </ol>
  );
}

/** The text next to it says the same. */
function Mark({ attempt }: { attempt: Attempt }) {
  const hasFailed = describeAttempt(attempt).outcome === 'failed';
  const Icon = hasFailed ? CircleX : CircleCheck;
  return (
    <Icon
      size={18}
      aria-hidden
      className={classes['mark'] ?? ''}
      color={`var(--mantine-color-${hasFailed ? 'red' : 'green'}-text)`}
    />
  );
}

type SummaryProps = {
  attempt: Attempt;
  cause: string;
  /** Undefined for the first. */
  before: Attempt | undefined;
};

function Summary({ attempt, cause, before }: SummaryProps) {
  const { startedAt, durationMs } = attempt;
  return (
    <>
      {describeAttempt(attempt).title}, {cause}, <Time at={startedAt} />
      {before && ` (${formatSpan(Date.parse(startedAt) - Date.parse(before.startedAt))} later)`},
      took {formatDuration(durationMs)}
    </>
  );
}
