import { Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { status } from '../api/public-api.ts';
import type { Attempt, DeliveryDetail } from '../api/types.ts';
import { CodeBlock } from './code-block.tsx';
import { HeaderList } from './header-list.tsx';
import { requestHeaders } from './request-headers.ts';

/** The request of an attempt: its headers as far as they are kept, and the bytes of its body as text. */
export function RequestSent({ delivery, attempt }: { delivery: DeliveryDetail; attempt: Attempt }) {
  const { data } = useQuery(status());
  return (
    <Stack gap="sm">
      <HeaderList
        label="Request headers"
        headers={requestHeaders(delivery, attempt, data?.version ?? null)}
      />
      <Text size="sm" c="dimmed">
        As recorded: signatures are not kept, and webhook-timestamp is when the attempt began.
      </Text>
      {delivery.body === null ? (
        <Text size="sm" c="dimmed">
          Request body: not shown, because the app may no longer have this event.
        </Text>
      ) : (
        <CodeBlock label="Request body" text={delivery.body} maxHeight={240} wrap />
      )}
    </Stack>
  );
}
