import { Text } from '@mantine/core';
import { removeAccountMethod } from '../api/operations.ts';
import type { AccountMethod } from '../api/types.ts';
import { useWrite } from '../api/use-write.ts';
import { Confirm } from '../ui/confirm.tsx';
import { toastSuccess } from '../ui/toast.ts';
import { methodName } from './method-name.ts';
import { needsSignIn, SignInAgain } from './sign-in-again.tsx';

/** Confirms and removes. It is outside the method's entry, because the entry is gone when the dialogue closes. */
export function RemoveMethod({
  method,
  close,
  removed,
}: {
  /** Null: the dialogue is closed. */
  method: AccountMethod | null;
  close: () => void;
  removed: () => void;
}) {
  const removing = useWrite(removeAccountMethod, ['/account']);
  const name = methodName(method?.provider ?? '');
  const shut = () => {
    removing.reset();
    close();
  };
  const confirm = () => {
    if (method === null) return;
    removing.mutate(method.id, {
      onSuccess: () => {
        shut();
        toastSuccess(`${name} removed.`);
        removed();
      },
    });
  };
  const isOld = needsSignIn(removing.error);
  return (
    <Confirm
      opened={method !== null}
      title={`Remove ${name}?`}
      action="Remove"
      busy={removing.isPending}
      error={isOld ? null : removing.error}
      confirm={confirm}
      close={shut}
    >
      {isOld ? <SignInAgain /> : <Text>You will no longer be able to sign in with it.</Text>}
    </Confirm>
  );
}
