/** A language chosen once is chosen in all samples, on every page. */
import { readStored, writeStored } from './stored.ts';

const storageKey = 'docs-language';

export function shareTabChoice(): void {
  choose(readStored('localStorage', storageKey));
  document.addEventListener('change', ({ target }) => {
    if (!(target instanceof HTMLInputElement) || !target.closest('.tabs')) return;
    writeStored('localStorage', storageKey, target.value);
    choose(target.value);
  });
}

function choose(language: string | null): void {
  for (const input of document.querySelectorAll<HTMLInputElement>('.tabs input'))
    if (input.value === language) input.checked = true;
}
