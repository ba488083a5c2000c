/** Where the focus goes when what had it goes away: to the heading of the page, and not to the top of the document. */
export function focusHeading(): void {
  document.querySelector('h1')?.focus();
}
