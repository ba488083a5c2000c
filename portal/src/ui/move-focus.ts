import { useLayoutEffect, useRef } from 'react';

/** Whether a key or a pointer was pressed since the last `awaitFocus`: what takes the focus then, somebody chose. */
let isPressed = false;
/** Where somebody has moved the focus or typed since then. */
let taken: EventTarget | null = null;
/** The dialogs that were open then. What comes may close them, and whoever is in one waits for it. */
let askedIn: Element[] = [];

for (const type of ['keydown', 'pointerdown'])
  document.addEventListener(type, () => (isPressed = true), true);
document.addEventListener('focusin', ({ target }) => {
  // A dialog that opens keeps the focus, also one whose script came later than the key.
  const isInDialog = target instanceof Element && target.closest('[role="dialog"]') !== null;
  if (isPressed || isInDialog) taken = target;
});
document.addEventListener('input', ({ target }) => (taken = target), true);

/** Somebody has asked for something that may take a while, such as a page or a write. What comes may take the focus. */
export function awaitFocus(): void {
  isPressed = false;
  taken = null;
  askedIn = [...document.querySelectorAll('[role="dialog"]')];
}

/** Another page comes. A dialog that somebody has opened since they asked for it keeps the focus. */
export function awaitPage(): void {
  if (!isFocusTaken() || !document.activeElement?.closest('[role="dialog"]')) awaitFocus();
}

/** Whether somebody has moved the focus or typed meanwhile, and is still there. */
export function isFocusTaken(): boolean {
  const { activeElement, body } = document;
  return (
    activeElement !== null &&
    activeElement !== body &&
    activeElement === taken &&
    !askedIn.some((dialog) => dialog.contains(activeElement)) &&
    activeElement.checkVisibility({ visibilityProperty: true })
  );
}

/** Moves the focus to what came after a wait, unless it is taken. */
export function moveFocusAfterWait(to?: HTMLElement | null): void {
  if (!isFocusTaken()) moveFocus(to);
}

/**
 * Moves the focus when the focused element disappears: to the given element or, without one, to the heading of the page.
 * Otherwise it would return to the top of the document.
 */
export function moveFocus(to?: HTMLElement | null): void {
  // Null: the element's page was left meanwhile.
  if (to === null) return;
  (to ?? document.querySelector('h1'))?.focus();
  // Not where somebody went, but where they were brought.
  awaitFocus();
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
