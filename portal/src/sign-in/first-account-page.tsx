import { Anchor, Stack, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { Link, useNavigate } from 'react-router';
import { createFirstAccount } from '../api/operations.ts';
import { SignedOutLayout } from '../layout/signed-out-layout.tsx';
import { useSignIn } from '../session/use-session.ts';
import { describeError } from '../ui/describe-error.ts';
import { focusFirstError } from '../ui/focus-first-error.ts';
import { Problem } from '../ui/problem.tsx';
import { AddressField, refuseAddress } from './address-field.tsx';
import { NameField, refuseName } from './name-field.tsx';
import { pageBefore } from './next-page.ts';
import { NewPasswordField, refuseNewPassword } from './password-field.tsx';
import { useLinkToken } from './use-link-token.ts';
import { BusyButton } from '../ui/busy-button.tsx';

export function FirstAccountPage() {
  const token = useLinkToken();
  return (
    <SignedOutLayout
      title="Create the first account"
      below={
        <Anchor component={Link} to="/sign-in" inherit>
          Sign in
        </Anchor>
      }
    >
      {token === null ? (
        <Text>
          Open the link from the terminal where the service was started, including the part after
          the #. While there is no account, each start prints a new link.
        </Text>
      ) : (
        <FirstAccountForm token={token} />
      )}
    </SignedOutLayout>
  );
}

function FirstAccountForm({ token }: { token: string }) {
  const signIn = useSignIn();
  const navigate = useNavigate();
  const form = useForm({
    initialValues: { name: '', email: '', password: '' },
    validate: { name: refuseName, email: refuseAddress, password: refuseNewPassword },
  });
  const creating = useMutation({
    mutationFn: async ({ name, email: given, password }: typeof form.values) => {
      const email = given.trim();
      await createFirstAccount({ token, name: name.trim(), email, password });
      // The link is used up now: if signing in fails, they sign in by themselves.
      const isSignedIn = await signIn({ email, password }).catch(() => false);
      const page = isSignedIn ? '/' : pageBefore('/', '/sign-in', { password: 'set' });
      await navigate(page, { replace: true });
    },
    onError: (error) => form.setErrors(describeError(error).fields),
  });
  return (
    <form
      noValidate
      onSubmit={form.onSubmit((account) => creating.mutate(account), focusFirstError(form))}
    >
      <Stack>
        <Text size="sm">This service has no account yet.</Text>
        <NameField {...form.getInputProps('name')} />
        <AddressField {...form.getInputProps('email')} />
        <NewPasswordField label="Password" {...form.getInputProps('password')} />
        {creating.isError && <Problem error={creating.error} />}
        <BusyButton type="submit" busy={creating.isPending}>
          Create account
        </BusyButton>
      </Stack>
    </form>
  );
}
