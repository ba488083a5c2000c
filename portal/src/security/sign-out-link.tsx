import { Button } from '@mantine/core';
import { useSignOut } from '../session/use-session.ts';
import { toastError } from '../ui/toast.ts';

export function SignOutLink() {
  const leaving = useSignOut('/sign-in');
  return (
    <Button
      variant="subtle"
      size="compact-sm"
      onClick={() => leaving.mutate(undefined, { onError: toastError })}
    >
      Sign out
    </Button>
  );
}
