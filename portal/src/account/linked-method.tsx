import { Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useWrite } from '../api/use-write.ts';
import { Confirm } from '../shown/confirm.tsx';
import { sayDone } from '../shown/say.ts';
import { Time } from '../shown/time.tsx';
import { methodsPath, unlink, type Method } from './account.ts';
import { nameOf } from './name-of-method.ts';
import { isStale, SignInAgain } from './sign-in-again.tsx';

export function LinkedMethod({ method, isLast }: { method: Method; isLast: boolean }) {
  const [asked, setAsked] = useState(false);
  const unlinking = useWrite(unlink, [methodsPath]);
  const name = nameOf(method.providerId);
  const isPassword = method.providerId === 'credential';

  const confirm = () =>
    unlinking.mutate(method, {
      onSuccess: () => {
        setAsked(false);
        sayDone(`${name} is unlinked.`);
      },
    });

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
        <Button
          size="xs"
          variant="default"
          onClick={() => setAsked(true)}
          aria-label={`Unlink ${name}`}
        >
          Unlink
        </Button>
      )}
      <Confirm
        opened={asked}
        title={`Unlink ${name}?`}
        action="Unlink"
        busy={unlinking.isPending}
        error={isStale(unlinking.error) ? null : unlinking.error}
        confirm={confirm}
        close={() => {
          unlinking.reset();
          setAsked(false);
        }}
      >
        {isStale(unlinking.error) ? (
          <SignInAgain />
        ) : (
          <Text>
            You cannot sign in with it then, until you link it again. Whoever comes by it gets an
            account of their own.
          </Text>
        )}
      </Confirm>
    </Group>
  );
}
