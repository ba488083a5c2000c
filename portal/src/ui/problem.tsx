import { Alert, Button, Code, Stack, Text } from '@mantine/core';
import { describeError } from './describe-error.ts';
import { moveFocus, useMoveFocusAfter } from './move-focus.ts';
import { Note } from './note.tsx';

type Props = {
  error: unknown;
  /** For an error that has no title of its own. */
  title?: string;
  retry?: () => void;
  retryLabel?: string;
};

/** Shows and announces an error, with the id of the request. */
export function Problem({ error, title: fallback, retry, retryLabel = 'Try again' }: Props) {
  const { title, message, requestId } = describeError(error, fallback);
  const button = useMoveFocusAfter(moveFocus);
  return (
    <Alert color="red" title={title} role="alert">
      <Stack gap="xs" align="flex-start">
        <Text size="sm">{message}</Text>
        {requestId && (
          <Note size="xs">
            Request <Code>{requestId}</Code>
          </Note>
        )}
        {retry && (
          <Button ref={button} size="xs" variant="default" onClick={retry}>
            {retryLabel}
          </Button>
        )}
      </Stack>
    </Alert>
  );
}
