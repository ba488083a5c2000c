import { Alert, Button, Code, Group, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { useEffect, useRef } from 'react';
import { CopyButton } from '../ui/copy-button.tsx';
import { moveFocusAfterWait } from '../ui/move-focus.ts';

/** Shows recovery codes once, until the user dismisses them. */
export function RecoveryCodesOnce({ codes, done }: { codes: string[]; done: () => void }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => moveFocusAfterWait(heading.current), []);
  const text = `${codes.join('\n')}\n`;
  return (
    <Alert color="green" role="region" aria-label="Your recovery codes">
      <Stack gap="sm" align="stretch">
        <Title order={2} size="h4" ref={heading} tabIndex={-1}>
          Your recovery codes
        </Title>
        <Text size="sm">
          Each one signs you in once, after your password, if you lose your passkeys and your
          authenticator app. Keep them where nobody else can read them. They won't be shown again.
        </Text>
        <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="xs" data-testid="recovery-codes">
          {codes.map((code) => (
            <Code key={code} fz="sm">
              {code}
            </Code>
          ))}
        </SimpleGrid>
        <Group gap="xs">
          <CopyButton value={text} label="Copy the recovery codes" />
          <Button
            component="a"
            size="xs"
            variant="default"
            href={`data:text/plain;charset=utf-8,${encodeURIComponent(text)}`}
            download="recovery-codes.txt"
          >
            Download
          </Button>
          <Button size="xs" variant="default" onClick={done}>
            Done, I've saved them
          </Button>
        </Group>
      </Stack>
    </Alert>
  );
}
