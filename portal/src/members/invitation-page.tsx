import { Alert, Button, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, Navigate } from 'react-router';
import { isForbidden } from '../api/call.ts';
import { invitationLink, signUpWithInvitation } from '../api/operations.ts';
import type { InvitationLink } from '../api/types.ts';
import { SignedOutLayout } from '../layout/signed-out-layout.tsx';
import { pageData } from '../page-data.ts';
import { useSession, useSignOut } from '../session/use-session.ts';
import { describeSentLink } from '../sign-in/describe-sent-link.ts';
import { pageBefore } from '../sign-in/next-page.ts';
import { NoMail } from '../sign-in/request-link-page.tsx';
import { useLinkToken } from '../sign-in/use-link-token.ts';
import { BusyButton } from '../ui/busy-button.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { PageLink } from '../ui/page-link.tsx';
import { Problem } from '../ui/problem.tsx';
import { Time } from '../ui/time.tsx';
import { answerPage } from './own-invitations.tsx';

/**
 * The page behind the mailed link of an invitation. It leads to the account of the invited address, where the invitation
 * is accepted or declined. Opening it changes nothing, because mail programs open links, too.
 */
export function InvitationPage() {
  const token = useLinkToken();
  return (
    <SignedOutLayout title="Invitation" below={<PageLink to="/apps">Your apps</PageLink>}>
      {token === null ? (
        <Text>Open the link again, including the part after the #.</Text>
      ) : (
        <CheckedLink key={token} token={token} />
      )}
    </SignedOutLayout>
  );
}

function CheckedLink({ token }: { token: string }) {
  const link = useQuery(invitationLink(token));
  const session = useSession();
  if (isForbidden(link.error)) return <Ended />;
  return (
    <Loaded query={link}>
      {(invitation) => (
        <Loaded query={session}>
          {(current) => {
            if (!current) return <SignedOut token={token} invitation={invitation} />;
            const { email } = current.user;
            if (email === invitation.email) return <Navigate to={answerPage(invitation)} replace />;
            return <WrongAccount token={token} invitation={invitation} email={email} />;
          }}
        </Loaded>
      )}
    </Loaded>
  );
}

type Props = { token: string; invitation: InvitationLink };

function SignedOut({ token, invitation }: Props) {
  const { email, appName, role, invitedBy, expiresAt } = invitation;
  const signUp = useMutation({ mutationFn: () => signUpWithInvitation(token) });
  if (signUp.isSuccess) return <Text role="status">{describeSentLink(email).message}</Text>;
  return (
    <>
      <Text>
        {invitedBy} invites {email} to the app <strong>{appName}</strong> as{' '}
        {role === 'owner' ? 'an' : 'a'} {role}. The invitation expires <Time at={expiresAt} />.
      </Text>
      <Button component={Link} to={pageBefore(answerPage(invitation), '/sign-in')}>
        Sign in to answer
      </Button>
      {pageData.signInOptions.password.links === null ? (
        <NoMail />
      ) : (
        <BusyButton variant="default" busy={signUp.isPending} onClick={() => signUp.mutate()}>
          Sign up
        </BusyButton>
      )}
      {signUp.isError && <Problem error={signUp.error} />}
    </>
  );
}

/** Whoever has the link may know the address, because the mail was sent there. */
function WrongAccount({ token, invitation, email }: Props & { email: string }) {
  const signOut = useSignOut(`/invitation#${token}`);
  return (
    <>
      <Text>
        This invitation is for <strong>{invitation.email}</strong>. You are signed in as{' '}
        <strong>{email}</strong>. Sign out, then open the invitation with the other account.
      </Text>
      <BusyButton busy={signOut.isPending} onClick={() => signOut.mutate()}>
        Sign out and continue
      </BusyButton>
      {signOut.isError && <Problem error={signOut.error} />}
    </>
  );
}

function Ended() {
  return (
    <Alert color="red" title="This invitation can't be used" role="alert">
      <Text size="sm">
        It was accepted, declined or revoked, has expired, or was replaced by a newer mail. If you
        are not a member yet, ask for a new one.
      </Text>
    </Alert>
  );
}
