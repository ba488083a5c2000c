import { AppShell, Burger, Container, Group } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useEffect } from 'react';
import { Outlet, useLocation } from 'react-router';
import { Brand } from './brand.tsx';
import { ConnectionBanner } from './connection-banner.tsx';
import { FindButton } from './find-button.tsx';
import { Announcements } from './announcements.tsx';
import { MaintenanceBanner } from './maintenance-banner.tsx';
import { Navigation } from './navigation.tsx';
import { isConsole } from '../page-data.ts';
import { SchemeButton } from './scheme-button.tsx';
import { UserMenu } from './user-menu.tsx';
import { ConnectionIsShown } from '../ui/loaded.tsx';

/** The header and navigation around every page for signed-in users. */
export function Shell() {
  const [opened, { toggle, close }] = useDisclosure(false);
  const { pathname } = useLocation();
  useEffect(close, [pathname, close]);
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 220, breakpoint: 'sm', collapsed: { mobile: !opened } }}
      padding="md"
    >
      <a href="#content" className="skip-link">
        Skip to content
      </a>
      <AppShell.Header px="md">
        <Header opened={opened} toggle={toggle} />
      </AppShell.Header>
      <AppShell.Navbar
        p="sm"
        id="navigation"
        aria-label="Main"
        {...(!opened && { 'data-closed': true })}
      >
        <Navigation />
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1}>
        <Container size="lg" px={0}>
          <ConnectionBanner />
          <MaintenanceBanner />
          <Announcements />
          <ConnectionIsShown value={true}>
            <Outlet />
          </ConnectionIsShown>
        </Container>
      </AppShell.Main>
    </AppShell>
  );
}

function Header({ opened, toggle }: { opened: boolean; toggle: () => void }) {
  return (
    <Group h="100%" justify="space-between" wrap="nowrap">
      <Group gap="xs" wrap="nowrap" miw={0}>
        <Burger
          opened={opened}
          onClick={toggle}
          hiddenFrom="sm"
          size="sm"
          aria-label={opened ? 'Close the menu' : 'Open the menu'}
          aria-expanded={opened}
          aria-controls="navigation"
        />
        <Brand />
      </Group>
      <Group gap={4} wrap="nowrap">
        {!isConsole && <FindButton />}
        <SchemeButton />
        <UserMenu />
      </Group>
    </Group>
  );
}
