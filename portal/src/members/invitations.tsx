import { Badge, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useRef } from 'react';
import { invitationDaysInWords } from '../../../service/src/contract/periods.ts';
import {
  invitations as invitationsOperation,
  resendInvitation,
  revokeInvitation,
} from '../api/operations.ts';
import type { AppInvitation, PortalApp } from '../api/types.ts';
import { appChanges, useWrite } from '../api/use-write.ts';
import { can } from '../apps/can.ts';
import { BusyButton } from '../ui/busy-button.tsx';
import { capitalise } from '../ui/capitalise.ts';
import { Confirm } from '../ui/confirm.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { moveFocusAfterWait } from '../ui/move-focus.ts';
import { Note } from '../ui/note.tsx';
import { Problem } from '../ui/problem.tsx';
import { Section } from '../ui/section.tsx';
import { Time } from '../ui/time.tsx';
import { toastSuccess } from '../ui/toast.ts';
import { InviteForm } from './invite-form.tsx';
import { describeSentInvitation } from './describe-sent-invitation.ts';

/** Invitations that can still be accepted, and for owners the form that sends one. */
export function Invitations({ app }: { app: PortalApp }) {
  const query = useQuery(invitationsOperation(app.id));
  const heading = useRef<HTMLHeadingElement>(null);
  return (
    <Section
      title="Invitations"
      lead={`An invitation can be accepted for ${invitationDaysInWords} days, by whoever signs in with its address.`}
      headingRef={heading}
    >
      <Loaded query={query}>
        {({ entries }) =>
          entries.length === 0 ? (
            <Text size="sm">No pending invitations.</Text>
          ) : (
            <ul className="plain-list" aria-label="Pending invitations">
              {entries.map((invitation) => (
                <InvitationEntry
                  key={invitation.id}
                  app={app}
                  invitation={invitation}
                  revoked={() => moveFocusAfterWait(heading.current)}
                />
              ))}
            </ul>
          )
        }
      </Loaded>
      {can(app, 'changeMembers') && <InviteForm appId={app.id} />}
    </Section>
  );
}

type Props = {
  app: PortalApp;
  invitation: AppInvitation;
  /** Moves the focus, because the button is gone. */
  revoked: () => void;
};

function InvitationEntry({ app, invitation, revoked }: Props) {
  const { id, email, role, invitedBy, expiresAt } = invitation;
  const resend = useWrite(() => resendInvitation(app.id, id), appChanges, {
    done: () => toastSuccess(describeSentInvitation(email)),
  });
  return (
    <Stack component="li" gap="xs">
      <Group justify="space-between" gap="sm">
        <div>
          <Group gap="xs">
            <Text fw={600}>{email}</Text>
            <Badge variant="default">{capitalise(role)}</Badge>
          </Group>
          <Note>
            Invited by {invitedBy}. Expires <Time at={expiresAt} />.
          </Note>
        </div>
        {can(app, 'changeMembers') && (
          <Group gap="xs">
            <BusyButton
              size="xs"
              variant="default"
              busy={resend.isPending}
              onClick={() => resend.mutate(undefined)}
              aria-label={`Resend the invitation of ${email}`}
            >
              Resend
            </BusyButton>
            <Revoke appId={app.id} invitation={invitation} done={revoked} />
          </Group>
        )}
      </Group>
      {resend.isError && <Problem error={resend.error} />}
    </Stack>
  );
}

type RevokeProps = { appId: string; invitation: AppInvitation; done: () => void };

function Revoke({ appId, invitation: { id, email }, done }: RevokeProps) {
  const write = useWrite(() => revokeInvitation(appId, id), appChanges, {
    done: () => {
      toastSuccess(`Invitation of ${email} revoked.`);
      done();
    },
  });
  return (
    <Confirm
      button={{ children: 'Revoke', size: 'xs', 'aria-label': `Revoke the invitation of ${email}` }}
      title={`Revoke the invitation of ${email}`}
      action="Revoke invitation"
      write={write}
    >
      <Text size="sm">It can no longer be accepted, and its link stops working.</Text>
    </Confirm>
  );
}
