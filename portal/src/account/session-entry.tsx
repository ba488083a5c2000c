import { Badge, Button, Group, Stack, Text } from '@mantine/core';
import type { AccountSession } from '../api/types.ts';
import { Time } from '../ui/time.tsx';
import { describeBrowser } from './describe-browser.ts';
import { describeSession } from './describe-session.ts';

export function SessionEntry({ session, end }: { session: AccountSession; end: () => void }) {
  const { ipAddress, userAgent, createdAt, current } = session;
  return (
    <Group component="li" justify="space-between" gap="sm">
      <Stack gap={0}>
        <Group gap="xs">
          <Text fw={600}>{describeBrowser(userAgent)}</Text>
          {current && <Badge variant="default">Current session</Badge>}
        </Group>
        <Text size="sm" c="dimmed">
          {ipAddress && `From ${ipAddress}. `}Signed in <Time at={createdAt} />
        </Text>
      </Stack>
      {!current && (
        <Button
          size="xs"
          variant="default"
          onClick={end}
          aria-label={`End session: ${describeSession(session)}`}
        >
          End session
        </Button>
      )}
    </Group>
  );
}
