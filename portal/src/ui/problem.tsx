import { Alert, Button, Code, Stack, Text } from '@mantine/core';
import { useLayoutEffect, useRef } from 'react';
import { describeError } from './describe-error.ts';
import { focusHeading } from './focus-heading.ts';

/** What went wrong, announced, with the request's id. */
export function Problem({ error, retry }: { error: unknown; retry?: () => void }) {
  const { title, message, requestId } = describeError(error);
  const button = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    const retryButton = button.current;
    return () => {
      // It worked, and the button goes away: the focus stays on the page.
      if (retryButton && retryButton === document.activeElement) focusHeading();
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
