import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useWrite } from '../api/use-write.ts';
import { Confirm } from '../ui/confirm.tsx';
import { toastSuccess } from '../ui/toast.ts';

type Props = {
  name: string;
  remove: () => Promise<unknown>;
  /** Moves the focus, because the button is gone. */
  removed: () => void;
  /** The effect. */
  children: ReactNode;
};

/** Removes a way to sign in from the account, after a question. */
export function RemoveSignIn({ name, remove, removed, children }: Props) {
  const write = useWrite(remove, ['/account'], {
    done: () => {
      toastSuccess(`${name} removed.`);
      removed();
    },
  });
  return (
    <Confirm
      button={{ children: 'Remove', size: 'xs', 'aria-label': `Remove ${name}` }}
      title={`Remove ${name}?`}
      action="Remove"
      write={write}
    >
      <Text>{children}</Text>
    </Confirm>
  );
}
