import { Divider, Stack, Title } from '@mantine/core';
import type { DeliveryDetail } from '../api/types.ts';
import { AttemptDetail } from '../shown/attempt-detail.tsx';
import { RequestSent } from '../shown/request-sent.tsx';

/** What a test came to: the answer first, then what was sent. */
export function TestResult({ delivery }: { delivery: DeliveryDetail }) {
  const attempt = delivery.attempts.at(-1);
  if (!attempt) return null;
  return (
    <Stack>
      <Divider />
      <Title order={3} size="h5">
        The answer of your server
      </Title>
      <AttemptDetail attempt={attempt} />
      <Title order={3} size="h5">
        What was sent
      </Title>
      <RequestSent delivery={delivery} attempt={attempt} />
    </Stack>
  );
}
