/** Light or dark: as the system, until the reader chooses. The developer portal keeps the choice under the same key. */
const storageKey = 'mantine-color-scheme-value';

export function applyScheme(): void {
  const chosen = localStorage.getItem(storageKey);
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset['scheme'] = chosen;
}

export function startSchemeButton(): void {
  document.querySelector('#switch-scheme')?.addEventListener('click', () => {
    const system = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
    const shown = document.documentElement.dataset['scheme'] ?? system;
    localStorage.setItem(storageKey, shown === 'dark' ? 'light' : 'dark');
    applyScheme();
  });
}
