import { Anchor, Button, Stack, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { Bare } from '../layout/bare.tsx';
import { pageData } from '../page-data.ts';
import { focusFirstError } from '../shown/focus-first-error.ts';
import { Problem } from '../shown/problem.tsx';
import { AddressField, refuseAddress } from './address-field.tsx';
import { requestPasswordReset } from './authenticate.ts';
import { whereLinksGo } from './where-links-go.ts';

const below = (
  <Anchor component={Link} to="/sign-in" inherit>
    Sign in
  </Anchor>
);

export function ForgotPasswordPage() {
  const [email, setEmail] = useState<string | null>(null);
  if (email !== null) return <Sent email={email} />;
  return (
    <Bare title="Forgot your password?" below={below}>
      {pageData.signInOptions.password.links === null ? (
        <Text>
          This service sends no mail, so nobody can get a new password here. Ask whoever runs it.
        </Text>
      ) : (
        <Ask sent={setEmail} />
      )}
    </Bare>
  );
}

function Ask({ sent }: { sent: (email: string) => void }) {
  const form = useForm({ initialValues: { email: '' }, validate: { email: refuseAddress } });
  const asking = useMutation({
    mutationFn: async (email: string) => {
      await requestPasswordReset(email);
      sent(email);
    },
  });
  return (
    <form
      noValidate
      onSubmit={form.onSubmit(({ email }) => asking.mutate(email.trim()), focusFirstError(form))}
    >
      <Stack>
        <Text size="sm">Give the address of your account, and choose a new one by a link.</Text>
        <AddressField {...form.getInputProps('email')} />
        {asking.isError && <Problem error={asking.error} />}
        <Button type="submit" loading={asking.isPending}>
          Send the link
        </Button>
      </Stack>
    </form>
  );
}

/** The same whether there is such an account or not. */
function Sent({ email }: { email: string }) {
  return (
    <Bare title="Open the link" below={below}>
      <Text>
        If there is an account with the address {email}, a link to choose a new password{' '}
        {whereLinksGo(email)}. It works for an hour.
      </Text>
    </Bare>
  );
}
