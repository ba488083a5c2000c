import { Button, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { accountMethods, secondFactor } from '../api/operations.ts';
import { SignedOutLayout } from '../layout/signed-out-layout.tsx';
import { Passkeys } from '../security/passkeys.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { moveFocusAfterWait } from '../ui/move-focus.ts';
import { MethodList } from './method-list.tsx';

/** Shown after a password reset: an intruder may have added a sign-in method or a passkey to get back in. */
export function OtherMethodsPage() {
  const methods = useQuery(accountMethods());
  const factor = useQuery(secondFactor());
  return (
    <SignedOutLayout title="Review your other ways to sign in">
      <Text size="sm">
        Your new password is set, and you are signed out everywhere else. These other ways to sign
        in still work. Remove any that you don't recognise.
      </Text>
      <Loaded query={methods}>
        {({ entries }) => (
          <Loaded query={factor}>
            {({ passkeys }) => {
              const others = entries.filter(({ provider }) => provider !== 'credential');
              if (others.length === 0 && passkeys.length === 0)
                return <Text>There are no other ways to sign in.</Text>;
              return (
                <>
                  {others.length > 0 && (
                    <MethodList methods={others} removed={() => moveFocusAfterWait()} />
                  )}
                  {passkeys.length > 0 && (
                    <Passkeys passkeys={passkeys} removed={() => moveFocusAfterWait()} />
                  )}
                </>
              );
            }}
          </Loaded>
        )}
      </Loaded>
      <Button component={Link} to="/" replace>
        Continue
      </Button>
    </SignedOutLayout>
  );
}
