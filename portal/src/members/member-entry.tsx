import { Badge, Checkbox, Group, Text } from '@mantine/core';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { leaveApp, removeMember, updateMember } from '../api/operations.ts';
import type { AppMember, PortalApp } from '../api/types.ts';
import { appChanges, useWrite } from '../api/use-write.ts';
import { can } from '../apps/can.ts';
import { capitalise } from '../ui/capitalise.ts';
import { Confirm } from '../ui/confirm.tsx';
import { formatCount } from '../ui/format-count.ts';
import { Note } from '../ui/note.tsx';
import { Time } from '../ui/time.tsx';
import { toastSuccess } from '../ui/toast.ts';
import { EndsWithOwnership } from './ends-with-ownership.tsx';
import { RoleChoice } from './role-choice.tsx';

type Props = {
  app: PortalApp;
  member: AppMember;
  /** Moves the focus, because the button may be gone. */
  done: () => void;
};

export function MemberEntry(props: Props) {
  const { app, member } = props;
  const { name, email, role, isYou, createdAt } = member;
  const isOnlyOwner = isYou && app.isLastOwner;
  return (
    <Group component="li" justify="space-between" gap="sm">
      <div>
        <Group gap="xs">
          <Text fw={600}>{name ?? email}</Text>
          <Badge variant="default">{capitalise(role)}</Badge>
          {isYou && <Badge variant="default">You</Badge>}
        </Group>
        <Note>
          {name !== null && `${email}. `}Member since <Time at={createdAt} />.
          {app.binding?.boundBy === email && ` Bound the app to ${app.binding.name}.`}
          {isOnlyOwner && ' To leave, first make another member an owner, or delete the app.'}
        </Note>
      </div>
      {!isOnlyOwner && (
        <Group gap="xs">
          {can(app, 'changeMembers') && <ChangeRole {...props} />}
          {isYou ? (
            <Leave app={app} email={email} />
          ) : (
            can(app, 'changeMembers') && <Remove {...props} />
          )}
        </Group>
      )}
    </Group>
  );
}

function ChangeRole({ app, member, done }: Props) {
  const { id, email, isYou } = member;
  const [role, setRole] = useState(member.role);
  const write = useWrite(() => updateMember(app.id, id, { role }), appChanges, {
    done: (changed) => {
      toastSuccess(`The role of ${email} is now ${changed.role}.`);
      done();
    },
  });
  return (
    <Confirm
      button={{
        children: 'Change role',
        size: 'xs',
        'aria-label': `Change role of ${email}`,
      }}
      title={isYou ? 'Change your own role' : `Change the role of ${email}`}
      action="Change role"
      color="brand"
      // Each opening starts with the current role.
      write={{
        ...write,
        reset: () => {
          write.reset();
          setRole(member.role);
        },
      }}
    >
      <RoleChoice value={role} onChange={setRole} />
      {role !== 'owner' && <EndsWithOwnership app={app} email={email} />}
    </Confirm>
  );
}

function Remove({ app, member: { id, email }, done }: Props) {
  const [revokeKeys, setRevokeKeys] = useState(false);
  const write = useWrite(() => removeMember(app.id, id, { revokeKeys }), appChanges, {
    done: ({ revokedKeys }) => {
      const revoked = revokeKeys ? ` ${formatCount(revokedKeys, 'key')} revoked.` : '';
      toastSuccess(`${email} is no longer a member.${revoked}`);
      done();
    },
  });
  return (
    <Confirm
      button={{ children: 'Remove', size: 'xs', 'aria-label': `Remove ${email}` }}
      title={`Remove ${email}`}
      action="Remove member"
      write={{
        ...write,
        reset: () => {
          write.reset();
          setRevokeKeys(false);
        },
      }}
    >
      <Text size="sm">
        They can no longer see this app. Keys that they have copied still work, whoever made them:
        rotate those if they must not use them.
      </Text>
      <Checkbox
        label="Also revoke the keys that they created or rotated"
        checked={revokeKeys}
        onChange={(event) => setRevokeKeys(event.currentTarget.checked)}
      />
      <EndsWithOwnership app={app} email={email} />
    </Confirm>
  );
}

function Leave({ app, email }: { app: PortalApp; email: string }) {
  const navigate = useNavigate();
  const write = useWrite(() => leaveApp(app.id), appChanges, {
    gone: `/apps/${app.id}`,
    done: () => {
      toastSuccess(`You left ${app.name}.`);
      void navigate('/apps', { replace: true });
    },
  });
  return (
    <Confirm
      button={{ children: 'Leave', size: 'xs' }}
      title={`Leave ${app.name}`}
      action="Leave app"
      write={write}
    >
      <Text size="sm">You can no longer see this app. An owner can invite you again.</Text>
      <EndsWithOwnership app={app} email={email} />
    </Confirm>
  );
}
