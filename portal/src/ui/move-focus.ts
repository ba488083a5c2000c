import { useLayoutEffect, useRef } from 'react';

/**
 * Moves the focus when the focused element disappears: to the given element or, without one, to the heading of the page.
 * Otherwise it would return to the top of the document.
 */
export function moveFocus(to?: HTMLElement | null): void {
  // Null: the element's page was left meanwhile.
  if (to !== null) (to ?? document.querySelector('h1'))?.focus();
}

/** For a button that disappears when it has worked: `move` runs if it has the focus then. */
export function useMoveFocusAfter(move: () => void) {
  const button = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    const node = button.current;
    return () => {
      if (node !== null && node === document.activeElement) move();
    };
  }, []);
  return button;
}
