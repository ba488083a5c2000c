import { Group, Text } from '@mantine/core';
import { removeAccountMethod } from '../api/operations.ts';
import type { AccountMethod } from '../api/types.ts';
import { Note } from '../ui/note.tsx';
import { Time } from '../ui/time.tsx';
import { methodName } from './method-name.ts';
import { RemoveSignIn } from './remove-sign-in.tsx';

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
          {!isLast(method) && (
            <RemoveSignIn
              name={methodName(method.provider)}
              remove={() => removeAccountMethod(method.id)}
              removed={removed}
            >
              You will no longer be able to sign in with it.
            </RemoveSignIn>
          )}
        </Group>
      ))}
    </ul>
  );
}
