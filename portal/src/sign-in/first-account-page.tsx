import { Anchor, Text } from '@mantine/core';
import { useState } from 'react';
import { Link, useNavigate } from 'react-router';
import { createFirstAccount } from '../api/operations.ts';
import { Bare } from '../layout/bare.tsx';
import { useChangeSession } from '../session/use-session.ts';
import { AccountForm, type Account } from './account-form.tsx';
import { signIn } from './authenticate.ts';
import { pageBefore } from './next-page.ts';
import { takeSecret } from './take-secret.ts';

/** Behind `#`, which no server and no log on the way sees. */
const readToken = ({ hash }: URL) => (hash.length > 1 ? hash.slice(1) : null);

export function FirstAccountPage() {
  const [token] = useState(() => takeSecret(readToken));
  const changeSession = useChangeSession();
  const navigate = useNavigate();

  async function make(account: Account): Promise<void> {
    await createFirstAccount({ ...account, token: token ?? '' });
    try {
      await signIn(account.email, account.password);
      await changeSession();
      await navigate('/', { replace: true });
    } catch {
      // The account is there, and the link is used up: what is left is done by signing in.
      await navigate(pageBefore('/', '/sign-in', { made: 'true' }), { replace: true });
    }
  }

  return (
    <Bare
      title="The first account"
      below={
        <Anchor component={Link} to="/sign-in" inherit>
          Sign in
        </Anchor>
      }
    >
      {token === null ? (
        <Text>
          Open the link as it stands on the terminal where the service was started: what makes the
          account stands behind the # at its end. Each start prints a new one while there is no
          account.
        </Text>
      ) : (
        <>
          <Text size="sm">
            This service has no account yet. You came by the link on its terminal, so no mail has to
            confirm your address.
          </Text>
          <AccountForm make={make} />
        </>
      )}
    </Bare>
  );
}
