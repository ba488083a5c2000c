/** Says, where nothing else can be shown any more, that the page failed: it would else be blank. */
export function showFailure(error: unknown): void {
  console.error(error);
  const said = document.createElement('main');
  said.role = 'alert';
  said.style.padding = '2rem';
  said.textContent =
    'This page failed. Reload it. If it happens again, contact the operator of this service.';
  // Beside what React has, which it clears.
  document.body.append(said);
}
