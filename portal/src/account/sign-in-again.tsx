import { Alert, Stack, Text } from '@mantine/core';
import { ApiError } from '@orgdir/client';
import { useSignOut } from '../session/use-session.ts';
import { pageBefore } from '../sign-in/next-page.ts';
import { BusyButton } from '../ui/busy-button.tsx';
import { Problem } from '../ui/problem.tsx';

/** Changing the ways to sign in needs a session that began within a day. */
export function SignInAgain() {
  const leaving = useSignOut(pageBefore('/account', '/sign-in'));
  return (
    <Alert color="blue" title="Sign in again first" role="status">
      <Stack gap="xs" align="flex-start">
        <Text size="sm">
          You signed in more than a day ago. Sign in again to change how you sign in.
        </Text>
        <BusyButton
          size="xs"
          variant="default"
          busy={leaving.isPending}
          onClick={() => leaving.mutate()}
        >
          Sign in again
        </BusyButton>
        {leaving.isError && <Problem error={leaving.error} />}
      </Stack>
    </Alert>
  );
}

export function needsSignIn(error: unknown): boolean {
  return error instanceof ApiError && error.details['reason'] === 'sign_in_again';
}
