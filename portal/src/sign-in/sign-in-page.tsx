import { Alert, Text } from '@mantine/core';
import { Navigate, useLocation, useSearchParams } from 'react-router';
import { SignedOutLayout } from '../layout/signed-out-layout.tsx';
import type { CameFrom } from '../session/signed-in.tsx';
import { useSession } from '../session/use-session.ts';
import { PageLink } from '../ui/page-link.tsx';
import { describeProviderError } from './describe-provider-error.ts';
import { nextPage, pageBefore } from './next-page.ts';
import { canUsePasskeys } from '../security/passkey-device.ts';
import { PasskeyButton } from './passkey-button.tsx';
import { PasswordForm } from './password-form.tsx';
import { SignInWithProvider } from './provider-buttons.tsx';
import { RequestLinkPage } from './request-link-page.tsx';

export function SignInPage() {
  const { data: session } = useSession();
  const [query] = useSearchParams();
  const next = nextPage(query);
  if (session) return <Navigate to={next} replace />;
  const signUp = <PageLink to={pageBefore(next, '/sign-up')}>Sign up</PageLink>;
  return (
    <SignedOutLayout title="Sign in" below={<>Don't have an account? {signUp}</>}>
      <Notice query={query} />
      {canUsePasskeys && <PasskeyButton>Sign in with a passkey</PasskeyButton>}
      <SignInWithProvider next={next} />
      <PasswordForm next={next} />
    </SignedOutLayout>
  );
}

export function SignUpPage() {
  const { data: session } = useSession();
  const [query] = useSearchParams();
  const next = nextPage(query);
  if (session) return <Navigate to={next} replace />;
  const signIn = <PageLink to={pageBefore(next, '/sign-in')}>Sign in</PageLink>;
  return (
    <RequestLinkPage
      title="Sign up"
      lead="Enter your email address to get a link that sets your password."
      below={<>Already have an account? {signIn}</>}
    >
      <SignInWithProvider next={next} />
    </RequestLinkPage>
  );
}

/** Explains why the user is on this page: a failed provider, a new password, or an ended session. */
function Notice({ query }: { query: URLSearchParams }) {
  const from = useLocation().state as CameFrom | null;
  const error = query.get('error');
  if (error !== null)
    return (
      <Alert color="red" title="You are not signed in" role="alert">
        <Text size="sm">{describeProviderError(error)}</Text>
      </Alert>
    );
  if (query.get('password') === 'set')
    return (
      <Alert color="green" title="Your password is set" role="status">
        <Text size="sm">Sign in with it now.</Text>
      </Alert>
    );
  if (from?.hasEnded)
    return (
      <Alert color="orange" title="Your session has ended" role="status">
        <Text size="sm">Sign in again to continue.</Text>
      </Alert>
    );
  return null;
}
