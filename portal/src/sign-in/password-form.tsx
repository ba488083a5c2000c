import { Anchor, Button, Stack } from '@mantine/core';
import { useForm } from '@mantine/form';
import { ApiError } from '@orgdir/client';
import { useMutation } from '@tanstack/react-query';
import { Link, useNavigate } from 'react-router';
import { useChangeSession } from '../session/use-session.ts';
import { focusFirstError } from '../shown/focus-first-error.ts';
import { Problem } from '../shown/problem.tsx';
import { AddressField, refuseAddress } from './address-field.tsx';
import { signIn } from './authenticate.ts';
import { Confirmation } from './confirmation.tsx';
import { PasswordField } from './password-field.tsx';

type Given = { email: string; password: string };

/** Signs in with an address and its password, and goes on to `next`. */
export function PasswordForm({ next }: { next: string }) {
  const changeSession = useChangeSession();
  const navigate = useNavigate();
  const form = useForm<Given>({
    initialValues: { email: '', password: '' },
    validate: {
      email: refuseAddress,
      password: (password) => (password === '' ? 'Give your password' : null),
    },
  });
  const signingIn = useMutation({
    mutationFn: async ({ email, password }: Given) => {
      await signIn(email.trim(), password);
      await changeSession();
      await navigate(next, { replace: true });
    },
    onError: () => form.getInputNode('password')?.focus(),
  });
  const { error } = signingIn;
  return (
    <form
      noValidate
      onSubmit={form.onSubmit((given) => signingIn.mutate(given), focusFirstError(form))}
    >
      <Stack>
        <AddressField {...form.getInputProps('email')} />
        <Stack gap={6}>
          <PasswordField
            label="Password"
            autoComplete="current-password"
            {...form.getInputProps('password')}
          />
          <Anchor component={Link} to="/forgot-password" size="sm">
            Forgot your password?
          </Anchor>
        </Stack>
        {error && isUnconfirmed(error) && <Confirmation email={signingIn.variables.email.trim()} />}
        {error && !isUnconfirmed(error) && <Problem error={error} />}
        <Button type="submit" loading={signingIn.isPending}>
          Sign in
        </Button>
      </Stack>
    </form>
  );
}

function isUnconfirmed(error: Error): boolean {
  return error instanceof ApiError && error.code === 'EMAIL_NOT_VERIFIED';
}
