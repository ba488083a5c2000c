/** A language chosen once is chosen in all samples, on every page. */
const storageKey = 'docs-language';

export function shareTabChoice(): void {
  choose(localStorage.getItem(storageKey));
  document.addEventListener('change', ({ target }) => {
    if (!(target instanceof HTMLInputElement) || !target.closest('.tabs')) return;
    localStorage.setItem(storageKey, target.value);
    choose(target.value);
  });
}

function choose(language: string | null): void {
  for (const input of document.querySelectorAll<HTMLInputElement>('.tabs input'))
    if (input.value === language) input.checked = true;
}
