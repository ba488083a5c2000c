import { Stack, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from 'react-router';
import { setPassword } from '../api/operations.ts';
import { useEndSession, useSignIn } from '../session/use-session.ts';
import { describeError } from '../ui/describe-error.ts';
import { focusFirstError } from '../ui/focus-first-error.ts';
import { Problem } from '../ui/problem.tsx';
import { AddressField } from '../sign-in/address-field.tsx';
import { NameField, refuseName } from '../sign-in/name-field.tsx';
import { pageBefore } from '../sign-in/next-page.ts';
import { NewPasswordField, refuseNewPassword } from '../sign-in/password-field.tsx';
import { BusyButton } from '../ui/busy-button.tsx';

/** Sets the password of a new or an existing account, and signs in with it. */
export function SetPasswordForm({
  token,
  email,
  isNew,
  reviewMethods,
  failed,
}: {
  token: string;
  email: string;
  /** True if the form creates the account, which needs a name. */
  isNew: boolean;
  /** Called when somebody is signed in whose account can be opened in other ways. */
  reviewMethods: () => void;
  failed: (error: Error) => void;
}) {
  const signIn = useSignIn();
  const endSession = useEndSession();
  const navigate = useNavigate();
  const form = useForm({
    initialValues: { name: '', password: '' },
    validate: { ...(isNew && { name: refuseName }), password: refuseNewPassword },
  });
  const setting = useMutation({
    mutationFn: async ({ name, password }: typeof form.values) => {
      const { methods } = await setPassword({
        token,
        password,
        ...(isNew && { name: name.trim() }),
      });
      // The link is used up now: if signing in fails, they sign in by themselves.
      if (await signIn({ email, password }).catch(() => false)) {
        if (methods.length > 0) reviewMethods();
        else await navigate('/', { replace: true });
        return;
      }
      endSession();
      const next = methods.length > 0 ? '/account' : '/';
      await navigate(pageBefore(next, '/sign-in', { password: 'set' }), { replace: true });
    },
    onError: (error) => {
      form.setErrors(describeError(error).fields);
      failed(error);
    },
  });
  return (
    <form
      noValidate
      onSubmit={form.onSubmit((given) => setting.mutate(given), focusFirstError(form))}
    >
      <Stack>
        <Text size="sm">
          {isNew
            ? 'This creates your account.'
            : 'Choose a new password. You will be signed out everywhere else.'}
        </Text>
        {/* Password managers keep the password for this address. */}
        <AddressField value={email} readOnly variant="filled" />
        {isNew && <NameField {...form.getInputProps('name')} />}
        <NewPasswordField
          label={isNew ? 'Password' : 'New password'}
          {...form.getInputProps('password')}
        />
        {setting.isError && <Problem error={setting.error} />}
        <BusyButton type="submit" busy={setting.isPending}>
          {isNew ? 'Create account' : 'Set password'}
        </BusyButton>
      </Stack>
    </form>
  );
}
