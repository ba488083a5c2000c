import { Button, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { revokeKey } from '../api/operations.ts';
import type { PortalKey } from '../api/types.ts';
import { useWrite } from '../api/use-write.ts';
import { Confirm } from '../ui/confirm.tsx';
import { toastSuccess } from '../ui/toast.ts';
import { nameOfKey } from './name-of-key.ts';

export function RevokeKey({
  appId,
  apiKey,
  after,
}: {
  appId: string;
  apiKey: PortalKey;
  /** Moves the focus, because the button is gone. */
  after: () => void;
}) {
  const name = nameOfKey(apiKey);
  const [opened, { open, close }] = useDisclosure(false);
  const write = useWrite(() => revokeKey(appId, apiKey.id), ['/apps', '/overview', '/audit'], {
    done: () => {
      close();
      toastSuccess(`The key ${name} is revoked.`);
      after();
    },
  });
  return (
    <>
      <Button variant="default" size="xs" onClick={open} aria-label={`Revoke ${name}`}>
        Revoke
      </Button>
      <Confirm
        opened={opened}
        title={`Revoke ${name}`}
        action="Revoke key"
        busy={write.isPending}
        error={write.error}
        confirm={() => write.mutate(undefined)}
        close={() => {
          close();
          write.reset();
        }}
      >
        <Text size="sm">
          The key that ends in {apiKey.last4} stops working within a second, for good. Programs that
          use it are refused. To replace it without downtime, rotate it instead.
        </Text>
      </Confirm>
    </>
  );
}
