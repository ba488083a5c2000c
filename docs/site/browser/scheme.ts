/** Light or dark: as the system, until the reader chooses. The developer portal keeps the choice under the same key. */
import { readStored, writeStored } from './stored.ts';

const storageKey = 'mantine-color-scheme-value';

export function applyScheme(): void {
  const chosen = readStored('localStorage', storageKey);
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset['scheme'] = chosen;
}

export function startSchemeButton(): void {
  document.querySelector('#switch-scheme')?.addEventListener('click', () => {
    const system = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
    const shown = document.documentElement.dataset['scheme'] ?? system;
    const chosen = shown === 'dark' ? 'light' : 'dark';
    document.documentElement.dataset['scheme'] = chosen;
    writeStored('localStorage', storageKey, chosen);
  });
}
