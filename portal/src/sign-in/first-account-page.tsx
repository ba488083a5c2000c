import { Alert, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { isForbidden } from '../api/call.ts';
import { createFirstAccount, firstAccountLink } from '../api/operations.ts';
import { SignedOutLayout } from '../layout/signed-out-layout.tsx';
import { useSignInAfterLink } from '../session/use-session.ts';
import { Form } from '../ui/form.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { PageLink } from '../ui/page-link.tsx';
import { useWriteForm } from '../ui/use-write-form.ts';
import {
  AddressField,
  NameField,
  NewPasswordField,
  validateAddress,
  validateName,
  validateNewPassword,
} from './fields.tsx';
import { useLinkToken } from './use-link-token.ts';

export function FirstAccountPage() {
  const token = useLinkToken();
  return (
    <SignedOutLayout
      title="Create the first account"
      below={<PageLink to="/sign-in">Sign in</PageLink>}
    >
      {token === null ? (
        <Text>
          Open the link from the terminal where the service was started, including the part after
          the #. While there is no account, each start prints a new link.
        </Text>
      ) : (
        <CheckedLink key={token} token={token} />
      )}
    </SignedOutLayout>
  );
}

function CheckedLink({ token }: { token: string }) {
  const [isUsed, setIsUsed] = useState(false);
  const link = useQuery(firstAccountLink(token));
  if (isUsed || isForbidden(link.error))
    return (
      <Alert color="red" title="This link can't be used" role="alert">
        <Text size="sm">
          It was used or has expired, or this service has an account already. If that is yours,{' '}
          <PageLink to="/sign-in">sign in</PageLink>.
        </Text>
      </Alert>
    );
  return (
    <Loaded query={link}>
      {() => <FirstAccountForm token={token} failed={(error) => setIsUsed(isForbidden(error))} />}
    </Loaded>
  );
}

type Props = { token: string; failed: (error: Error) => void };
type Fields = { name: string; email: string; password: string };

function FirstAccountForm({ token, failed }: Props) {
  const signIn = useSignInAfterLink();
  const navigate = useNavigate();
  const write = useMutation({
    mutationFn: async ({ name, email: given, password }: Fields) => {
      const email = given.trim();
      await createFirstAccount({ token, name: name.trim(), email, password });
      if (await signIn({ email, password })) await navigate('/', { replace: true });
    },
    onError: failed,
  });
  const { form, formProps } = useWriteForm(write, {
    initialValues: { name: '', email: '', password: '' },
    validate: { name: validateName, email: validateAddress, password: validateNewPassword },
  });
  return (
    <Form {...formProps} action="Create account" layout="narrow">
      <Text size="sm">This service has no account yet.</Text>
      <NameField {...form.getInputProps('name')} />
      <AddressField {...form.getInputProps('email')} />
      <NewPasswordField label="Password" {...form.getInputProps('password')} />
    </Form>
  );
}
