import { NavLink, Stack } from '@mantine/core';
import { Link, useLocation } from 'react-router';
import {
  AppWindow,
  BookOpen,
  Building2,
  CircleUser,
  CircleX,
  Clock,
  LayoutDashboard,
  Lock,
  Megaphone,
  Play,
  Radio,
  RotateCw,
  ScrollText,
  Wrench,
} from '../ui/icons.tsx';
import { isConsole, pageData } from '../page-data.ts';

export const places = [
  { to: '/', label: 'Overview', Icon: LayoutDashboard },
  { to: '/apps', label: 'Apps', Icon: AppWindow },
  { to: '/events', label: 'Events', Icon: Radio },
  { to: '/audit', label: 'Audit log', Icon: ScrollText },
];

const consolePlaces = [
  { to: '/', label: 'Overview', Icon: LayoutDashboard },
  { to: '/apps', label: 'Apps', Icon: AppWindow },
  { to: '/accounts', label: 'Accounts', Icon: CircleUser },
  { to: '/keys', label: 'Keys', Icon: Lock },
  { to: '/webhooks', label: 'Webhooks', Icon: Radio },
  { to: '/deliveries', label: 'Deliveries', Icon: Play },
  { to: '/refused', label: 'Set aside', Icon: CircleX },
  { to: '/directory', label: 'Directory', Icon: Building2 },
  { to: '/syncs', label: 'Syncs', Icon: RotateCw },
  { to: '/notices', label: 'Notices', Icon: Megaphone },
  { to: '/audit', label: 'Audit log', Icon: ScrollText },
  { to: '/usage', label: 'Usage', Icon: Clock },
  { to: '/settings', label: 'Settings', Icon: Wrench },
];

export function Navigation() {
  const { pathname } = useLocation();
  return (
    <Stack gap={2}>
      {(isConsole ? consolePlaces : places).map(({ to, label, Icon }) => {
        const active = to === '/' ? pathname === '/' : pathname.startsWith(to);
        return (
          <NavLink
            key={to}
            component={Link}
            to={to}
            label={label}
            leftSection={<Icon size={18} aria-hidden />}
            active={active}
            styles={{
              label: { color: 'var(--mantine-color-text)', fontWeight: active ? 650 : 400 },
            }}
            {...(active && { 'aria-current': 'page' as const })}
          />
        );
      })}
      <NavLink
        href={`${pageData.basePath}/docs`}
        label="Documentation"
        leftSection={<BookOpen size={18} aria-hidden />}
      />
    </Stack>
  );
}
