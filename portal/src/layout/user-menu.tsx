import { ActionIcon, Menu } from '@mantine/core';
import { CircleUser } from 'lucide-react';
import { Link, useNavigate } from 'react-router';
import { signOut } from '../api/operations.ts';
import { useEndSession, useSession } from '../session/use-session.ts';
import { toastError } from '../ui/toast.ts';

export function UserMenu() {
  const { data: session } = useSession();
  const endSession = useEndSession();
  const navigate = useNavigate();

  async function leave(): Promise<void> {
    try {
      await signOut();
      endSession();
      await navigate('/sign-in');
    } catch (error) {
      toastError(error);
    }
  }

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
        <Menu.Item onClick={() => void leave()}>Sign out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
