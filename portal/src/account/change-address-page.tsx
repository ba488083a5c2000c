import { Alert, Button, List, Text } from '@mantine/core';
import { ApiError } from '@orgdir/client';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from 'react-router';
import { addressChange, changeAddress } from '../api/operations.ts';
import type { AddressChange, PortalSession } from '../api/types.ts';
import { appChanges, useWrite } from '../api/use-write.ts';
import { SignedOutLayout } from '../layout/signed-out-layout.tsx';
import { useSession } from '../session/use-session.ts';
import { useLinkToken } from '../sign-in/use-link-token.ts';
import { Form } from '../ui/form.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { PageLink } from '../ui/page-link.tsx';
import { toastSuccess } from '../ui/toast.ts';

/** The page behind the link that is mailed to a new address. Opening it changes nothing. */
export function ChangeAddressPage() {
  const token = useLinkToken();
  const session = useSession();
  return (
    <SignedOutLayout
      title="Change your email address"
      below={<PageLink to="/account">Your account</PageLink>}
    >
      {token === null ? (
        <Text>Open the link again, including the part after the #.</Text>
      ) : (
        <Loaded query={session}>
          {(user) =>
            user ? <CheckedLink key={token} token={token} session={user} /> : <NotSignedIn />
          }
        </Loaded>
      )}
    </SignedOutLayout>
  );
}

/** The token is not carried through sign-in, which would put it into an address. */
function NotSignedIn() {
  return (
    <>
      <Text>
        Sign in to the account whose address you want to change. Then open the link in the mail
        again.
      </Text>
      <Button component={Link} to="/sign-in">
        Sign in
      </Button>
    </>
  );
}

type Props = { token: string; session: PortalSession };

function CheckedLink({ token, session }: Props) {
  const navigate = useNavigate();
  const link = useQuery(addressChange(token));
  const write = useWrite(() => changeAddress(token), ['/session', '/account', ...appChanges], {
    // It is used up now.
    gone: '/account/address-changes',
    done: ({ email }) => {
      toastSuccess(`Your email address is now ${email}.`);
      void navigate('/account', { replace: true });
    },
  });
  if (isUnusable(write.error) || isUnusable(link.error))
    return <UnusableLink email={session.user.email} />;
  return (
    <Loaded query={link}>
      {(change) => (
        <Form
          submit={() => write.mutate(undefined)}
          write={write}
          action="Change address"
          layout="narrow"
        >
          <Text style={{ overflowWrap: 'anywhere' }}>
            The address of your account changes from <b>{session.user.email}</b> to{' '}
            <b>{change.email}</b>. You will be signed out everywhere else.
          </Text>
          <EndingBindings bindings={change.endingBindings} />
        </Form>
      )}
    </Loaded>
  );
}

function EndingBindings({ bindings }: { bindings: AddressChange['endingBindings'] }) {
  if (bindings.length === 0) return null;
  return (
    <Alert color="yellow" title="Bindings that end">
      <Text size="sm">
        Manager roles stay with your old address. To keep a binding, first have the new address made
        a manager, too.
      </Text>
      <List size="sm" mt="xs">
        {bindings.map(({ appId, appName, name }) => (
          <List.Item key={appId}>
            {appName} to {name}
          </List.Item>
        ))}
      </List>
    </Alert>
  );
}

function isUnusable(error: unknown): boolean {
  return error instanceof ApiError && error.status === 403;
}

function UnusableLink({ email }: { email: string }) {
  return (
    <Alert color="red" title="This link can't be used" role="alert">
      <Text size="sm">
        It was used, replaced by a newer one, or has expired, or it is not for the account {email},
        to which you are signed in.
      </Text>
    </Alert>
  );
}
