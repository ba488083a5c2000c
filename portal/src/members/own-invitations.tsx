import { Alert, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearchParams } from 'react-router';
import {
  acceptInvitation,
  declineInvitation,
  ownInvitations as ownInvitationsOperation,
} from '../api/operations.ts';
import type { OwnInvitation } from '../api/types.ts';
import { appChanges, useWrite } from '../api/use-write.ts';
import { useSession } from '../session/use-session.ts';
import { BusyButton } from '../ui/busy-button.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { moveFocusAfterWait } from '../ui/move-focus.ts';
import { Problem } from '../ui/problem.tsx';
import { Time } from '../ui/time.tsx';
import { toastSuccess } from '../ui/toast.ts';
import { roleTexts } from './role-choice.tsx';

const changes = [...appChanges, '/invitations'];

/** The address of the page on which the user answers an invitation, for use after sign-in. */
export function answerPage({ id }: Pick<OwnInvitation, 'id'>): string {
  return `/apps?invitation=${encodeURIComponent(id)}`;
}

/**
 * The invitations of the user's address. Nothing is shown while they load, because most users have none, nor if they
 * cannot be read, because the list of apps below then says so too; unless the user comes for an invitation.
 */
export function OwnInvitations() {
  const query = useQuery(ownInvitationsOperation());
  const [search] = useSearchParams();
  const wanted = search.get('invitation');
  if (!query.data) return wanted !== null && query.isError && <Problem error={query.error} />;
  const { entries } = query.data;
  return (
    <>
      {wanted !== null && !entries.some(({ id }) => id === wanted) && <NotYours />}
      {entries.map((invitation) => (
        <InvitationBanner key={invitation.id} invitation={invitation} />
      ))}
    </>
  );
}

/** The invited address is not shown: only the mailed link proves that somebody may know it. */
function NotYours() {
  const { data: session } = useSession();
  return (
    <Alert
      color="orange"
      title="This invitation is not for this account, or it has ended"
      role="status"
    >
      <Text size="sm">
        You are signed in as {session?.user.email}. To see for which address the invitation is, open
        the link in the mail again.
      </Text>
    </Alert>
  );
}

function InvitationBanner({ invitation }: { invitation: OwnInvitation }) {
  const { id, appName, role, invitedBy, expiresAt } = invitation;
  const navigate = useNavigate();
  // The page names the invitation until its address changes.
  const accept = useWrite(() => acceptInvitation(id), changes, {
    waits: false,
    done: (app) => {
      toastSuccess(`You joined ${app.name}.`);
      void navigate(`/apps/${app.id}`, { replace: true });
    },
  });
  const decline = useWrite(() => declineInvitation(id), changes, {
    waits: false,
    done: () => {
      toastSuccess(`You declined the invitation to ${appName}.`);
      void navigate('/apps', { replace: true });
      moveFocusAfterWait();
    },
  });
  return (
    <Alert color="brand" title={`You are invited to ${appName}`} role="region">
      <Stack gap="sm">
        <Text size="sm">
          {invitedBy} invites you. Your role: <strong>{role}</strong>. {roleTexts[role]} The
          invitation expires <Time at={expiresAt} />.
        </Text>
        <Group gap="xs">
          <BusyButton
            size="xs"
            busy={accept.isPending}
            onClick={() => accept.mutate(undefined)}
            aria-label={`Accept the invitation to ${appName}`}
          >
            Accept
          </BusyButton>
          <Confirm
            button={{
              children: 'Decline',
              size: 'xs',
              'aria-label': `Decline the invitation to ${appName}`,
            }}
            title={`Decline the invitation to ${appName}`}
            action="Decline"
            write={decline}
          >
            <Text size="sm">To become a member later, you need a new invitation.</Text>
          </Confirm>
        </Group>
        {accept.isError && <Problem error={accept.error} />}
      </Stack>
    </Alert>
  );
}
