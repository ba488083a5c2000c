import { Button, Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import { SignedOutLayout } from '../layout/signed-out-layout.tsx';
import { pagesPath } from '../page-data.ts';
import { useHasUnsaved } from './unsaved.ts';
import { useDiscard } from './use-session.ts';

/** In the place of a page with unsaved input, which stays hidden until its user has signed in again in another window. */
export function EndedPage() {
  const discard = useDiscard();
  const isWaitedFor = useHasUnsaved();
  // Nothing is, once the user has gone back to another page.
  useEffect(() => {
    if (!isWaitedFor) discard();
  }, [isWaitedFor]);
  const [before] = useState(() => ({ title: document.title, focused: document.activeElement }));
  useEffect(
    () => () => {
      document.title = before.title;
      if (before.focused instanceof HTMLElement) before.focused.focus();
    },
    [before],
  );
  return (
    <div data-session-ended>
      <SignedOutLayout
        title="Your session has ended"
        below={
          <Button variant="subtle" size="compact-sm" onClick={discard}>
            Discard what you typed
          </Button>
        }
      >
        <Text size="sm">
          What you typed is not lost. Sign in again with the same account in another window, and
          come back to this one.
        </Text>
        <Button component="a" href={`${pagesPath}/sign-in`} target="_blank">
          Sign in in another window
        </Button>
      </SignedOutLayout>
    </div>
  );
}
