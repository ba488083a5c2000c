import { Alert, Group, Stack, Text } from '@mantine/core';
import type { Attempt } from '../api/types.ts';
import { AttemptBadge } from './attempt-badge.tsx';
import { describeAttempt } from './describe-attempt.ts';
import { CodeBlock } from './code-block.tsx';
import { formatDuration } from './format-duration.ts';
import { HeaderList } from './header-list.tsx';
import { Time } from './time.tsx';

/** Shows one attempt: its time, duration, result, advice and response. */
export function AttemptDetail({ attempt }: { attempt: Attempt }) {
  const { title, advice } = describeAttempt(attempt);
  return (
    <Stack gap="sm">
      <Group gap="sm">
        <AttemptBadge attempt={attempt} />
        <Text size="sm" fw={600}>
          {title}
        </Text>
        <Text size="sm" c="dimmed">
          <Time at={attempt.startedAt} exact />, took {formatDuration(attempt.durationMs)}
        </Text>
      </Group>
      {advice && (
        <Alert color="orange" variant="outline" title="What to check">
          <Text size="sm">{advice}</Text>
        </Alert>
      )}
      <Response attempt={attempt} />
    </Stack>
  );
}

function Response({
  attempt: { responseHeaders, responseBody, statusCode },
}: {
  attempt: Attempt;
}) {
  if (statusCode === null)
    return (
      <Text size="sm" c="dimmed">
        There was no response.
      </Text>
    );
  return (
    <Stack gap="sm">
      <HeaderList label="Response headers" headers={responseHeaders ?? {}} />
      {responseBody ? (
        <CodeBlock
          label={`Response body${isCut(responseBody) ? ', first 4 KiB' : ''}`}
          text={responseBody}
          maxHeight={240}
          wrap
        />
      ) : (
        <Text size="sm" c="dimmed">
          Response body: empty.
        </Text>
      )}
    </Stack>
  );
}

/** The service stores at most this much of a response body. */
const keptBytesMax = 4 * 1024;

/** A body of the maximum length was most likely longer. Invalid UTF-8 takes more bytes after decoding. */
function isCut(body: string): boolean {
  return new TextEncoder().encode(body).length >= keptBytesMax;
}
