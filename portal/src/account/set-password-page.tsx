import { Alert, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useNavigate, useSearchParams } from 'react-router';
import { isForbidden } from '../api/call.ts';
import { passwordLink, setPassword } from '../api/operations.ts';
import { SignedOutLayout } from '../layout/signed-out-layout.tsx';
import { SignedIn } from '../session/signed-in.tsx';
import { useSignInAfterLink } from '../session/use-session.ts';
import {
  AddressField,
  NameField,
  NewPasswordField,
  validateName,
  validateNewPassword,
} from '../sign-in/fields.tsx';
import { nextPage } from '../sign-in/next-page.ts';
import { useLinkToken } from '../sign-in/use-link-token.ts';
import { Form } from '../ui/form.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { PageLink } from '../ui/page-link.tsx';
import { useWriteForm } from '../ui/use-write-form.ts';
import { OtherMethodsPage } from './other-methods-page.tsx';

/** The page behind a mailed link. Opening it changes nothing, because mail programs open links, too. */
export function SetPasswordPage() {
  const token = useLinkToken();
  const [reviewed, setReviewed] = useState<string | null>(null);
  if (token !== null && token === reviewed)
    return (
      <SignedIn>
        <OtherMethodsPage />
      </SignedIn>
    );
  return (
    <SignedOutLayout title="Set your password" below={<PageLink to="/sign-in">Sign in</PageLink>}>
      {token === null ? (
        <Text>Open the link again, including the part after the #.</Text>
      ) : (
        <CheckedLink key={token} token={token} reviewMethods={() => setReviewed(token)} />
      )}
    </SignedOutLayout>
  );
}

type Link = {
  token: string;
  /** Called when somebody is signed in whose account can be opened in other ways. */
  reviewMethods: () => void;
};

function CheckedLink(props: Link) {
  const [isUsed, setIsUsed] = useState(false);
  const link = useQuery(passwordLink(props.token));
  if (isUsed || isForbidden(link.error)) return <UnusableLink />;
  return (
    <Loaded query={link}>
      {({ email, hasAccount }) => (
        <SetPasswordForm
          {...props}
          email={email}
          isNew={!hasAccount}
          failed={(error) => setIsUsed(isForbidden(error))}
        />
      )}
    </Loaded>
  );
}

/** Sets the password of a new or an existing account, signs in with it, and continues to `next`. A new account needs a name. */
function SetPasswordForm({
  token,
  email,
  isNew,
  reviewMethods,
  failed,
}: Link & { email: string; isNew: boolean; failed: (error: Error) => void }) {
  const signIn = useSignInAfterLink();
  const navigate = useNavigate();
  const next = nextPage(useSearchParams()[0]);
  const write = useMutation({
    mutationFn: async ({ name, password }: { name: string; password: string }) => {
      const account = { token, password, ...(isNew && { name: name.trim() }) };
      const { methods, hasPasskeys } = await setPassword(account);
      const hasOthers = methods.length > 0 || hasPasskeys;
      if (!(await signIn({ email, password }, hasOthers ? '/account' : next))) return;
      if (hasOthers) reviewMethods();
      else await navigate(next, { replace: true });
    },
    onError: failed,
  });
  const { form, formProps } = useWriteForm(write, {
    initialValues: { name: '', password: '' },
    validate: { ...(isNew && { name: validateName }), password: validateNewPassword },
  });
  return (
    <Form {...formProps} action={isNew ? 'Create account' : 'Set password'} layout="narrow">
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
    </Form>
  );
}

function UnusableLink() {
  return (
    <Alert color="red" title="This link can't be used" role="alert">
      <Text size="sm">
        It was used, replaced by a newer one, or has expired.{' '}
        <PageLink to="/forgot-password">Request a new link</PageLink>
      </Text>
    </Alert>
  );
}
