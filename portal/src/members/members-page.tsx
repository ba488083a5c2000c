import { useQuery } from '@tanstack/react-query';
import { useRef } from 'react';
import { members as membersOperation } from '../api/operations.ts';
import type { AppMember, PortalApp } from '../api/types.ts';
import { AppFrame } from '../apps/app-frame.tsx';
import { can } from '../apps/can.ts';
import { RoleNote } from '../apps/role-note.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { moveFocusAfterWait } from '../ui/move-focus.ts';
import { Section } from '../ui/section.tsx';
import { FailureMails } from './failure-mails.tsx';
import { Invitations } from './invitations.tsx';
import { MemberEntry } from './member-entry.tsx';
import { TransferApp } from './transfer-app.tsx';

export function MembersPage() {
  return (
    <AppFrame title="Members" lead="People who work on this app. Each has one role.">
      {(app) => <Sections app={app} />}
    </AppFrame>
  );
}

function Sections({ app }: { app: PortalApp }) {
  const query = useQuery(membersOperation(app.id));
  return (
    <>
      <RoleNote
        action="changeMembers"
        to="invite, change or remove members, and transfer the app"
      />
      <Loaded query={query}>
        {({ entries }) => (
          <>
            <MemberList app={app} members={entries} />
            <Invitations app={app} />
            {can(app, 'getFailureMails') && <FailureMails app={app} />}
            {can(app, 'changeMembers') && <TransferApp app={app} members={entries} />}
          </>
        )}
      </Loaded>
    </>
  );
}

function MemberList({ app, members }: { app: PortalApp; members: AppMember[] }) {
  const heading = useRef<HTMLHeadingElement>(null);
  return (
    <Section title="Members" headingRef={heading}>
      <ul className="plain-list" aria-label="Members">
        {members.map((member) => (
          <MemberEntry
            key={member.id}
            app={app}
            member={member}
            done={() => moveFocusAfterWait(heading.current)}
          />
        ))}
      </ul>
    </Section>
  );
}
