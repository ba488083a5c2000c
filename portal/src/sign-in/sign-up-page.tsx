import { Anchor, Divider, Text } from '@mantine/core';
import { useState } from 'react';
import { Link, Navigate, useSearchParams } from 'react-router';
import { Bare } from '../layout/bare.tsx';
import { pageData } from '../page-data.ts';
import { useSession } from '../session/use-session.ts';
import { AccountForm } from './account-form.tsx';
import { signUp } from './authenticate.ts';
import { nextPage, pageBefore } from './next-page.ts';
import { providers, Providers } from './providers.tsx';
import { SendAgain } from './send-again.tsx';
import { whereLinksGo } from './where-links-go.ts';

export function SignUpPage() {
  const { data: session } = useSession();
  const [query] = useSearchParams();
  const [email, setEmail] = useState<string | null>(null);
  const next = nextPage(query);
  if (session) return <Navigate to={next} replace />;
  if (email !== null) return <Confirm email={email} />;
  return <NewAccount next={next} made={setEmail} />;
}

function NewAccount({ next, made }: { next: string; made: (email: string) => void }) {
  const byPassword = pageData.signInOptions.password.signUp;
  return (
    <Bare
      title="Sign up"
      below={
        <>
          You have an account?{' '}
          <Anchor component={Link} to={pageBefore(next, '/sign-in')} inherit>
            Sign in
          </Anchor>
        </>
      }
    >
      {providers.length > 0 && <Providers next={next} />}
      {providers.length > 0 && byPassword && <Divider label="or with a password" />}
      {byPassword ? (
        <AccountForm
          make={async (account) => {
            await signUp(account);
            made(account.email);
          }}
        />
      ) : (
        <WithoutMail />
      )}
    </Bare>
  );
}

/** The service could not find out whether an address is theirs. */
function WithoutMail() {
  return (
    <Text size="sm" c="dimmed">
      {providers.length > 0
        ? 'No account with a password can be made here, because this service sends no mail.'
        : 'No account can be made here, because this service sends no mail. Ask whoever runs it.'}
    </Text>
  );
}

function Confirm({ email }: { email: string }) {
  return (
    <Bare
      title="Confirm your address"
      below={
        <Anchor component={Link} to="/sign-in" inherit>
          Sign in
        </Anchor>
      }
    >
      <Text>
        Open the link that {whereLinksGo(email)}. It works for an hour; then sign in with your
        password.
      </Text>
      <Text size="sm" c="dimmed">
        Where there was an account with this address already, the message says so instead.
      </Text>
      <SendAgain email={email} />
    </Bare>
  );
}
