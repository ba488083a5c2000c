import { Anchor, Divider } from '@mantine/core';
import { Link, Navigate, useSearchParams } from 'react-router';
import { useSession } from '../session/use-session.ts';
import { nextPage, pageBefore } from './next-page.ts';
import { providers, Providers } from './providers.tsx';
import { RequestLinkPage } from './request-link-page.tsx';

export function SignUpPage() {
  const { data: session } = useSession();
  const [query] = useSearchParams();
  const next = nextPage(query);
  if (session) return <Navigate to={next} replace />;
  return (
    <RequestLinkPage
      title="Sign up"
      lead="Enter your email address to get a link that sets your password."
      below={
        <>
          Already have an account?{' '}
          <Anchor component={Link} to={pageBefore(next, '/sign-in')} inherit>
            Sign in
          </Anchor>
        </>
      }
    >
      {providers.length > 0 && (
        <>
          <Providers next={next} />
          <Divider label="or with a password" />
        </>
      )}
    </RequestLinkPage>
  );
}
