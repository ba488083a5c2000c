/** For when the focused element disappears: without this, the focus returns to the top of the document. */
export function focusHeading(): void {
  document.querySelector('h1')?.focus();
}
