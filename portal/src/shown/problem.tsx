import { Alert, Button, Code, Stack, Text } from '@mantine/core';
import { describeError } from './describe-error.ts';

/** What went wrong, announced, with the request's id. */
export function Problem({ error, retry }: { error: unknown; retry?: () => void }) {
  const { title, message, requestId } = describeError(error);
  return (
    <Alert color="red" variant="outline" title={title} role="alert">
      <Stack gap="xs" align="flex-start">
        <Text size="sm">{message}</Text>
        {requestId && (
          <Text size="xs" c="dimmed">
            Request <Code>{requestId}</Code>
          </Text>
        )}
        {retry && (
          <Button size="xs" variant="default" onClick={retry}>
            Try again
          </Button>
        )}
      </Stack>
    </Alert>
  );
}
