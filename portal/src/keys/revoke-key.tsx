import { Text } from '@mantine/core';
import { revokeKey } from '../api/operations.ts';
import type { PortalKey } from '../api/types.ts';
import { appChanges, useWrite } from '../api/use-write.ts';
import { Confirm } from '../ui/confirm.tsx';
import { toastSuccess } from '../ui/toast.ts';
import { nameOfKey } from './key-state.ts';

type Props = { appId: string; apiKey: PortalKey; done: () => void };

/** `done` moves the focus, because the button is gone. */
export function RevokeKey({ appId, apiKey, done }: Props) {
  const name = nameOfKey(apiKey);
  const write = useWrite(() => revokeKey(appId, apiKey.id), appChanges, {
    done: () => {
      toastSuccess(`Key ${name} revoked.`);
      done();
    },
  });
  return (
    <Confirm
      button={{ children: 'Revoke', size: 'xs', 'aria-label': `Revoke ${name}` }}
      title={`Revoke ${name}`}
      action="Revoke key"
      write={write}
    >
      <Text size="sm">
        The key that ends in {apiKey.last4} stops working within a second, for good. Programs that
        use it are refused. For a new one without downtime, rotate it instead.
      </Text>
    </Confirm>
  );
}
