/** The last resort when rendering fails: without it, the page would be blank. */
export function showFailure(error: unknown): void {
  console.error(error);
  const message = document.createElement('main');
  message.role = 'alert';
  message.style.padding = '2rem';
  message.textContent =
    'This page failed. Reload it. If it happens again, contact the operator of this service.';
  // Outside the root element, which React clears.
  document.body.append(message);
}
