// The colour scheme: the system's, until the reader chooses. The developer portal keeps the choice under the same key.
{
  const key = 'mantine-color-scheme-value';
  const names = { auto: 'as the system', light: 'light', dark: 'dark' };
  const schemes = Object.keys(names);
  let scheme = 'auto';

  // Storage that the browser blocks throws.
  const read = () => {
    try {
      const kept = localStorage.getItem(key);
      if (schemes.includes(kept)) scheme = kept;
    } catch {}
    show();
  };

  const show = () => {
    const { dataset } = document.documentElement;
    if (scheme === 'auto') delete dataset.mantineColorScheme;
    else dataset.mantineColorScheme = scheme;
    const button = document.querySelector('#switch-scheme');
    if (!button) return;
    button.hidden = false;
    button.dataset.scheme = scheme;
    button.title = `Colours: ${names[scheme]}`;
    button.setAttribute('aria-label', button.title);
  };

  const switchToNext = () => {
    scheme = schemes[(schemes.indexOf(scheme) + 1) % schemes.length];
    try {
      localStorage.setItem(key, scheme);
    } catch {}
    show();
  };

  // Before the first paint, so that a chosen scheme does not flash.
  read();
  addEventListener('storage', read);
  document.addEventListener('DOMContentLoaded', () => {
    show();
    document.querySelector('#switch-scheme')?.addEventListener('click', switchToNext);
  });
}
