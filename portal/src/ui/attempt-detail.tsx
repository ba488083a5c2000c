import { Alert, Badge, Group, Stack, Text } from '@mantine/core';
import { keptBytesMax } from '../../../service/src/contract/delivery-rules.ts';
import type { Attempt } from '../api/types.ts';
import { describeAttempt } from './describe-attempt.ts';
import { CodeBlock } from './code-block.tsx';
import { formatDuration } from './format-duration.ts';
import { HeaderList } from './header-list.tsx';
import { Time } from './time.tsx';
import { Note } from './note.tsx';

/** Shows one attempt: its time, duration, result, advice and response. */
export function AttemptDetail({ attempt }: { attempt: Attempt }) {
  const { outcome, title, advice } = describeAttempt(attempt);
  return (
    <Stack gap="sm">
      <Group gap="sm">
        <Badge color={outcome === 'succeeded' ? 'green.9' : 'red.9'}>
          {outcome === 'succeeded' ? 'Succeeded' : 'Failed'}
        </Badge>
        <Text size="sm" fw={600}>
          {title}
        </Text>
        <Note>
          <Time at={attempt.startedAt} exact />, took {formatDuration(attempt.durationMs)}
        </Note>
      </Group>
      {advice && (
        <Alert color="orange" title="What to check">
          <Text size="sm">{advice}</Text>
        </Alert>
      )}
      <Response attempt={attempt} />
    </Stack>
  );
}

type Props = { attempt: Attempt };

function Response({ attempt: { responseHeaders, responseBody, statusCode } }: Props) {
  if (statusCode === null) return <Note>There was no response.</Note>;
  if (responseHeaders === null) return <Note>The response can't be shown to viewers.</Note>;
  return (
    <Stack gap="sm">
      <HeaderList label="Response headers" headers={responseHeaders} />
      {responseBody ? (
        <CodeBlock
          label={`Response body${isCut(responseBody) ? ', first ${keptBytesMax / 1024} KiB' : ''}`}
          text={responseBody}
          maxHeight={240}
          wrap
        />
      ) : (
        <Note>Response body: empty.</Note>
      )}
    </Stack>
  );
}

/** A body of the maximum length was most likely longer. Invalid UTF-8 takes more bytes after decoding. */
function isCut(body: string): boolean {
  return new TextEncoder().encode(body).length >= keptBytesMax;
}
