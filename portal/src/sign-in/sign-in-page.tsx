import { Alert, Anchor, Divider, Stack, Text } from '@mantine/core';
import { Link, Navigate, useLocation, useSearchParams } from 'react-router';
import { Bare } from '../layout/bare.tsx';
import { pageData } from '../page-data.ts';
import type { CameFrom } from '../session/signed-in.tsx';
import { useSession } from '../session/use-session.ts';
import { nextPage, pageBefore } from './next-page.ts';
import { PasswordForm } from './password-form.tsx';
import { providers, Providers } from './providers.tsx';
import { wordsOfAddress } from './words.ts';

export function SignInPage() {
  const { data: session } = useSession();
  const [query] = useSearchParams();
  const next = nextPage(query);
  if (session) return <Navigate to={next} replace />;
  const { signUp } = pageData.signInOptions.password;
  return (
    <Bare
      title="Sign in"
      below={
        (signUp || providers.length > 0) && (
          <>
            No account yet?{' '}
            <Anchor component={Link} to={pageBefore(next, '/sign-up')} inherit>
              Sign up
            </Anchor>
          </>
        )
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
    </Bare>
  );
}

/** What led here: a link, a provider, a new password. */
function Notice({ query }: { query: URLSearchParams }) {
  const from = useLocation().state as CameFrom | null;
  const error = query.get('error');
  if (error !== null)
    return (
      <Alert color="red" variant="outline" title={titleOf(query)} role="alert">
        <Stack gap="xs">
          <Text size="sm">{wordsOfAddress(error)}</Text>
          {query.has('confirmed') && (
            <Text size="sm">Sign in with your password to have another one sent.</Text>
          )}
        </Stack>
      </Alert>
    );
  if (query.has('confirmed'))
    return <Done title="Your address is confirmed">Sign in with it now.</Done>;
  if (query.has('made')) return <Done title="Your account is made">Sign in with it now.</Done>;
  if (query.has('reset'))
    return (
      <Done title="Your new password is set">
        Sign in with it. You were signed out everywhere else.
      </Done>
    );
  if (from?.hasEnded)
    return (
      <Alert color="orange" variant="outline" title="Your session has ended" role="status">
        <Text size="sm">Sign in again to go on where you were.</Text>
      </Alert>
    );
  return null;
}

function titleOf(query: URLSearchParams): string {
  return query.has('confirmed') ? 'Your address is not confirmed' : 'You are not signed in';
}

function Done({ title, children }: { title: string; children: string }) {
  return (
    <Alert color="green" variant="outline" title={title} role="status">
      <Text size="sm">{children}</Text>
    </Alert>
  );
}
