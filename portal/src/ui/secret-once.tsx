import { Alert, Button, Code, Group, Stack, Text, Title } from '@mantine/core';
import { useEffect, useRef, type ReactNode } from 'react';
import { moveFocusAfterWait } from './move-focus.ts';
import { CopyButton } from './copy-button.tsx';

type Props = { title: string; secret: string; children?: ReactNode; done: () => void };

/**
 * Shows a secret once, until the user dismisses it. Its heading takes the focus, so that screen readers announce it and
 * keyboard users are next to it.
 */
export function SecretOnce({ title, secret, children, done }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => moveFocusAfterWait(heading.current), []);
  return (
    <Alert color="green" role="region" aria-label={title}>
      <Stack gap="sm" align="stretch">
        <Title order={2} size="h4" ref={heading} tabIndex={-1}>
          {title}
        </Title>
        <Text size="sm">
          Copy it now and store it where only your program can read it. It won't be shown again.
        </Text>
        <Group gap="xs">
          <Code data-testid="secret" fz="sm">
            {secret}
          </Code>
          <CopyButton value={secret} label="Copy the secret" />
        </Group>
        {children}
        <Group>
          <Button size="xs" variant="default" onClick={done}>
            Done, I've saved it
          </Button>
        </Group>
      </Stack>
    </Alert>
  );
}
