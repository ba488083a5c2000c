import { ActionIcon, Menu } from '@mantine/core';
import { Link } from 'react-router';
import { CircleUser } from '../ui/icons.tsx';
import { isConsole, pageData } from '../page-data.ts';
import { useSession, useSignOut } from '../session/use-session.ts';
import { useUtc } from '../ui/times.tsx';
import { toastError } from '../ui/toast.ts';

export function UserMenu() {
  const { data: session } = useSession();
  const [isUtc, setUtc] = useUtc();
  const leaving = useSignOut('/sign-in');
  return (
    <Menu position="bottom-end" width={220}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label="Your account">
          <CircleUser size={20} aria-hidden />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{session?.user.name || session?.user.email}</Menu.Label>
        <Menu.Item component={Link} to="/account">
          Account
        </Menu.Item>
        <Menu.Item component={Link} to="/security">
          Security
        </Menu.Item>
        {session?.operatorRole && (
          <Menu.Item
            component="a"
            href={`${pageData.basePath}/profile/${isConsole ? 'developer' : 'operator'}`}
          >
            {isConsole ? 'Developer portal' : 'Console'}
          </Menu.Item>
        )}
        <Menu.Item onClick={() => setUtc(!isUtc)}>
          {isUtc ? 'Show times in local time' : 'Show times in UTC'}
        </Menu.Item>
        <Menu.Item onClick={() => leaving.mutate(undefined, { onError: toastError })}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
