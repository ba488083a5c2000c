import { Alert, Stack, Text } from '@mantine/core';
import { ApiError } from '@orgdir/client';
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from 'react-router';
import { signOut } from '../api/operations.ts';
import { useEndSession } from '../session/use-session.ts';
import { Problem } from '../ui/problem.tsx';
import { pageBefore } from '../sign-in/next-page.ts';
import { BusyButton } from '../ui/busy-button.tsx';

/** Changing the ways to sign in needs a session that began within a day. */
export function SignInAgain() {
  const endSession = useEndSession();
  const navigate = useNavigate();
  const leaving = useMutation({
    mutationFn: async () => {
      await signOut();
      endSession();
      await navigate(pageBefore('/account', '/sign-in'));
    },
  });
  return (
    <Alert color="blue" variant="outline" title="Sign in again first" role="status">
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
