import { useRef } from 'react';
import type { PortalApp } from '../api/types.ts';
import { Time } from '../ui/time.tsx';
import { AppBinding } from './app-binding.tsx';
import { AppContents } from './app-contents.tsx';
import { AppFrame } from './app-frame.tsx';
import { DeleteApp } from './delete-app.tsx';
import { RenameApp } from './rename-app.tsx';
import { Text } from '@mantine/core';

export function AppPage() {
  return <AppFrame>{(app) => <Sections key={app.id} app={app} />}</AppFrame>;
}

function Sections({ app }: { app: PortalApp }) {
  const bindingHeading = useRef<HTMLHeadingElement>(null);
  return (
    <>
      <AppContents app={app} />
      <AppBinding app={app} headingRef={bindingHeading} />
      <RenameApp app={app} />
      <DeleteApp app={app} />
      <Text size="xs" c="dimmed">
        Created <Time at={app.createdAt} />
      </Text>
    </>
  );
}
