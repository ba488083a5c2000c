import { Alert, Button, Stack, Text } from '@mantine/core';
import { ApiError } from '@orgdir/client';
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from 'react-router';
import { useEndSession } from '../session/use-session.ts';
import { Problem } from '../shown/problem.tsx';
import { signOut } from '../sign-in/authenticate.ts';
import { pageBefore } from '../sign-in/next-page.ts';
import { wordsOf } from '../sign-in/words.ts';

/** Some things are asked only of somebody who has shown lately who they are. */
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
        <Text size="sm">{wordsOf(notFresh)}</Text>
        <Button
          size="xs"
          variant="default"
          loading={leaving.isPending}
          onClick={() => leaving.mutate()}
        >
          Sign in again
        </Button>
        {leaving.isError && <Problem error={leaving.error} />}
      </Stack>
    </Alert>
  );
}

const notFresh = 'SESSION_NOT_FRESH';

export function isStale(error: unknown): boolean {
  return error instanceof ApiError && error.code === notFresh;
}
