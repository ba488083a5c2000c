import { Alert, Anchor, Stack } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { Link, useNavigate } from 'react-router';
import { useSignIn } from '../session/use-session.ts';
import { focusFirstError } from '../ui/focus-first-error.ts';
import { Problem } from '../ui/problem.tsx';
import { AddressField, refuseAddress } from './address-field.tsx';
import { PasswordField } from './password-field.tsx';
import { BusyButton } from '../ui/busy-button.tsx';

/** Signs in with a password, and continues to `next`. */
export function PasswordForm({ next }: { next: string }) {
  const signIn = useSignIn();
  const navigate = useNavigate();
  const form = useForm({
    initialValues: { email: '', password: '' },
    validate: {
      email: refuseAddress,
      password: (password) => (password === '' ? 'Enter your password' : null),
    },
  });
  const signingIn = useMutation({
    mutationFn: async ({ email, password }: typeof form.values) => {
      const isRight = await signIn({ email: email.trim(), password });
      if (isRight) await navigate(next, { replace: true });
      return isRight;
    },
    onSuccess: (isRight) => {
      if (!isRight) form.getInputNode('password')?.focus();
    },
  });
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
        {signingIn.data === false && (
          <Alert color="red" variant="outline" role="alert">
            The email address or the password is wrong.
          </Alert>
        )}
        {signingIn.isError && <Problem error={signingIn.error} />}
        <BusyButton type="submit" busy={signingIn.isPending}>
          Sign in
        </BusyButton>
      </Stack>
    </form>
  );
}
