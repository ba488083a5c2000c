import { Alert, Button, Code, Stack, Text } from '@mantine/core';
import { useLayoutEffect, useRef } from 'react';
import { describeError } from './describe-error.ts';
import { moveFocus } from './move-focus.ts';

/** Shows and announces an error, with the id of the request. */
export function Problem({ error, retry }: { error: unknown; retry?: () => void }) {
  const { title, message, requestId } = describeError(error);
  const button = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    const retryButton = button.current;
    return () => {
      // The retry worked and the button disappears, so the heading takes the focus.
      if (retryButton && retryButton === document.activeElement) moveFocus();
    };
  }, []);
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
          <Button ref={button} size="xs" variant="default" onClick={retry}>
            Try again
          </Button>
        )}
      </Stack>
    </Alert>
  );
}
