import { Button, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { accountMethods } from '../api/operations.ts';
import { SignedOutLayout } from '../layout/signed-out-layout.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { moveFocus } from '../ui/move-focus.ts';
import { MethodList } from './method-list.tsx';

/** Shown after a password reset: an intruder may have added a sign-in method to get back in. */
export function OtherMethodsPage() {
  const query = useQuery(accountMethods());
  return (
    <SignedOutLayout title="Review your other ways to sign in">
      <Text size="sm">
        Your new password is set, and you are signed out everywhere else. These other ways to sign
        in still work. Remove any that you don't recognise.
      </Text>
      <Loaded query={query}>
        {({ entries }) => {
          const others = entries.filter(({ provider }) => provider !== 'credential');
          if (others.length === 0) return <Text>There are no other ways to sign in.</Text>;
          return <MethodList methods={others} removed={() => moveFocus()} />;
        }}
      </Loaded>
      <Button component={Link} to="/" replace>
        Continue
      </Button>
    </SignedOutLayout>
  );
}
