import { Alert, Stack } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from 'react-router';
import type { Credentials } from '../api/types.ts';
import { useSignIn } from '../session/use-session.ts';
import { Form } from '../ui/form.tsx';
import { isFocusTaken } from '../ui/move-focus.ts';
import { PageLink } from '../ui/page-link.tsx';
import { useWriteForm } from '../ui/use-write-form.ts';
import { AddressField, PasswordField, validateAddress } from './fields.tsx';

/** Signs in with a password, and continues to `next`. */
export function PasswordForm({ next }: { next: string }) {
  const signIn = useSignIn();
  const navigate = useNavigate();
  const write = useMutation({
    mutationFn: async ({ email, password }: Credentials) => {
      const isRight = await signIn({ email: email.trim(), password });
      if (isRight) await navigate(next, { replace: true });
      return isRight;
    },
    onSuccess: (isRight) => {
      if (!isRight && !isFocusTaken()) form.getInputNode('password')?.focus();
    },
  });
  const { form, formProps } = useWriteForm(write, {
    initialValues: { email: '', password: '' },
    validate: {
      email: validateAddress,
      password: (password) => (password === '' ? 'Enter your password' : null),
    },
  });
  return (
    <Form {...formProps} action="Sign in" layout="narrow">
      <AddressField {...form.getInputProps('email')} />
      <Stack gap={6}>
        <PasswordField label="Password" {...form.getInputProps('password')} />
        <PageLink to="/forgot-password" size="sm">
          Forgot your password?
        </PageLink>
      </Stack>
      {write.data === false && (
        <Alert color="red" role="alert">
          The email address or the password is wrong.
        </Alert>
      )}
    </Form>
  );
}
