import { Badge, Button, Group, Stack, Text } from '@mantine/core';
import { Time } from '../shown/time.tsx';
import type { Session } from './account.ts';
import { describeBrowser } from './describe-browser.ts';
import { describeSession } from './describe-session.ts';

/** Without `end` it is this very session, which ends by signing out. */
export function SessionEntry({ session, end }: { session: Session; end?: () => void }) {
  const { ipAddress, userAgent, createdAt } = session;
  const browser = describeBrowser(userAgent);
  return (
    <Group component="li" justify="space-between" gap="sm">
      <Stack gap={0}>
        <Group gap="xs">
          <Text fw={600}>{browser}</Text>
          {!end && <Badge variant="default">This one</Badge>}
        </Group>
        <Text size="sm" c="dimmed">
          {ipAddress && `From ${ipAddress}. `}Signed in <Time at={createdAt} />
        </Text>
      </Stack>
      {end && (
        <Button
          size="xs"
          variant="default"
          onClick={end}
          aria-label={`Sign out ${describeSession(session)}`}
        >
          Sign out
        </Button>
      )}
    </Group>
  );
}
