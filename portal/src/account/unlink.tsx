import { Text } from '@mantine/core';
import { useWrite } from '../api/use-write.ts';
import { Confirm } from '../shown/confirm.tsx';
import { sayDone } from '../shown/say.ts';
import { methodsPath, unlink, type Method } from './account.ts';
import { nameOf } from './name-of-method.ts';
import { isStale, SignInAgain } from './sign-in-again.tsx';

/** Asks, and unlinks. It outlives the entry of what it unlinks, which goes with the answer. */
export function Unlink({
  method,
  close,
  unlinked,
}: {
  /** Null: none is asked about. */
  method: Method | null;
  close: () => void;
  unlinked: () => void;
}) {
  const unlinking = useWrite(unlink, [methodsPath]);
  const name = nameOf(method?.providerId ?? '');
  const shut = () => {
    unlinking.reset();
    close();
  };
  const confirm = () => {
    if (method === null) return;
    unlinking.mutate(method, {
      onSuccess: () => {
        shut();
        sayDone(`${name} is unlinked.`);
        unlinked();
      },
    });
  };
  const isOld = isStale(unlinking.error);
  return (
    <Confirm
      opened={method !== null}
      title={`Unlink ${name}?`}
      action="Unlink"
      busy={unlinking.isPending}
      error={isOld ? null : unlinking.error}
      confirm={confirm}
      close={shut}
    >
      {isOld ? (
        <SignInAgain />
      ) : (
        <Text>
          You cannot sign in with it then, until you link it again. Whoever comes by it gets an
          account of their own.
        </Text>
      )}
    </Confirm>
  );
}
