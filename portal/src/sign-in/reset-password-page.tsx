import { Anchor, Button, Stack, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useNavigate } from 'react-router';
import { Bare } from '../layout/bare.tsx';
import { useEndSession } from '../session/use-session.ts';
import { focusFirstError } from '../shown/focus-first-error.ts';
import { Problem } from '../shown/problem.tsx';
import { resetPassword } from './authenticate.ts';
import { NewPasswordField, refuseNewPassword } from './password-field.tsx';
import { pageBefore } from './next-page.ts';
import { takeSecret } from './take-secret.ts';
import { wordsOf } from './words.ts';

export function ResetPasswordPage() {
  const [token] = useState(() => takeSecret(({ searchParams }) => searchParams.get('token')));
  return (
    <Bare
      title="Choose a new password"
      below={
        <Anchor component={Link} to="/forgot-password" inherit>
          Ask for another link
        </Anchor>
      }
    >
      {token === null ? (
        <Text>{wordsOf('INVALID_TOKEN')} It works once, for an hour.</Text>
      ) : (
        <Choose token={token} />
      )}
    </Bare>
  );
}

function Choose({ token }: { token: string }) {
  const endSession = useEndSession();
  const navigate = useNavigate();
  const form = useForm({
    initialValues: { password: '' },
    validate: { password: refuseNewPassword },
  });
  const choosing = useMutation({
    mutationFn: async (password: string) => {
      await resetPassword(token, password);
      // All sessions have ended, this browser's too.
      endSession();
      await navigate(pageBefore('/', '/sign-in', { reset: 'true' }), { replace: true });
    },
  });
  return (
    <form
      noValidate
      onSubmit={form.onSubmit(({ password }) => choosing.mutate(password), focusFirstError(form))}
    >
      <Stack>
        <Text size="sm">It signs you out everywhere.</Text>
        <NewPasswordField label="New password" {...form.getInputProps('password')} />
        {choosing.isError && <Problem error={choosing.error} />}
        <Button type="submit" loading={choosing.isPending}>
          Set the password
        </Button>
      </Stack>
    </form>
  );
}
