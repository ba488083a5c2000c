/**
 * Moves the focus when the focused element disappears, by default to the heading of the page. Otherwise it would return to
 * the top of the document.
 */
export function moveFocus(to: HTMLElement | null = document.querySelector('h1')): void {
  to?.focus();
}
