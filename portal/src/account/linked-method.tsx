import { Button, Group, Stack, Text } from '@mantine/core';
import { Time } from '../shown/time.tsx';
import type { Method } from './account.ts';
import { nameOf } from './name-of-method.ts';

export function LinkedMethod({
  method,
  isLast,
  unlink,
}: {
  method: Method;
  isLast: boolean;
  unlink: () => void;
}) {
  const name = nameOf(method.providerId);
  const isPassword = method.providerId === 'credential';
  return (
    <Group component="li" justify="space-between" gap="sm">
      <Stack gap={0}>
        <Text fw={600}>{name}</Text>
        <Text size="sm" c="dimmed">
          {isPassword ? 'Set' : 'Linked'} <Time at={method.createdAt} />
          {isLast && '. It is your only way to sign in, so it stays.'}
        </Text>
      </Stack>
      {!isPassword && !isLast && (
        <Button size="xs" variant="default" onClick={unlink} aria-label={`Unlink ${name}`}>
          Unlink
        </Button>
      )}
    </Group>
  );
}
