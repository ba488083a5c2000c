import { Divider, Stack, Title } from '@mantine/core';
import type { DeliveryDetail } from '../api/types.ts';
import { SentRequest } from '../deliveries/sent-request.tsx';
import { AttemptDetail } from '../ui/attempt-detail.tsx';

/** Shows the response to a test, then the request. */
export function TestResult({ delivery, url }: { delivery: DeliveryDetail; url: string }) {
  const attempt = delivery.attempts.at(-1);
  if (!attempt) return null;
  return (
    <Stack>
      <Divider />
      <Title order={3} size="h5">
        Response of your server
      </Title>
      <AttemptDetail attempt={attempt} />
      {delivery.body !== null && (
        <>
          <Title order={3} size="h5">
            Request
          </Title>
          <SentRequest delivery={delivery} body={delivery.body} url={url} />
        </>
      )}
    </Stack>
  );
}
