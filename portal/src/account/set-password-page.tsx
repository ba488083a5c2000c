import { Alert, Anchor, Text } from '@mantine/core';
import { ApiError } from '@orgdir/client';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { passwordLink } from '../api/operations.ts';
import { SignedOutLayout } from '../layout/signed-out-layout.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { useLinkToken } from '../sign-in/use-link-token.ts';
import { OtherMethodsPage } from './other-methods-page.tsx';
import { SetPasswordForm } from './set-password-form.tsx';

/** The page behind a mailed link. Opening it changes nothing, because mail programs open links, too. */
export function SetPasswordPage() {
  const token = useLinkToken();
  const [reviewed, setReviewed] = useState<string | null>(null);
  if (token !== null && token === reviewed) return <OtherMethodsPage />;
  return (
    <SignedOutLayout
      title="Set your password"
      below={
        <Anchor component={Link} to="/sign-in" inherit>
          Sign in
        </Anchor>
      }
    >
      {token === null ? (
        <Text>Open the link again, including the part after the #.</Text>
      ) : (
        <CheckedLink key={token} token={token} reviewMethods={() => setReviewed(token)} />
      )}
    </SignedOutLayout>
  );
}

function CheckedLink({ token, reviewMethods }: { token: string; reviewMethods: () => void }) {
  const [isUsed, setIsUsed] = useState(false);
  const link = useQuery(passwordLink(token));
  if (isUsed || isUnusable(link.error)) return <UnusableLink />;
  return (
    <Loaded query={link}>
      {({ email, hasAccount }) => (
        <SetPasswordForm
          token={token}
          email={email}
          isNew={!hasAccount}
          reviewMethods={reviewMethods}
          failed={(error) => setIsUsed(isUnusable(error))}
        />
      )}
    </Loaded>
  );
}

function isUnusable(error: unknown): boolean {
  return error instanceof ApiError && error.status === 403;
}

function UnusableLink() {
  return (
    <Alert color="red" variant="outline" title="This link can't be used" role="alert">
      <Text size="sm">
        It was used, replaced by a newer one, or has expired.{' '}
        <Anchor component={Link} to="/forgot-password" inherit>
          Request a new link
        </Anchor>
      </Text>
    </Alert>
  );
}
