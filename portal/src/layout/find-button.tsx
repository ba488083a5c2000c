import { Button, Kbd, Text, VisuallyHidden } from '@mantine/core';
import { useHotkeys, useOs } from '@mantine/hooks';
import { useState } from 'react';
import { pages } from '../pages-script.ts';
import { Deferred } from '../ui/deferred.tsx';
import { Search } from '../ui/icons.tsx';
import { awaitFocus } from '../ui/move-focus.ts';

/** Opens `Find`, which loads with the other pages. */
export function FindButton() {
  const [times, setTimes] = useState(0);
  const open = () => {
    awaitFocus();
    setTimes((before) => before + 1);
  };
  // Not in a text field, nor over a dialog, which may show a secret once, nor while the page is hidden.
  const isCovered = () => document.querySelector('[role="dialog"], [data-session-ended]') !== null;
  useHotkeys([['mod+K', () => !isCovered() && open()]]);
  const isApple = ['macos', 'ios'].includes(useOs());
  return (
    <>
      <Button
        variant="default"
        size="xs"
        aria-keyshortcuts={isApple ? 'Meta+K' : 'Control+K'}
        onClick={open}
      >
        <Search size={14} aria-hidden />
        <Text span inherit visibleFrom="sm" mx={8}>
          Find
        </Text>
        <Text span hiddenFrom="sm">
          <VisuallyHidden>Find</VisuallyHidden>
        </Text>
        <Kbd size="xs" visibleFrom="sm" aria-hidden>
          {isApple ? '⌘ K' : 'Ctrl K'}
        </Kbd>
      </Button>
      {times > 0 && <Deferred key={times} script={pages} part="Find" />}
    </>
  );
}
