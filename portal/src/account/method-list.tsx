import { Group, Text } from '@mantine/core';
import { removeAccountMethod } from '../api/operations.ts';
import type { AccountMethod } from '../api/types.ts';
import { useWrite } from '../api/use-write.ts';
import { Confirm } from '../ui/confirm.tsx';
import { Note } from '../ui/note.tsx';
import { Time } from '../ui/time.tsx';
import { toastSuccess } from '../ui/toast.ts';
import { methodName } from './method-name.ts';

type Props = {
  methods: AccountMethod[];
  isLast?: (method: AccountMethod) => boolean;
  /** Moves the focus, because the button is gone. */
  removed: () => void;
};

/** Lists ways to sign in. Each has a button that removes it, except the last one. */
export function MethodList({ methods, isLast = () => false, removed }: Props) {
  return (
    <ul className="plain-list">
      {methods.map((method) => (
        <Group key={method.id} component="li" justify="space-between" gap="sm">
          <div>
            <Text fw={600}>{methodName(method.provider)}</Text>
            <Note>
              Added <Time at={method.createdAt} />
              {isLast(method) && '. Your only way to sign in, so it cannot be removed.'}
            </Note>
          </div>
          {!isLast(method) && <RemoveMethod method={method} removed={removed} />}
        </Group>
      ))}
    </ul>
  );
}

function RemoveMethod({ method, removed }: { method: AccountMethod; removed: () => void }) {
  const name = methodName(method.provider);
  const write = useWrite(() => removeAccountMethod(method.id), ['/account'], {
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
      <Text>You will no longer be able to sign in with it.</Text>
    </Confirm>
  );
}
