import { Alert, Anchor, Divider, Text } from '@mantine/core';
import { Link, Navigate, useLocation, useSearchParams } from 'react-router';
import { SignedOutLayout } from '../layout/signed-out-layout.tsx';
import type { CameFrom } from '../session/signed-in.tsx';
import { useSession } from '../session/use-session.ts';
import { describeProviderError } from './describe-provider-error.ts';
import { nextPage, pageBefore } from './next-page.ts';
import { PasswordForm } from './password-form.tsx';
import { providers, Providers } from './providers.tsx';

export function SignInPage() {
  const { data: session } = useSession();
  const [query] = useSearchParams();
  const next = nextPage(query);
  if (session) return <Navigate to={next} replace />;
  return (
    <SignedOutLayout
      title="Sign in"
      below={
        <>
          Don't have an account?{' '}
          <Anchor component={Link} to={pageBefore(next, '/sign-up')} inherit>
            Sign up
          </Anchor>
        </>
      }
    >
      <Notice query={query} />
      {providers.length > 0 && (
        <>
          <Providers next={next} />
          <Divider label="or with a password" />
        </>
      )}
      <PasswordForm next={next} />
    </SignedOutLayout>
  );
}

/** Explains why the user is on this page: a failed provider, a new password, or an ended session. */
function Notice({ query }: { query: URLSearchParams }) {
  const from = useLocation().state as CameFrom | null;
  const error = query.get('error');
  if (error !== null)
    return (
      <Alert color="red" variant="outline" title="You are not signed in" role="alert">
        <Text size="sm">{describeProviderError(error)}</Text>
      </Alert>
    );
  if (query.get('password') === 'set')
    return (
      <Alert color="green" variant="outline" title="Your password is set" role="status">
        <Text size="sm">Sign in with it now.</Text>
      </Alert>
    );
  if (from?.hasEnded)
    return (
      <Alert color="orange" variant="outline" title="Your session has ended" role="status">
        <Text size="sm">Sign in again to continue.</Text>
      </Alert>
    );
  return null;
}
